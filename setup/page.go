package setup

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
)

//go:embed pages.html
var setupPages string

//go:embed pages.css
var setupStyle string

// closed is what a browser gets without the session.
func (s *Setup) closed(w http.ResponseWriter, _ *http.Request) {
	s.show(w, http.StatusForbidden, "closed", nil)
}

// show renders a page whose forms lead here.
func (s *Setup) show(w http.ResponseWriter, status int, name string, data any) {
	s.showTo(w, status, name, data, "")
}

// showTo renders a page whose form may also lead to another origin. No page holds a
// secret, needs a script, or loads anything.
func (s *Setup) showTo(w http.ResponseWriter, status int, name string, data any, elsewhere string) {
	var out bytes.Buffer
	pages, err := template.New("setup").Funcs(template.FuncMap{"mark": mark}).Parse(setupPages)
	if err == nil {
		err = pages.ExecuteTemplate(&out, name, map[string]any{"Style": template.CSS(setupStyle), "It": data}) //nolint:gosec // a file of ours
	}
	if err != nil {
		s.opts.Log.Error().Err(err).Msg("a page of the set-up is broken")
		http.Error(w, "this page is broken: see the log", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256([]byte(setupStyle))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+
		"'; base-uri 'none'; form-action 'self' "+elsewhere+"; frame-ancestors 'none'")
	w.WriteHeader(status)
	w.Write(out.Bytes())
}

// mark is the class and word of a finding's level.
func mark(l Level) string {
	return map[Level]string{Good: "good", Warn: "note", Bad: "open"}[l]
}
