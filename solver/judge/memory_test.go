package judge_test

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/test/require"
)

// flood is a sandbox whose test command prints much more than may be kept of it,
// and whose report file has this in its middle.
type flood struct {
	sandbox.Sandbox
	t                    *testing.T
	output               string
	before, inner, after string // the report
	most                 uint64 // bytes on the heap
}

const floodSize = 24 << 20

// Exec plays one command.
func (f *flood) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	switch {
	case c.Shell != "":
		f.pour(c.Stdout, f.output, min(floodSize, int(c.MaxOutput)))
	case c.Stdout != nil:
		w := tar.NewWriter(c.Stdout)
		size := floodSize / len(f.inner) * len(f.inner)
		must(f.t, w.WriteHeader(&tar.Header{Name: "r.xml", Size: int64(len(f.before) + size + len(f.after)), Mode: 0o644}))
		f.pour(w, f.before, len(f.before))
		f.pour(w, f.inner, size)
		f.pour(w, f.after, len(f.after))
		must(f.t, w.Close())
	}
	return sandbox.Result{}, nil
}

// pour writes text again and again, and looks at the heap meanwhile.
func (f *flood) pour(w io.Writer, text string, size int) {
	if text == "" {
		return
	}
	part := []byte(strings.Repeat(text, max(1, (32<<10)/max(1, len(text)))))
	for n, looked := 0, 0; n < size; n += len(part) {
		part = part[:min(len(part), size-n)]
		_, err := w.Write(part)
		must(f.t, err)
		if n-looked >= 4<<20 {
			looked = n
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			f.most = max(f.most, m.HeapAlloc)
		}
	}
}

// However much tests print, the memory it takes is bounded. Not parallel: it
// looks at the heap of the whole process.
func TestMemoryStaysFlat(t *testing.T) {
	require.Long(t)
	const one = `<testsuite><testcase name="a"><system-out>`
	event := `{"Action":"output","Package":"p","Test":"T","Output":"` + strings.Repeat("x", 500) + `\n"}` + "\n"
	for name, f := range map[string]*flood{
		"exit, lines":        {output: strings.Repeat("x", 99) + "\n"},
		"exit, endless line": {output: "xxxx"},
		"go":                 {output: event},
		"tap":                {output: "ok 1 - a\n"},
		"junit, text":        {before: one, inner: "text &#10; ", after: "</system-out></testcase></testsuite>"},
		"junit, CDATA":       {before: one + "<![CDATA[", inner: "]<b>\x00 ]] ", after: "]]></system-out></testcase></testsuite>"},
		"junit, comment":     {before: "<testsuite><!--", inner: " <testcase> - ", after: `--><testcase name="a"/></testsuite>`},
		"junit, attribute":   {before: `<testsuite><testcase name="a"><failure message="`, inner: "&amp;'\xff", after: `"/></testcase></testsuite>`},
	} {
		f.t = t
		format, _, _ := strings.Cut(name, ",")
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		test := solve.TestCommand{Command: "t", Format: format, Report: "r.xml"}
		r, log, err := judge.Trial{Test: test, MaxOutput: floodSize}.RunTests(t.Context(), f)
		must(t, err)
		if f.most-min(f.most, m.HeapAlloc) > 14<<20 {
			t.Errorf("%s: %d MiB on the heap", name, (f.most-m.HeapAlloc)>>20)
		}
		if len(log) > 8<<20 {
			t.Errorf("%s: a log of %d bytes", name, len(log))
		}
		if format == "junit" && (r.NoVerdict != "" || len(r.Tests) != 1) {
			t.Errorf("%s: read as %s %v", name, r.NoVerdict, r.Counts)
		}
		if format != "junit" && name != "exit, endless line" && !strings.Contains(string(log), "bytes of output are not kept") {
			t.Errorf("%s: the log does not say that it is cut", name)
		}
	}
}

// What is skipped in a report is not missed: the rest is read as before.
func TestSkimmedReports(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("&lt;", 40_000)
	for name, c := range map[string]struct{ file, want string }{
		"test cases in text":       {`<testsuite><testcase name="a"><system-out><![CDATA[<testcase name="b"/>]]></system-out></testcase></testsuite>`, "map[a:pass]"},
		"test cases in a comment":  {`<testsuite><!-- <testcase name="b"/> - -- > --><testcase name="a"/></testsuite>`, "map[a:pass]"},
		"brackets in an attribute": {`<testsuite><testcase name="a > b" classname='"<"'/></testsuite>`, `error`},
		"a bracket that may be":    {`<testsuite><testcase name="a > b"/></testsuite>`, `map[a > b:pass]`},
		"a doctype":                {`<?xml version="1.0"?><!DOCTYPE t [<!ELEMENT t (a)>]><testsuite><testcase name="a"/></testsuite>`, "map[a:pass]"},
		"a style sheet":            {`<?xml-stylesheet href="it's"?><testsuite><testcase name="a"/></testsuite>`, "map[a:pass]"},
		"a long message":           {`<testsuite><testcase name="a"><failure message="` + long + `"/></testcase><testcase name="b"/></testsuite>`, "map[a:fail b:pass]"},
		"an open CDATA":            {`<testsuite><testcase name="a"/><![CDATA[ </testsuite>`, "error"},
		"the end of a CDATA twice": {`<testsuite><![CDATA[ ]]]]><testcase name="a"/></testsuite>`, "map[a:pass]"},
		"control characters":       {"<testsuite><testcase name=\"a\x1b[0m\"/></testsuite>", "map[a?[0m:pass]"},
		"latin-1":                  {"<?xml version='1.0' encoding='ISO-8859-1'?><testsuite><testcase name=\"\xe4\"/></testsuite>", "map[?:pass]"},
		"nothing but text":         {"all tests passed", "error"},
		"empty":                    {" \n", "map[]"},
	} {
		r, err := judge.Parse(junitTests, 0, nil, [][]byte{[]byte(c.file)})
		got := fmt.Sprint(r.Tests)
		if err != nil {
			got = "error"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, got, c.want, err)
		}
	}
}
