package judge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

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

// parseGo reads the events of go test -json. Lines that are no events are
// passed over: go itself and some tests write between them. A package that does
// not build is one failed entry with the mark "[build]"; one that fails although
// none of its tests did (TestMain, init, a race) has the mark "[package]". A test
// that never ended in a package that did has failed.
func parseGo(output []byte) (Report, error) {
	var r Report
	packages := map[string]*goPackage{}
	err := goEvents(output, func(e goEvent) error {
		name := e.Package
		if name == "" {
			return nil
		}
		p := packages[name]
		if p == nil {
			p = &goPackage{running: map[string]bool{}, built: true}
			packages[name] = p
		}
		r.goEvent(e, p)
		if len(r.Tests) > maxTests || len(packages) > maxTests || len(p.running) > maxTests {
			return errTooMany
		}
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	incomplete := false
	for name, p := range packages {
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
	return r, nil
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

// maxLine is the longest event that is read; a longer line is no event.
const maxLine = 1 << 20

// goEvents calls do for each event in output.
func goEvents(output []byte, do func(goEvent) error) error {
	lines := bufio.NewReaderSize(bytes.NewReader(output), 64<<10)
	for {
		line, err := readLine(lines)
		if len(line) > 0 && line[0] == '{' {
			var e goEvent
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				if err := do(e); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// readLine returns the next line, or none of it if it is longer than maxLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			if long = len(line) > maxLine; long {
				line = nil
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// goText turns events back into what "go test" prints, for people: only their
// output, and what stands between them.
func goText(output []byte) []byte {
	var text bytes.Buffer
	for line := range bytes.Lines(output) {
		var e goEvent
		if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &e) == nil && e.Action != "" {
			text.WriteString(e.Output)
			continue
		}
		text.Write(line)
	}
	return text.Bytes()
}
