package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

func TestBoard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.get("/")
	wants(t, page, "1.10.0 is sorted before 1.9.0", "Race in the watcher",
		"solved, proven", "acme/semver #1", "<b>1</b> at work", "$50.00", "<b>1 of 8</b> slots")
	page = w.get("/?state=running")
	if strings.Contains(page, "1.10.0") || !strings.Contains(page, "Race in the watcher") {
		t.Errorf("the filter by state: %s", page)
	}
	if page = w.get("/?person=nobody"); strings.Contains(page, "Race in the watcher") {
		t.Error("the filter by person lets others pass")
	}
	w.now = w.now.Add(3 * time.Hour)
	w.store.solves[1].Started = w.now
	if page = w.get("/?within=1h0m0s"); strings.Contains(page, "1.10.0") || !strings.Contains(page, "Race in the watcher") {
		t.Errorf("the filter by time: %s", page)
	}
	wants(t, w.get("/?within=24h0m0s"), "1.10.0", "Race in the watcher", `<option value="24h0m0s" selected>`, "all solves</a>")
	w.store.solves = nil
	wants(t, w.get("/"), "There is no solve yet", "yudai:solve", "yudai solve PATH ISSUE.md")
}

func TestSolvePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.get("/solves/" + decided)
	wants(t, page, "Run 1, careful t=0.2 plain", "is the champion", "pull/2", "the runner-up", "fewest files changed", "$0.0084 of $2.00",
		"✕", "failed: it breaks a test", `class="work"`, `class="step"`,
		"&#43;</span><span>\treturn number(a) - number(b) // &lt;b&gt;bold", "base_ready", "tests of the base")
	if n := strings.Count(page, `<a class="lane`); n != 3 {
		t.Errorf("%d lanes", n)
	}
	wants(t, w.get("/solves/"+decided+"?diff=2"), `href="?diff=2#diff" class="here"`)
	wants(t, page, "No two of the 2 runs that can win make much the same change.")
	wants(t, page, `href="?diff=1&amp;against=2#diff">What their patches do differently`)
	wants(t, w.get("/solves/"+decided+"?diff=1&against=2"), "The results differ in no line.", `<option value="2" selected>`)
	w.store.files[decided+"/run-2.patch"] = strings.Replace(patchText, "number(a) - number(b)", "cmp(a, b)", 1)
	wants(t, w.get("/solves/"+decided+"?diff=1&against=2"), `<div class="del"><span class="ln">19</span><span class="ln"></span><span>−</span><span>	return cmp(a, b)`)
	w.store.runs[decided][1].Candidate.SHA256 = "1"
	wants(t, w.get("/solves/"+decided), "Who agrees", `runs/2">run 2</a></td><td class="num">2</td><td>much the same change`)
	delete(w.store.files, decided+"/run-2.patch")
	wants(t, w.get("/solves/"+decided+"?diff=1&against=2"), "The patch of run 1 or run 2 is kept no more.")
	wants(t, w.get("/solves/"+decided+"?diff=1&against=7"), "return number(a)")
	w.store.solves[0].State, w.store.solves[0].Decision = solve.StateRunning, nil
	if page = w.get("/solves/" + decided + "?against=2"); strings.Contains(page, "Run 0") || !strings.Contains(page, "Choose a run to see its patch.") {
		t.Errorf("no patch is shown, and it is compared: %s", page)
	}
	live := w.get("/solves/" + atWork)
	wants(t, live, `data-stream="/live?solve=`+atWork, "Running 1 experiment", "$ ls", `class="now"`, "1 of 8")
	w.store.runs[atWork][0].Progress.Output = 1 << 30
	if strings.Contains(w.get("/solves/"+atWork), `class="step"`) {
		t.Error("a page about all runs read a gigabyte of output of one")
	}
	w.store.runs[atWork][0].Progress.Waiting = "model m: the provider failed"
	wants(t, w.get("/solves/"+atWork), "waits for its model server (model m: the provider failed)")
	for _, path := range []string{
		"none", decided + "/runs/9", decided + "/runs/x", decided + "/logs/commit.json", decided + "/files/commit.json",
		decided + "/logs/run-9.log", decided + "/files/run-1-tests.log",
	} {
		if got := w.ask(http.MethodGet, "/solves/"+path, w.enter()); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

func TestRunPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.get("/solves/" + decided + "/runs/1")
	wants(t, page, "champion", "Look how versions are compared.", "go test ./...", "✕ exit 1", "TestCompareNumeric", `data-line="3"`,
		`<span class="c1">--- FAIL: TestCompareNumeric</span>`, "files/run-1.patch", "files/run-1.traj.json",
		"logs/run-1.log/raw", "log of the tests", "4,120 tokens")
	answer := w.ask(http.MethodGet, "/solves/"+decided+"/files/run-1.patch", w.enter())
	if answer.Body.String() != patchText || !strings.HasPrefix(answer.Header().Get("Content-Disposition"), "attachment") {
		t.Errorf("the patch: %v %s", answer.Header(), answer.Body)
	}
	last := &w.store.runs[decided][2]
	last.Experiment.Purpose, last.Verdict = solve.PurposeReproduce, &solve.Verdict{Reason: "none is red on the base"}
	wants(t, w.get("/solves/"+decided+"/runs/3"), "t=0.2 reproducer", "none is red on the base</p>")
	wants(t, w.get("/solves/"+decided), `<span class="num">2 runs</span>`)
	w.store.runs[atWork][0].Attempt = 0
	wants(t, w.get("/solves/"+atWork+"/runs/1"), "The run has not started yet.")
	w.store.runs[decided][0].Verdict.Fixed = 36
	wants(t, w.get("/solves/"+decided+"/runs/1"), `<span class="num">1, and 35 more</span>`)
}

func TestLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/solves/" + decided + "/logs/run-1.log"
	page := w.get(path)
	wants(t, page, "1\n2\n3\n4\n5\n</pre>", "$ grep -n Compare *.go\n", `data-cursor="1.5"`, `>first failure</a>`)
	raw := w.get(path + "/raw")
	want := "$ grep -n Compare *.go\ncompare.go:18: Compare\n$ go test ./...\n\x1b[31m--- FAIL: TestCompareNumeric\x1b[0m\nFAIL\n"
	if raw != want {
		t.Errorf("raw: %q", raw)
	}
	wants(t, w.get(path+"?q=fail"), "2 lines", "at=L4&amp;q=fail#L4")
	wants(t, w.get(path+"?at=L4-L5"), `<a id="L4"></a><mark>`)
	if got := w.get(path + "/search?q=COMPARE"); got != `{"lines":[1,2,4],"total":3}` {
		t.Errorf("search: %s", got)
	}
}

// TestRunLog: other readers get the lines that the pages show, by the same numbers, and no line that may still grow.
func TestRunLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ended, works := w.store.runs[decided][0], func() solve.Run { return w.store.runs[atWork][0] }
	raw := w.get("/solves/" + decided + "/logs/run-1.log/raw")
	w.store.say(agent.Message{Role: agent.RoleOutput, Content: "whole\nhalf"})
	for _, c := range []struct {
		run   solve.Run
		tests bool
		from  int
		want  string
		next  int
	}{
		{ended, false, 1, raw, 6},
		{ended, false, 4, "\x1b[31m--- FAIL: TestCompareNumeric\x1b[0m\nFAIL\n", 6},
		{ended, false, 6, "", 6},
		{ended, false, 99, "", 6},
		{ended, true, 0, "ok\n", 2},
		{works(), false, 3, "b.go\nwhole\n", 5},
	} {
		got, next, err := w.pages.RunLog(t.Context(), c.run, c.tests, c.from)
		if string(got) != c.want || next != c.next || err != nil {
			t.Errorf("run %d from line %d: %q, then %d: %v", c.run.N, c.from, got, next, err)
		}
	}
	for _, r := range []solve.Run{works(), {Solve: decided, N: 7, Verdict: &solve.Verdict{Log: "run-7-tests.log"}}} {
		if _, _, err := w.pages.RunLog(t.Context(), r, true, 1); !errors.Is(err, solve.ErrNotFound) {
			t.Errorf("tests of run %d: %v", r.N, err)
		}
	}
}

// TestHostileTitle: what people write in an issue is text, everywhere.
func TestHostileTitle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.solves[0].Issue.Title = `<script>alert("1")</script>` + strings.Repeat("x", 300)
	w.store.solves[0].Trigger.Actor = `"><img src=x>`
	for _, path := range allPages() {
		page := w.get(path)
		wants(t, page, "&lt;script&gt;alert")
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
			t.Errorf("%s: %s", path, page)
		}
	}
}

