package server

import (
	"net"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/web"
)

// newPages makes the pages for people.
func (s *Server) newPages(token string) (err error) {
	s.pages, err = web.New(web.Options{
		Store: s.store, Bundle: s.bundles.Export, Token: token, Label: s.cfg.Server.Label,
		DayLimit: solve.Money(s.cfg.Solver.Daily.Process.USD * 1e6), Slots: s.cfg.Solver.Caps.Process, Now: time.Now,
	})
	return err
}

// PageURL is a link that opens a page once, in one browser, without a login. It is "" unless the server is reached
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
