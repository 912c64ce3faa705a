package web

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// FromProgram is where the value of a key comes from that nobody has set.
const FromProgram = "default"

// Setting is a key of the configuration with what holds now. Its texts hold no secret.
type Setting struct {
	Key, Value string
	From       string // where the value comes from
	Default    string // the built-in value, if it is another one
	Repository string // the key by which a repository's own file narrows or replaces it; "" is none
}

// Finding is a line of the doctor's.
type Finding struct {
	Level           Level
	What, Text, Fix string
}

// Mark is the level in a word.
func (f Finding) Mark() mark {
	return f.Level.mark(map[Level]string{Good: "fine", Unsure: "warning", Bad: "bad"}[f.Level])
}

// Checkup is what the doctor found last.
type Checkup struct {
	Began    time.Time // zero if there was none
	Running  bool
	Ready    bool // whether another one may begin
	Findings []Finding
}

// Doctor checks the machine, the configuration and the App, beside whatever goes on.
type Doctor interface {
	Last() Checkup
	// Start begins a check, unless one is running or the last one is too young.
	Start()
	Watch(ctx context.Context) <-chan struct{}
}

// settingsPage has the doctor's findings and the settings in force.
type settingsPage struct {
	Checkup
	Check       string
	When        string // of the doctor's check
	Bads, Warns int
	Sections    []settingSection
	All         bool // keys that nobody has set, too
	Count       int
}

type settingSection struct {
	Name string
	Keys []Setting
}

// showsSettings says whether who asks may see them: they are the operator's.
func (p *Pages) showsSettings(r *http.Request) bool {
	return p.Settings != nil && viewer(r.Context()).operator()
}

// settings shows what holds and where it comes from, and what the doctor found.
func (p *Pages) settings(w http.ResponseWriter, r *http.Request) {
	if !p.showsSettings(r) {
		p.fail(w, r, solve.ErrNotFound)
		return
	}
	body := settingsPage{Checkup: p.Doctor.Last(), Check: viewer(r.Context()).check(), All: r.URL.Query().Get("all") != ""}
	if !body.Began.IsZero() {
		body.When = body.Began.UTC().Format(clockForm)
	}
	for _, f := range body.Findings {
		switch f.Level {
		case Bad:
			body.Bads++
		case Unsure:
			body.Warns++
		}
	}
	body.add(p.Settings())
	p.show(w, r, http.StatusOK, "settings.html", page{Title: "Settings", Live: "/settings/live"}, body)
}

// add puts the settings below their sections.
func (b *settingsPage) add(all []Setting) {
	b.Count = len(all)
	for _, one := range all {
		if one.From == FromProgram && !b.All {
			continue
		}
		name, _, _ := strings.Cut(one.Key, ".")
		if n := len(b.Sections); n == 0 || b.Sections[n-1].Name != name {
			b.Sections = append(b.Sections, settingSection{Name: name})
		}
		last := &b.Sections[len(b.Sections)-1]
		last.Keys = append(last.Keys, one)
	}
}

// check has the doctor look, and returns at once to the page that shows what it finds.
func (p *Pages) check(w http.ResponseWriter, r *http.Request) {
	if !p.showsSettings(r) {
		p.fail(w, r, solve.ErrNotFound)
		return
	}
	p.Doctor.Start()
	http.Redirect(w, r, "/settings", http.StatusSeeOther)
}

// liveSettings tells the page that the doctor found more.
func (p *Pages) liveSettings(w http.ResponseWriter, r *http.Request) {
	if !p.showsSettings(r) {
		p.fail(w, r, solve.ErrNotFound)
		return
	}
	p.follow(w, r, "", p.Doctor.Watch(r.Context()), func() (string, error) {
		sum := fnv.New64a()
		fmt.Fprint(sum, p.Doctor.Last())
		return fmt.Sprintf("%x", sum.Sum64()), nil
	})
}