// TestHostileLog: nothing in a log becomes an element of ours, a link or a picture, and a long line is cut.
func TestHostileLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.files[decided+"/base-tests.log"] = "<script>alert(1)</script>\n" +
		"\x1b]8;;javascript:alert(1)\x1b\\click\x1b]8;;\x1b\\\x1b]1337;File=inline=1:AAAA\x07 after\n" +
		"\x1b[1;32mgreen \x1b[39mplain\x1b[0m \x1b[38;5;200mnone\x1b[2K\x00\n" +
		"10%\r50%\r100%\r\n" + strings.Repeat("ä", 40_000) + "\nlast \xff\x1b[3"
	page := w.get("/solves/" + decided + "/logs/base-tests.log")
	wants(t, page, "&lt;script&gt;alert(1)", "click after\n", `<span class="c2">green </span>plain none`+"\n", "\n100%\n",
		`ä<span class="cut"> … 14,464 more bytes: see raw</span>`, "last \uFFFD\n")
	if strings.Contains(page, "javascript:") || strings.Contains(page, "AAAA") {
		t.Errorf("an escape code got through: %s", page)
	}
}

// TestLargeLog: a log of 100,000 lines is few elements, and a line of it is found from both ends.
func TestLargeLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.files[decided+"/base-tests.log"] = largeLog(150_000)
	path := "/solves/" + decided + "/logs/base-tests.log"
	page := w.get(path)
	if n := strings.Count(page, "<"); n > 5_000 {
		t.Errorf("%d tags", n)
	}
	wants(t, page, "\n150000\n", "earlier lines", `data-first="50001"`)
	wants(t, w.get(path+"?from=1"), "\n100000\n", "later lines, from 100,501")
	wants(t, w.get(path+"?at=L90"), `<a id="L90"></a><mark>line 90 `)
	if got := w.get(path + "/search?q=line+1"); !strings.Contains(got, `"total":61112`) {
		t.Errorf("search: %s", got[len(got)-40:])
	}
}

func largeLog(lines int) string {
	var b strings.Builder
	for n := 1; n <= lines; n++ {
		fmt.Fprintf(&b, "line %d of a log that a test wrote, with some words in it\n", n)
	}
	return b.String()
}

// streamed reads a stream until it holds the text.
func (w *world) streamed(server, path, lastID, until string) string {
	w.t.Helper()
	ctx, end := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer end()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server+path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Host = "yudai.example"
	r.Header.Set("Cookie", w.enter())
	r.Header.Set("Last-Event-ID", lastID)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	var seen []byte
	part := make([]byte, 4096)
	for !strings.Contains(string(seen), until) {
		n, err := answer.Body.Read(part)
		if seen = append(seen, part[:n]...); err != nil && !strings.Contains(string(seen), until) {
			w.t.Fatalf("%v after %s", err, seen)
		}
	}
	return string(seen)
}

// TestStream: a stream goes on behind the larger of cursor and last event, says when the run ended, and tells of another attempt.
func TestStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.serve()
	path := "/solves/" + atWork + "/logs/run-1.log/stream"
	wants(t, w.streamed(server, path+"?after=1.1", "", "\n\n"), "retry:")
	first := w.streamed(server, path+"?after=1.1", "1.2", "id: ")
	wants(t, first, "id: 1.3\n")
	w.store.say(turn(20, "", "cat a", "one\ntwo", 0)...)
	wants(t, w.streamed(server, path, "1.3", `two"]}`), `{"first":4,"lines":["$ cat a","one","two"]}`)
	wants(t, w.streamed(server, path, "7.3", "event: reset"), "event: reset")
	w.store.say(agent.Message{Role: agent.RoleOutput, Content: "half a l"})
	w.store.say(agent.Message{Role: agent.RoleOutput, Content: "ine\n"})
	w.store.change(func() { w.store.runs[atWork][0].State = solve.RunCancelled })
	end := w.streamed(server, path, "1.6", "event: end")
	wants(t, end, `{"first":7,"lines":["half a line"]}`)
}

