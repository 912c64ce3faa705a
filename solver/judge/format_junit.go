package judge

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxDepth is how deep elements of a JUnit file may be nested.
const maxDepth = 64

// testcase is a testcase element.
type testcase struct {
	class, name string
	status      Status
	depth       int
	collect     bool
}

// junitFile reads a JUnit XML file as pytest, Surefire, Gradle, vitest, mocha
// and others write it: test cases anywhere below the root, each passed unless
// it holds a failure, an error or a skipped element. The format has no standard;
// testmoapp's collected description at github.com/testmoapp/junitxml is followed.
//
// It reads tokens instead of building a tree, and skips the tests' output in the files. A
// library such as go-junit keeps the inner text of every element on each level, so that a
// small hostile file takes gigabytes.
func (r *Report) junitFile(data io.Reader) error {
	s := newXMLFilter(data)
	d := xml.NewDecoder(s)
	d.Strict = true
	d.CharsetReader = charset
	depth, seen := 0, false
	var open *testcase
	var suites []string // names of the open elements, "" for what is no suite
	for {
		tok, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			if depth != 0 {
				return fmt.Errorf("JUnit file ends inside an element")
			}
			if !seen && s.any {
				return errors.New("JUnit file without a testsuite element")
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("JUnit file: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return errors.New("JUnit file is nested too deeply")
			}
			seen = seen || t.Name.Local == "testsuite" || t.Name.Local == "testsuites"
			open = junitStart(open, t, depth, suites)
			suites = append(suites, suiteName(t))
		case xml.EndElement:
			if open != nil && open.depth == depth {
				r.add(open.key(), open.status)
				open = nil
			}
			if depth--; depth < 0 {
				return errors.New("JUnit file ends an element that was not open")
			}
			suites = suites[:depth]
		}
	}
}

// junitStart returns the open test case after an opening element.
func junitStart(open *testcase, t xml.StartElement, depth int, suites []string) *testcase {
	if t.Name.Local == "testcase" && open == nil {
		c := &testcase{class: attr(t, "classname"), name: attr(t, "name"), status: Pass, depth: depth}
		if c.class == "test" { // Node's runner calls every class that, and nests suites instead
			c.class = strings.Join(slices.DeleteFunc(slices.Clone(suites), func(s string) bool { return s == "" }), " > ")
		}
		return c
	}
	if open == nil || depth != open.depth+1 {
		return open
	}
	switch t.Name.Local {
	case "failure", "error":
		if open.status != Skip {
			open.status = Fail
		}
		open.collect = attr(t, "message") == "collection failure"
	case "skipped": // beside a failure, too: Node writes both for a test marked "todo"
		open.status = Skip
	}
	return open
}

// suiteName is the name of a testsuite element, "" of any other.
func suiteName(t xml.StartElement) string {
	if t.Name.Local != "testsuite" {
		return ""
	}
	return attr(t, "name")
}

// key is the test's name in the report.
func (t *testcase) key() string {
	name := t.name
	if t.class != "" {
		name = t.class + "." + t.name
	}
	if t.collect {
		return clip(name) + markCollect
	}
	return clip(name)
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// charset reads the encodings that are a subset of UTF-8 after xmlFilter.
func charset(label string, in io.Reader) (io.Reader, error) {
	switch strings.ToLower(label) {
	case "utf-8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252":
		return in, nil
	}
	return nil, fmt.Errorf("JUnit file in the encoding %q: only UTF-8 is read", label)
}
