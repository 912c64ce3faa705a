package web

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

//go:embed templates
var templateFiles embed.FS

// clockForm is how pages write a time.
const clockForm = "2 January 15:04 MST"

// page is what every page has: its frame.
type page struct {
	Title string
	// Live is the address of the stream that tells of changes, "" where nothing changes any more.
	Live string
	// Bare leaves the navigation out.
	Bare bool
	// Who is signed in, and Check is what their forms carry.
	Who, Check string
	// Settings says whether they may see the settings.
	Settings bool
	Nonce    string
	asset    map[string]string
	Body     any
}

// Asset is the address of an asset.
func (p page) Asset(name string) string { return p.asset[name] }

// loadTemplates reads the pages, each in the frame.
func loadTemplates() (map[string]*template.Template, error) {
	funcs := template.FuncMap{
		"count": solve.Count, "clip": solve.Clip, "thousands": thousands,
	}
	out := map[string]*template.Template{}
	for _, name := range []string{
		"board.html", "compare.html", "login.html", "log.html", "repositories.html", "run.html", "sessions.html", "settings.html", "solve.html",
	} {
		t, err := template.New("frame.html").Funcs(funcs).
			ParseFS(templateFiles, "templates/frame.html", "templates/parts.html", "templates/"+name)
		if err != nil {
			return nil, fmt.Errorf("parse the pages: %w", err)
		}
		out[name] = t
	}
	return out, nil
}

// thousands is a number with its digits in groups.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// show answers with a page made from a template.
func (p *Pages) show(w http.ResponseWriter, r *http.Request, status int, name string, frame page, body any) {
	frame.Nonce, frame.asset, frame.Body = rand.Text(), p.assets.names, body
	if s := viewer(r.Context()); s.value != "" {
		frame.Who, frame.Check, frame.Settings = cmp.Or(s.Person.Login, "operator"), s.check(), p.showsSettings(r)
	}
	var out bytes.Buffer
	if err := p.templates[name].Execute(&out, frame); err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy("'nonce-"+frame.Nonce+"'"))
	w.WriteHeader(status)
	w.Write(out.Bytes())
}

// fail answers an error: unknown things are 404, everything else is logged.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, solve.ErrNotFound) {
		http.Error(w, "There is no such page, or what it showed is kept no more.", http.StatusNotFound)
		return
	}
	if r.Context().Err() != nil {
		return
	}
	zerolog.Ctx(r.Context()).Error().Err(err).Str(logkey.SolveID, r.PathValue("id")).Msg("page not shown")
	http.Error(w, "The page could not be made; the log says why. Please try again.", http.StatusInternalServerError)
}

// view reads the solve that a request names, with its runs.
func (p *Pages) view(r *http.Request) (report.View, error) {
	id := solve.ID(r.PathValue("id"))
	s, err := p.Store.Solve(r.Context(), id)
	if err != nil {
		return report.View{}, err
	}
	runs, err := p.Store.Runs(r.Context(), id)
	return report.View{Solve: s, Runs: runs}, err
}
