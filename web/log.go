package web

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// blockLines is how many lines stand in one element: browsers lay out only the elements that are seen.
	blockLines = 500
	// maxShown is how many lines a page holds, and maxBytes how many bytes of the log about.
	maxShown = 100_000
	maxBytes = 16 << 20
	// maxFound is how many hits a page without JavaScript lists.
	maxFound = 200
)

// logView is what a log viewer shows.
type logView struct {
	Name, Path, Cursor string
	Live               bool
	First              int // number of the first line that is shown
	Earlier, Later     int // the first line of the part before and after; 0 if there is none
	Blocks             []block
	Query, Hits        string
	Found              []hit
	FirstFailure       int
}

type block struct {
	First   int
	Numbers string
	Text    template.HTML
}

type hit struct {
	Line int
	Text string
}

// source is a log with what belongs to it.
type source struct {
	name    string
	log     *logText
	run     solve.Run    // whose log it is; N is 0 for an artifact
	anchors map[int]bool // lines with an element of their own, for links without JavaScript
	live    bool
	open    bool
}

// cursor is the position behind the last line: attempt and line.
func (s source) cursor(line int) string { return fmt.Sprintf("%d.%d", s.run.Attempt, line) }

// whole is how many lines will not change.
func (s source) whole() int {
	if s.open {
		return s.log.lines() - 1
	}
	return s.log.lines()
}

// runLog is the name of the log of a run, and artifactLog that of the logs among a solve's artifacts.
var (
	runLog      = regexp.MustCompile(`^run-([1-9]\d{0,3})\.log$`)
	artifactLog = regexp.MustCompile(`^(run-[1-9]\d{0,3}-tests|base-tests|cross-tests|install(-[a-z0-9-]+)?)\.log$`)
)

// logOf finds the log that a request names.
func (p *Pages) logOf(r *http.Request) (v report.View, s source, err error) {
	if v, err = p.view(r); err != nil {
		return v, s, err
	}
	name := r.PathValue("name")
	if m := runLog.FindStringSubmatch(name); m != nil {
		n, _ := strconv.Atoi(m[1])
		s, err = p.runSource(r.Context(), v, n)
		return v, s, err
	}
	if !artifactLog.MatchString(name) {
		return v, s, fmt.Errorf("log %q: %w", name, solve.ErrNotFound)
	}
	s, err = p.storedLog(r.Context(), v.Solve.ID, name)
	return v, s, err
}

// storedLog is a log among the artifacts of a solve.
func (p *Pages) storedLog(ctx context.Context, id solve.ID, name string) (source, error) {
	data, err := p.Store.Artifact(ctx, id, name)
	l := newLog(data)
	return source{name: name, log: &l}, err
}

func (p *Pages) runSource(ctx context.Context, v report.View, n int) (source, error) {
	i := slices.IndexFunc(v.Runs, func(r solve.Run) bool { return r.N == n })
	if i < 0 {
		return source{}, fmt.Errorf("run %d: %w", n, solve.ErrNotFound)
	}
	return p.agentLog(ctx, v.Runs[i])
}

// RunLog reads the log of a run from a line on: what its agent did, or, with tests, what the tests of its candidate
// printed. The lines are whole and those of the pages; next is the number of the line behind them.
// solve.ErrNotFound if there is no such log, or it is kept no more.
func (p *Pages) RunLog(ctx context.Context, r solve.Run, tests bool, from int) (lines []byte, next int, err error) {
	var s source
	switch {
	case !tests:
		s, err = p.agentLog(ctx, r)
	case r.Verdict == nil || r.Verdict.Log == "":
		err = fmt.Errorf("log of the tests of run %d: %w", r.N, solve.ErrNotFound)
	default:
		s, err = p.storedLog(ctx, r.Solve, r.Verdict.Log)
	}
	if err != nil {
		return nil, 0, err
	}
	n := s.whole()
	if from = max(from, 1); from <= n {
		lines = s.log.data[s.log.starts[from-1]:s.log.end(n)]
	}
	return lines, n + 1, nil
}

// agentLog is the log of what an agent did.
func (p *Pages) agentLog(ctx context.Context, r solve.Run) (source, error) {
	s, err := p.trajectory(ctx, r)
	if err != nil {
		return source{}, err
	}
	out := source{name: fmt.Sprintf("run-%d.log", r.N), log: &s.log, run: r, open: s.open, anchors: map[int]bool{}}
	out.live = !r.State.Final()
	for _, one := range s.steps {
		out.anchors[one.Line] = true
	}
	return out, nil
}

// logPath is the page of a log.
func logPath(id solve.ID, name string) string { return "/solves/" + string(id) + "/logs/" + name }