// TestLive tells of a change, and not again of the same.
func TestLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.serve()
	seen := w.streamed(server, "/live?solve="+atWork, "", "data: \n\n")
	_, id, _ := strings.Cut(seen, "id: ")
	id, _, _ = strings.Cut(id, "\n")
	before := w.streamed(server, "/live", "", "event: changed")
	if !strings.Contains(before, "id: ") {
		t.Errorf("the board's stream: %s", before)
	}
	w.store.say(turn(30, "", "cat b", "x\n", 0)...)
	after := w.streamed(server, "/live?solve="+atWork, id, "event: changed")
	if strings.Contains(after, "id: "+id) {
		t.Errorf("an event for what was seen: %s", after)
	}
}

// TestManyCuts: a reader whose connection is cut after each event misses no line and gets none twice.
func TestManyCuts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := w.serve()
	path, last, next := "/solves/"+atWork+"/logs/run-1.log/stream", "1.0", 1
	for n := range 100 {
		if n > 0 {
			w.store.say(turn(20+n, "", "make", strings.Repeat("x\n", n%7), 0)...)
		}
		seen := w.streamed(server, path, last, "]}\n\n")
		for event := range strings.SplitSeq(seen, "\n\n") {
			id, data, ok := strings.Cut(event, "\ndata: ")
			if !ok {
				continue
			}
			var frame struct {
				First int
				Lines []string
			}
			if err := json.Unmarshal([]byte(data), &frame); err != nil || frame.First != next {
				t.Fatalf("cut %d: %v, line %d after %d", n, err, frame.First, next-1)
			}
			next += len(frame.Lines)
			last = id[strings.LastIndex(id, " ")+1:]
		}
	}
	if raw := w.get("/solves/" + atWork + "/logs/run-1.log/raw"); strings.Count(raw, "\n") != next-1 {
		t.Errorf("%d lines came, the log has %d", next-1, strings.Count(raw, "\n"))
	}
}

// TestSignedOutStreamsEnd: who signs out sees nothing of what comes.
func TestSignedOutStreamsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server, cookie := w.serve(), w.enter()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/solves/"+atWork+"/logs/run-1.log/stream", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "yudai.example"
	r.Header.Set("Cookie", cookie)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	w.send(http.MethodPost, "/logout", cookie, "")
	w.store.say(turn(20, "", "cat secret", "secret\n", 0)...)
	if seen, err := io.ReadAll(answer.Body); err != nil || strings.Contains(string(seen), "secret") {
		t.Errorf("%v: %s", err, seen)
	}
}

// TestLargeAndEmptyLogs: a page holds whole blocks up to a size, and an empty log is said to be empty.
func TestLargeAndEmptyLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/solves/" + decided + "/logs/base-tests.log"
	w.store.files[decided+"/base-tests.log"] = ""
	wants(t, w.get(path), "This log is empty.")
	w.store.files[decided+"/base-tests.log"] = strings.Repeat(strings.Repeat("x", 9_999)+"\n", 4_000)
	page := w.get(path)
	wants(t, page, "\n4000\n", "earlier lines")
	if len(page) > 20<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	wants(t, w.get(path+"?at=L2000"), `<a id="L2000"></a><mark>`)
}

// TestFarBehindIsReadAgain: a reader who lacks more than a page holds is told so, and does not get all of it in one frame.
func TestFarBehindIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.say(turn(20, "", "cat large", strings.Repeat(strings.Repeat("x", 9_999)+"\n", 2_000), 0)...)
	wants(t, w.streamed(w.serve(), "/solves/"+atWork+"/logs/run-1.log/stream", "1.1", "event: reset"), "event: reset")
}

// TestOutputOfNothing: a program that printed an empty text first has an empty log.
func TestOutputOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.store.files[atWork+"/transcript-1"] = ""
	w.store.say(agent.Message{Role: agent.RoleOutput})
	wants(t, w.get("/solves/"+atWork+"/logs/run-1.log"), "Nothing was printed yet.")
}

// BenchmarkSearch looks for a text that every line has, in 50 MB.
func BenchmarkSearch(b *testing.B) {
	w := newWorld(b)
	w.store.files[decided+"/base-tests.log"] = largeLog(870_000)
	cookie := w.enter()
	for b.Loop() {
		w.ask(http.MethodGet, "/solves/"+decided+"/logs/base-tests.log/search?q=that+a+TEST", cookie)
	}
}
