package server

import (
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/setup"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/web"
)

// newPages makes the pages for people.
func (s *Server) newPages(token string, client ghapp.Secret, getenv func(string) string) (err error) {
	secrets := s.cfg.secrets(getenv)
	shown := shownText(getenv, secrets)
	doctor := s.cfg.doctor(getenv, setup.Finding{Level: setup.Good, What: "config", Text: "as this process has read it"})
	doctor.Wrap, doctor.Asked = s.metrics.driver, s.metrics.health.model
	s.checkup = newCheckup(doctor, secrets, time.Now)
	o := web.Options{
		Store: s.store, Bundle: s.bundles.Export, Token: token, Label: s.cfg.Server.Label,
		PublicURL: s.cfg.Server.PublicURL, Access: s.app.Access, Ask: s.press,
		SessionFile: filepath.Join(s.cfg.Store.dir(), "sessions.json"),
		DayLimit:    solve.Money(s.cfg.Solver.Daily.Process.USD * 1e6), Slots: s.cfg.Solver.Caps.Process, Now: time.Now,
		Health:   func() []web.Health { return s.health(secrets) },
		Settings: func() []web.Setting { return s.cfg.inForce(shown) }, Doctor: s.checkup,
	}
	if people := s.app.SignIn(client, web.CallbackURL(o.PublicURL)); people != nil && o.PublicURL != "" {
		o.SignIn = people
	}
	s.pages, err = web.New(o)
	return err
}

// health is how the drivers and the models are, without secrets in their errors.
func (s *Server) health(secrets *strings.Replacer) []web.Health {
	all := s.metrics.health.list(s.drivers.Used(), s.models, s.cfg.Solver.Defaults.Models)
	for i := range all {
		all[i].Error = secrets.Replace(all[i].Error)
	}
	return all
}

// PageURL is a link that opens a page once within an hour, in one browser, without a login. It is "" unless the server is reached
// from this machine only: elsewhere people need the API token.
func (s *Server) PageURL(page string) string {
	if !onlyHere(s.Addr(), s.cfg.Server.PublicURL) {
		return ""
	}
	return "http://" + s.Addr() + s.pages.PageLink(page)
}

// onlyHere says whether an address is reached from this machine only, and no proxy makes it public.
func onlyHere(address, publicURL string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback()) && publicURL == ""
}
