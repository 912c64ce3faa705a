package judge

import (
	"regexp"
	"slices"
	"strings"
)

var (
	tapResult  = regexp.MustCompile(`^(not )?ok\b(?: +\d+)?(.*)$`)
	tapPlan    = regexp.MustCompile(`^1\.\.\d+`)
	tapTrailer = regexp.MustCompile(`^(?:tests|pass|fail|ok|skip|todo|time=|duration_ms|suites|cancelled|skipped|failed)\b`)
	tapAside   = regexp.MustCompile(`(?i)(?:^|\s)#\s*(skip|todo)\S*`)
)

// tapReader reads the Test Anything Protocol from standard output. There are two ways to
// write it. Most runners give every test a line of its own ("ok 1 - adds numbers"), with
// subtests indented below a comment "# Subtest: name". tape and similar runners write a line
// for each assertion, without the dash, below a comment with the test's name. There the test
// counts, by its worst assertion: the words of an assertion often hold the values it met.
//
// A run without a plan line ended early: the test that was running has failed.
type tapReader struct {
	results Report
	comment string   // the last one that may name a test
	parents []string // the names of the open subtests, by depth
	planned bool
	yaml    int // depth of an open block of details plus one, 0 outside
}

func (t *tapReader) report(exit int) (Report, error) {
	if exit != 0 && !t.planned && t.comment != "" {
		t.results.add(clip(t.comment), Fail)
	}
	return t.results, nil
}

func (t *tapReader) line(line []byte, stdout bool) []byte {
	if stdout {
		t.point(string(trimEnd(line)))
	}
	return line
}

// point takes one line of the protocol.
func (t *tapReader) point(text string) {
	body := strings.TrimLeft(text, " ")
	indent := len(text) - len(body)
	depth := indent / 4
	switch {
	case t.yaml > 0:
		if body == "..." {
			t.yaml = 0
		}
	case body == "---" && indent > 0:
		t.yaml = depth + 1
	case strings.HasPrefix(body, "# "):
		t.note(strings.TrimSpace(body[2:]), depth)
	case tapPlan.MatchString(body):
		t.planned = t.planned || depth == 0
	default:
		if m := tapResult.FindStringSubmatch(body); m != nil && depth <= maxDepth {
			t.result(depth, m[1] == "", m[2])
		}
	}
}

// note keeps the name that a comment gives to what follows.
func (t *tapReader) note(text string, depth int) {
	name, subtest := strings.CutPrefix(text, "Subtest: ")
	switch {
	case subtest && depth <= maxDepth:
		for len(t.parents) <= depth {
			t.parents = append(t.parents, "")
		}
		t.parents = append(t.parents[:depth], name)
	case depth > 0:
	case strings.HasPrefix(text, "SKIP "): // tape: the whole test
		t.results.add(clip(strings.TrimPrefix(text, "SKIP ")), Skip)
		t.comment = ""
	case !tapTrailer.MatchString(text):
		t.comment = text
	}
}

// result notes one "ok" or "not ok".
func (t *tapReader) result(depth int, ok bool, rest string) {
	status := Fail
	if ok {
		status = Pass
	}
	if m := tapAside.FindStringIndex(rest); m != nil {
		status, rest = Skip, rest[:m[0]]
	}
	rest = strings.TrimSpace(rest)
	name, own := strings.CutPrefix(rest, "- ")
	if !own && depth == 0 && t.comment != "" {
		name = t.comment
	}
	if name == "" {
		return
	}
	if depth > 0 && depth <= len(t.parents) {
		name = strings.Join(append(slices.Clone(t.parents[:depth]), name), " > ")
	}
	t.results.add(clip(name), status)
}
