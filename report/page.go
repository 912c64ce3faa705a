package report

import (
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Page has the texts of a solve's page. They are plain and unsafe: a template escapes them.
type Page struct {
	// Headline says in one sentence where the solve stands; Reason adds why, where it has a reason of its own.
	Headline, Reason string
	// Shown is what shows that the champion is right, "" where there is none.
	Shown string
	Cost  string
	// NoLimit says for which models no limit of money holds, "" where it holds for all.
	NoLimit string
	// Why says of each other run why the champion ranks before it, the runner-up first.
	Why []Against
	// Agree are the other runs that made the champion's patch, byte for byte; Saved is what the stop rule saved.
	Agree []int
	Saved string
}

// Against says why the champion ranks before a run.
type Against struct {
	Run  int
	Text string
}

// PageOf makes the texts of a solve's page.
func PageOf(v View) Page {
	p := Page{Headline: v.headline(), Reason: plainReason(v), Shown: capital(v.plainShown()), Saved: v.saved()}
	p.Cost, p.NoLimit = v.price(v.own()...)+v.andSandboxes(), v.noLimit(solve.OneLine)
	if best, ok := v.champion(); ok {
		p.Agree, p.Why = solve.Agreement(v.Runs, best.N), v.whyChain()
	}
	return p
}

// whyChain says why the champion ranks before each run that was started.
func (v View) whyChain() (out []Against) {
	for _, n := range v.Solve.Decision.Ranking {
		if c, known := v.Solve.Decision.Against(n); known && !v.neverStarted(n) {
			out = append(out, Against{n, v.against(c)})
		}
	}
	return out
}

// RunPage has the texts of a run on pages, plain and unsafe.
type RunPage struct {
	Name  string // what was tried: model, temperature, strategy
	State string
	Why   string // why it is not the champion, "" while that is open
	Tests string
	Cost  string // "unknown" where its model has no price
}

// RunPageOf makes the texts of run n.
func RunPageOf(v View, n int) RunPage {
	r, _ := v.run(n)
	_, name, _ := strings.Cut(runCheckName(r), ": ")
	p := RunPage{Name: name, State: v.stateText(r), Why: v.whyNot(r), Cost: v.price(r)}
	if r.Reproduces() {
		p.Why = v.reproducerReason(r)
	}
	if r.Verdict != nil {
		p.Tests = testsText(r)
	}
	return p
}
