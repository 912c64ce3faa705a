package judge

import "strings"

// goEvent is one line of "go test -json" (cmd/test2json documents it; the
// build-output and build-fail actions are in "go help buildjson").
type goEvent struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

// goPackage is what is known of one package while reading.
type goPackage struct {
	running map[string]bool
	failed  bool // a test of it failed
	started bool
	ended   string // its last word: "pass", "fail" or "skip"
	built   bool   // false once a failed build was seen
}

// goReader makes a report of the events of go test -json. Lines that are no
// events are passed over: go itself and some tests write between them. A package
// that does not build is one failed entry with the mark "[build]"; one that fails
// although none of its tests did (TestMain, init, a race) has the mark
// "[package]". A test that never ended in a package that did has failed.
type goReader struct {
	r        Report
	packages map[string]*goPackage
}

func newGoReader() goReader { return goReader{packages: map[string]*goPackage{}} }

// add takes the next event.
func (g *goReader) add(e goEvent) error {
	if e.Package == "" {
		return nil
	}
	p := g.packages[e.Package]
	if p == nil {
		p = &goPackage{running: map[string]bool{}, built: true}
		g.packages[e.Package] = p
	}
	g.r.goEvent(e, p)
	if len(g.r.Tests) > maxTests || len(g.packages) > maxTests || len(p.running) > maxTests {
		return errTooMany
	}
	return nil
}

// report is what the events said.
func (g *goReader) report() Report {
	r, incomplete := g.r, false
	for name, p := range g.packages {
		incomplete = incomplete || p.started && p.ended == ""
		for test := range p.running {
			r.add(goName(name, test), Fail)
			p.failed = true
		}
		switch {
		case !p.built:
			r.add(clip(name)+markBuild, Fail)
		case p.ended == "fail" && !p.failed:
			r.add(clip(name)+markPackage, Fail)
		}
	}
	if incomplete {
		r.NoVerdict = "the tests ended before all their results were written"
	}
	r.count()
	return r
}

func goName(pkg, test string) string { return clip(pkg + "." + test) }

// goEvent notes one event of the package.
func (r *Report) goEvent(e goEvent, p *goPackage) {
	status, done := map[string]Status{"pass": Pass, "fail": Fail, "skip": Skip}[e.Action]
	switch {
	case e.Action == "start":
		p.started = true
	case e.Test != "" && e.Action == "run":
		p.running[e.Test] = true
	case e.Test != "" && done:
		delete(p.running, e.Test)
		p.failed = p.failed || status == Fail
		r.add(goName(e.Package, e.Test), status)
	case e.Test != "":
	case done:
		p.ended = e.Action
		if e.FailedBuild != "" {
			p.built = false
		}
	case e.Action == "output" && strings.HasPrefix(e.Output, "FAIL\t") &&
		(strings.Contains(e.Output, "[build failed]") || strings.Contains(e.Output, "[setup failed]")):
		p.built = false
	}
}
