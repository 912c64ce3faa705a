package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/yudai-dev/yudai/solve"
)

// progress shows a solve while it runs: a table that redraws itself on a
// terminal, one plain line per change elsewhere.
type progress struct {
	out     io.Writer
	tty     bool
	started time.Time
	drawn   int // lines of the table on the screen
	seen    map[string]string
}

func newProgress(out io.Writer, now time.Time) *progress {
	p := &progress{out: out, started: now, seen: map[string]string{}}
	if f, ok := out.(*os.File); ok {
		p.tty = term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	}
	return p
}

// show draws the view as it stands.
func (p *progress) show(v solve.View, now time.Time) {
	if p.tty {
		p.redraw(v, now)
		return
	}
	elapsed := fmt.Sprintf("%6.1fs  ", now.Sub(p.started).Seconds())
	if text := string(v.Solve.State); p.seen["solve"] != text {
		p.seen["solve"] = text
		fmt.Fprintf(p.out, "%ssolve %s%s\n", elapsed, text, after(v.Solve.Reason))
	}
	for _, r := range v.Runs {
		key, text := fmt.Sprint(r.N), string(r.State)
		if r.State == solve.RunQueued || p.seen[key] == text {
			continue
		}
		p.seen[key] = text
		fmt.Fprintf(p.out, "%srun %d %s: %s%s\n", elapsed, r.N, label(r.Experiment), text, after(reason(r)))
	}
}

// redraw writes the table over its last self.
func (p *progress) redraw(v solve.View, now time.Time) {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	lines := []string{fmt.Sprintf("%s #%d  %s  %s", v.Solve.Repo, v.Solve.Issue.Number, v.Solve.State, now.Sub(p.started).Round(time.Second/10))}
	for _, r := range v.Runs {
		lines = append(lines, fmt.Sprintf("  %s %2d  %-28s %-11s %3d steps  %s%s", mark(r.State), r.N, label(r.Experiment), r.State, r.Progress.Steps, r.Progress.Usage.Cost, after(reason(r))))
	}
	width := 100
	if f, ok := p.out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			width = w
		}
	}
	for _, l := range lines {
		if runes := []rune(l); len(runes) > width-1 {
			l = string(runes[:width-2]) + "…"
		}
		b.WriteString("\x1b[2K" + l + "\n")
	}
	p.drawn = len(lines)
	io.WriteString(p.out, b.String()) //nolint:errcheck // a terminal that is gone needs no table
}

// label names an experiment in a few characters.
func label(x solve.Experiment) string {
	s := x.Model
	if x.Temperature != nil {
		s += fmt.Sprintf(" t=%g", *x.Temperature)
	}
	if x.MaxEdits > 0 {
		s += fmt.Sprintf(" edits≤%d", x.MaxEdits)
	}
	if x.Strategy != "" && x.Strategy != "plain" {
		s += " " + x.Strategy
	}
	if x.Repeat > 1 {
		s += fmt.Sprintf(" #%d", x.Repeat)
	}
	return s
}

func mark(s solve.RunState) string {
	switch {
	case s == solve.RunPassed:
		return "✓"
	case s.Final():
		return "✗"
	case s.Active():
		return "●"
	default:
		return "·"
	}
}

func reason(r solve.Run) string {
	if r.State.Final() {
		return r.Reason
	}
	return ""
}

func after(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}
