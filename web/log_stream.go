package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/internal/stream"
	"github.com/yudai-dev/yudai/solve"
)

// maxFrame is how many lines one event brings.
const maxFrame = 2_000

// position reads attempt and line: "2.140".
func position(text string) (attempt, line int) {
	a, b, _ := strings.Cut(text, ".")
	attempt, errA := strconv.Atoi(a)
	line, errB := strconv.Atoi(b)
	if errA != nil || errB != nil || line < 0 {
		return 0, 0
	}
	return attempt, line
}

// streamLog sends the lines of a run as they come. The ID of an event is attempt and line: a browser that
// comes again goes on behind the last line that it has. The stream ends with the run.
func (p *Pages) streamLog(w http.ResponseWriter, r *http.Request) {
	m := runLog.FindStringSubmatch(r.PathValue("name"))
	if _, err := p.Store.Solve(r.Context(), solve.ID(r.PathValue("id"))); err != nil || m == nil {
		http.NotFound(w, r)
		return
	}
	attempt, after := position(r.URL.Query().Get("after"))
	if a, n := position(r.Header.Get("Last-Event-ID")); a > attempt || a == attempt && n > after {
		attempt, after = a, n
	}
	p.each(w, r, solve.ID(r.PathValue("id")), p.Store.Watch(r.Context()), func() (text string, err error) {
		_, s, err := p.logOf(r)
		if err != nil {
			return "", err
		}
		if s.run.Attempt != attempt && after > 0 { // another attempt is another log
			return "event: reset\ndata: \n\n", stream.ErrEnd
		}
		attempt = s.run.Attempt
		text, after, err = s.events(after)
		if err == nil && !s.live {
			return text + "event: end\ndata: \n\n", stream.ErrEnd
		}
		return text, err
	})
}

// events are the lines behind one, and how many there are now. A reader too far behind is told to read the page again.
func (s source) events(after int) (text string, now int, err error) {
	now = s.whole()
	if now-after > maxShown || now > after && len(s.log.data)-s.log.starts[after] > maxBytes {
		return "event: reset\ndata: \n\n", after, stream.ErrEnd
	}
	var b strings.Builder
	for first := after + 1; first <= now; first += maxFrame {
		last := min(now, first+maxFrame-1)
		var lines []string
		for n := first; n <= last; n++ {
			lines = append(lines, lineHTML(s.log.line(n)))
		}
		data, err := json.Marshal(map[string]any{"first": first, "lines": lines})
		if err != nil {
			return "", after, err
		}
		fmt.Fprintf(&b, "id: %s\ndata: %s\n\n", s.cursor(last), data)
	}
	return b.String(), max(now, after), nil
}
