package judge

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

var (
	goRegistries = []string{"proxy.golang.org", "sum.golang.org"}
	goRequire    = regexp.MustCompile(`(?m)^\s*require\b`)
)

// goLanguage is the name of Go.
const goLanguage = "Go"

// detectGo recognises modules and workspaces. Vendored modules need no install.
func detectGo(r *repository) (Setup, bool) {
	name := r.first("go.work", "go.mod")
	if name == "" || !r.any(func(p string) bool { return strings.HasSuffix(p, "_test.go") }) {
		return Setup{}, false
	}
	s := Setup{
		Test: solve.TestCommand{Command: "go test ./...", Format: "go", Source: name},
		Why:  name + " with tests",
	}
	if name == "go.work" {
		s.Test.Command = `go list -m -f '{{.Dir}}/...' | xargs go test -json`
	}
	if (name == "go.work" || goRequire.MatchString(r.read(name))) && !r.has("vendor/modules.txt") {
		s.Install = "go mod download"
	}
	return s, true
}

// withJSON makes a plain "go test" print events.
func withJSON(cmd solve.TestCommand) string {
	before, after, ok := strings.Cut(cmd.Command, "go test ")
	if !ok || cmd.Format != "go" || strings.Contains(after, "-json") {
		return cmd.Command
	}
	return before + "go test -json " + after
}

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

// goReader makes a report of the events of go test -json. It ignores lines that are no
// events: go itself and some tests write between them. A package that does not build is one
// failed entry with the mark "[build]". A package that fails although none of its tests did
// (TestMain, init, a race) has the mark "[package]". A test that never ended in a package
// that did has failed.
type goReader struct {
	results  Report
	packages map[string]*goPackage
	err      error
}

func newGoReader() resultReader { return &goReader{packages: map[string]*goPackage{}} }

// line takes one line. It shows the output that an event carries.
func (g *goReader) line(line []byte, stdout bool) []byte {
	var e goEvent
	if !stdout || !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &e) != nil || e.Action == "" {
		return line
	}
	if e.Package != "" && g.err == nil {
		g.event(e)
	}
	return []byte(e.Output)
}

// event notes one event of a package.
func (g *goReader) event(e goEvent) {
	p := g.packages[e.Package]
	if p == nil {
		p = &goPackage{running: map[string]bool{}, built: true}
		g.packages[e.Package] = p
	}
	status, done := map[string]Status{"pass": Pass, "fail": Fail, "skip": Skip}[e.Action]
	switch {
	case e.Action == "start":
		p.started = true
	case e.Test != "" && e.Action == "run":
		p.running[e.Test] = true
	case e.Test != "" && done:
		delete(p.running, e.Test)
		p.failed = p.failed || status == Fail
		g.results.add(goName(e.Package, e.Test), status)
	case e.Test != "":
	case done:
		p.ended = e.Action
		p.built = p.built && e.FailedBuild == ""
	case e.Action == "output" && strings.HasPrefix(e.Output, "FAIL\t") &&
		(strings.Contains(e.Output, "[build failed]") || strings.Contains(e.Output, "[setup failed]")):
		p.built = false
	}
	if len(g.packages) > maxTests || len(p.running) > maxTests {
		g.err = errTooMany
	}
}

func (g *goReader) report(int) (Report, error) {
	r, incomplete := g.results, false
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
	return r, g.err
}

func goName(pkg, test string) string { return clip(pkg + "." + test) }
