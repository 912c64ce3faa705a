package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/yudai-dev/yudai/report"
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
	told    bool // where the page is
}

func newProgress(out io.Writer, now time.Time) *progress {
	return &progress{out: out, tty: knowsCodes(out), started: now, seen: map[string]string{}}
}

// isTerminal says whether people look at the output.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// knowsCodes says whether the output is a terminal that knows escape codes.
func knowsCodes(out io.Writer) bool { return isTerminal(out) && os.Getenv("TERM") != "dumb" }

// tellPage prints the link to the solve's page, once.
func (p *progress) tellPage(url func() string) {
	if !p.told {
		p.told = true
		fmt.Fprintf(p.out, "watch it at %s\n(the link opens once, within an hour, in one browser)\n\n", url())
	}
}

// show draws the view as it stands.
func (p *progress) show(v report.View, now time.Time) {
	if p.tty {
		p.redraw(v, now)
		return
	}
	elapsed := fmt.Sprintf("%6.1fs  ", now.Sub(p.started).Seconds())
	if text := standing(v.Solve); p.seen["solve"] != text {
		p.seen["solve"] = text
		fmt.Fprintf(p.out, "%ssolve %s%s\n", elapsed, text, after(doing(v.Solve)))
	}
	for _, r := range v.Runs {
		key, state := fmt.Sprint(r.N), string(r.State)+r.Progress.Waiting
		if r.State == solve.RunQueued || p.seen[key] == state {
			continue
		}
		p.seen[key] = state
		fmt.Fprintf(p.out, "%srun %d %s: %s%s\n", elapsed, r.N, label(r.Experiment), r.State, after(reason(r)))
	}
}

// redraw writes the table over its last self.
func (p *progress) redraw(v report.View, now time.Time) {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	lines := []string{fmt.Sprintf("%6.1fs  solve %s%s", now.Sub(p.started).Seconds(), standing(v.Solve), after(doing(v.Solve)))}
	lines = append(lines, runLines(v)...)
	width := columns(p.out)
	for _, l := range lines {
		if runes := []rune(l); len(runes) > width-1 {
			l = string(runes[:width-2]) + "…"
		}
		b.WriteString("\x1b[2K" + l + "\n")
	}
	p.drawn = len(lines)
	io.WriteString(p.out, b.String()) //nolint:errcheck // a terminal that is gone needs no table
}

// runLines are the lines of the table, one a run.
func runLines(v report.View) (lines []string) {
	names := 0
	for _, r := range v.Runs {
		names = max(names, utf8.RuneCountInString(label(r.Experiment)))
	}
	for _, r := range v.Runs {
		name := label(r.Experiment)
		name += strings.Repeat(" ", names-utf8.RuneCountInString(name))
		lines = append(lines, fmt.Sprintf("  %s %2d  %s  %-10s  %2d steps  %s%s",
			mark(r.State), r.N, name, r.State, r.Progress.Steps, report.RunPageOf(v, r.N).Cost, after(reason(r))))
	}
	return lines
}

// columns is how wide a terminal is; 100 where there is none.
func columns(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			return w
		}
	}
	return 100
}

// standing is a solve's state, and the wave that it is in.
func standing(s solve.Solve) string {
	if waves := s.Plan.Waves(); waves > 1 && s.State == solve.StateRunning {
		return fmt.Sprintf("%s, wave %d of %d", s.State, s.Wave, waves)
	}
	return string(s.State)
}

// doing says what a state is about, where its name alone leaves people waiting.
func doing(s solve.Solve) string {
	if s.State == solve.StatePreparing {
		return "the repository is cloned, installed and tested as it is"
	}
	return solve.OneLine(s.Reason)
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
	if x.Agent != "" && x.Agent != "mini" {
		s += " " + x.Agent
	}
	if x.Strategy != "" && x.Strategy != "plain" {
		s += " " + x.Strategy
	}
	if x.Purpose == solve.PurposeReproduce {
		s += " reproducer"
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

// reason is why a run ended as it did, or what it does.
func reason(r solve.Run) string {
	if r.State.Final() {
		return solve.OneLine(r.Reason)
	}
	return report.Doing(r)
}

func after(text string) string {
	if text == "" {
		return ""
	}
	return "  " + text
}