// log shows a log on a page of its own.
func (p *Pages) log(w http.ResponseWriter, r *http.Request) {
	v, s, err := p.logOf(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	body := struct {
		Solve       solve.Solve
		Title, Path string
		Log         logView
	}{v.Solve, titleOf(v.Solve), "/solves/" + string(v.Solve.ID), viewOf(v.Solve.ID, s, r)}
	p.show(w, r, http.StatusOK, "log.html", page{Title: s.name + " · " + body.Title}, body)
}

// viewOf makes the part of a log that a request asks for: a line (at), a first line (from), or the end.
func viewOf(id solve.ID, s source, r *http.Request) logView {
	q, n := r.URL.Query(), s.whole()
	v := logView{Name: s.name, Path: logPath(id, s.name), Live: s.live, Cursor: s.cursor(n), FirstFailure: firstFailure(s.log)}
	v.Query = q.Get("q")
	from, to := lineRange(q.Get("at"))
	first, last := s.part(n, from, q.Get("from"))
	if last < n { // a part that does not reach the end does not follow it
		v.Later, v.Live = last+1, false
	}
	if v.First = first; first > 1 {
		v.Earlier = max(1, first-maxShown)
	}
	for at := first; at <= last; at += blockLines {
		v.Blocks = append(v.Blocks, s.block(at, min(at+blockLines-1, last), from, to))
	}
	if v.Query != "" {
		lines := search(s.log, v.Query)
		v.Hits = solve.Count(len(lines), "line")
		for _, line := range lines[:min(len(lines), maxFound)] {
			v.Found = append(v.Found, hit{line, solve.Clip(string(bytes.ToValidUTF8(plain(s.log.line(line)), nil)), 200)})
		}
	}
	return v
}

// part says which of n lines a page holds: whole blocks, the last ones unless another line is asked for.
func (s source) part(n, at int, from string) (first, last int) {
	if n == 0 {
		return 1, 0
	}
	first = max(1, n-maxShown+1, s.log.at(len(s.log.data)-maxBytes))
	first += (blockLines - (first-1)%blockLines) % blockLines
	if line, err := strconv.Atoi(from); err == nil {
		first, at = line, 0
	} else if at > 0 && at < first {
		first = max(at-maxShown/2, s.log.at(s.log.starts[at-1]-maxBytes/2))
	}
	first = max(1, min(first, n))
	first -= (first - 1) % blockLines
	return first, max(first, min(n, at), min(n, first+maxShown+blockLines-1, s.log.at(s.log.starts[first-1]+maxBytes)))
}

// block renders lines; those from from to to are marked.
func (s source) block(first, last, from, to int) block {
	var numbers, text strings.Builder
	for n := first; n <= last; n++ {
		numbers.WriteString(strconv.Itoa(n) + "\n")
		line := lineHTML(s.log.line(n))
		if n >= from && n <= to {
			line = "<mark>" + line + "</mark>"
		}
		if n == first || n == from || s.anchors[n] {
			text.WriteString(`<a id="L` + strconv.Itoa(n) + `"></a>`)
		}
		text.WriteString(line + "\n")
	}
	return block{first, numbers.String(), template.HTML(text.String())} //nolint:gosec // lineHTML escapes
}

// lineRange reads L120 or L120-L140; zeros for anything else.
func lineRange(text string) (from, to int) {
	a, b, several := strings.Cut(text, "-")
	from, err := strconv.Atoi(strings.TrimPrefix(a, "L"))
	if err != nil || from < 1 {
		return 0, 0
	}
	if to = from; several {
		if n, err := strconv.Atoi(strings.TrimPrefix(b, "L")); err == nil && n > from {
			to = n
		}
	}
	return from, to
}

// firstFailure is the first line that reads like a failed test or a broken build, 0 if there is none.
func firstFailure(l *logText) int {
	for _, words := range failureWords() {
		at := bytes.Index(l.data, []byte(words))
		if at >= 0 {
			return l.at(at)
		}
	}
	return 0
}

// failureWords begin a failure in the output of common runners, the surest first.
func failureWords() []string {
	return []string{
		"--- FAIL", "\nnot ok ", "\nFAILED ", "Traceback (most recent call last)", "\npanic: ", "\nFAIL", "\nerror[", "\nerror: ", "\nError: ",
	}
}

// at is the number of the line of a place in the text; a line's end belongs to the next one.
func (l *logText) at(offset int) int {
	if offset >= 0 && offset < len(l.data) && l.data[offset] == '\n' {
		offset++
	}
	i, found := slices.BinarySearch(l.starts, offset)
	if found {
		return i + 1
	}
	return i
}

// rawLog gives the bytes of a log.
func (p *Pages) rawLog(w http.ResponseWriter, r *http.Request) {
	_, s, err := p.logOf(r)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	download(w, "text/plain; charset=utf-8", "")
	w.Write(s.log.data)
}
