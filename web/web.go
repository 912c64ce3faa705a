// Package web has the pages for people: the board of solves, a solve, a run, and logs. Pages are read
// without JavaScript, too; one small module keeps them live. The package decides nothing: what buttons ask for is
// handed on, what is decided is decided in package solve, and texts come from package report.
package web

import (
	"context"
	"html/template"
	"io"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Store is what the pages read.
type Store interface {
	Solve(ctx context.Context, id solve.ID) (solve.Solve, error)
	LiveSolves(ctx context.Context) ([]solve.Solve, error)
	Runs(ctx context.Context, id solve.ID) ([]solve.Run, error)
	Events(ctx context.Context, id solve.ID, after uint64) ([]solve.Entry, error)
	Artifact(ctx context.Context, id solve.ID, name string) ([]byte, error)
	Transcript(ctx context.Context, id solve.ID, n int) ([]byte, error)
	Spent(ctx context.Context, since time.Time) ([]solve.Spending, error)
	TrackRecords(ctx context.Context) ([]solve.TrackRecord, error)
	Watch(ctx context.Context) <-chan struct{}
}

// Options are what the pages need. Store, Bundle, Label and Now are required.
type Options struct {
	Store Store
	// Bundle finds the signed bundle of a solve and returns what writes it; solve.ErrNotFound if there is none.
	Bundle func(ctx context.Context, id solve.ID) (write func(io.Writer) error, err error)
	// Token is the operator's; a form exchanges it for a session. "" is none.
	Token string
	// SignIn lets people in, who see what Access lets them read; nil lets nobody in. PublicURL is where they come from.
	SignIn    SignIn
	Access    func(ctx context.Context, repo solve.Repo, who solve.Person) (solve.Access, error)
	PublicURL string
	// Ask does what a person asks for by a button: a command about a solve, with the run's number or the text that it
	// takes. problem is what is wrong with that argument. nil shows no buttons.
	Ask func(ctx context.Context, on solve.Solve, who solve.Person, kind solve.CommandKind, argument string) (problem string, err error)
	// SessionFile keeps the sessions of people over a restart; "" does not.
	SessionFile string
	// Health is how drivers and models are; nil shows nothing of them.
	Health func() []Health
	// Settings are those in force, for operators, beside what the doctor finds; without them there is no such page.
	Settings func() []Setting
	Doctor   Doctor
	// Label is the one that starts a solve.
	Label string
	// DayLimit is the most that 24 hours may cost, and Slots how many runs may be at work; 0 is no limit.
	DayLimit solve.Money
	Slots    int
	Now      func() time.Time
}

// Pages is the handler of all pages.
type Pages struct {
	Options
	sessions  *sessions
	access    *access
	logs      *logCache
	assets    *assets
	templates map[string]*template.Template
	handler   http.Handler
	patterns  []string
	stopped   chan struct{} // closed by Stop
}

// New returns the pages.
func New(o Options) (*Pages, error) {
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	templates, err := loadTemplates()
	if err != nil {
		return nil, err
	}
	p := &Pages{
		Options: o, logs: &logCache{}, assets: files, templates: templates, stopped: make(chan struct{}),
		access: &access{ask: o.Access, now: o.Now, known: map[accessKey]known{}, refused: map[int64]*refusals{}},
	}
	if p.sessions, err = newSessions(o.Token, o.SessionFile, o.Now); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, r := range p.routes() {
		h := http.Handler(r.serve)
		if !r.open {
			h = p.guard(h)
		}
		mux.Handle(r.pattern, h)
		p.patterns = append(p.patterns, r.pattern)
	}
	p.handler = http.NewCrossOriginProtection().Handler(mux)
	return p, nil
}

// route is one path; an open one needs no session.
type route struct {
	pattern string
	open    bool
	serve   http.HandlerFunc
}

func (p *Pages) routes() []route {
	return []route{
		{"GET /{$}", false, p.board},
		{"GET /live", false, p.live},
		{"GET /repositories", false, p.repositories},
		{"GET /solves/{id}", false, p.solve},
		{"POST /solves/{id}/ask", false, p.press},
		{"GET /solves/{id}/bundle", false, p.bundle},
		{"GET /solves/{id}/compare", false, p.compare},
		{"GET /solves/{id}/files/{name}", false, p.file},
		{"GET /solves/{id}/logs/{name}", false, p.log},
		{"GET /solves/{id}/logs/{name}/raw", false, p.rawLog},
		{"GET /solves/{id}/logs/{name}/search", false, p.searchLog},
		{"GET /solves/{id}/logs/{name}/stream", false, p.streamLog},
		{"GET /solves/{id}/runs/{n}", false, p.run},
		{"GET /settings", false, p.settings},
		{"POST /settings/check", false, p.check},
		{"GET /settings/live", false, p.liveSettings},
		{"GET /assets/{name}", true, p.assets.serve},
		{"GET /enter", true, p.enter},
		{"POST /login", true, p.login},
		{"POST /logout", false, p.logout},
		{"GET " + signInPath, true, p.beginSignIn},
		{"GET " + callbackPath, true, p.endSignIn},
		{"GET /sessions", false, p.listSessions},
		{"POST /sessions/end", false, p.endSessions},
	}
}

// Patterns are the routes, for the server's mux.
func (p *Pages) Patterns() []string { return p.patterns }

// Stop ends the streams, which would hold the web server's shutdown up. It is called once.
func (p *Pages) Stop() { close(p.stopped) }

// Stopped is closed by Stop.
func (p *Pages) Stopped() <-chan struct{} { return p.stopped }

// ServeHTTP answers with a page.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "same-origin") // with no-referrer, forms would send no origin
	w.Header().Set("Content-Security-Policy", policy("'none'"))
	w.Header().Set("Cache-Control", "no-store")
	p.handler.ServeHTTP(w, r)
}

// policy is the Content-Security-Policy of a page whose script is allowed by source.
func policy(source string) string {
	return "default-src 'none'; script-src " + source + "; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types yudai"
}
