package web

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// searchLog answers with how many lines of the whole log hold a text, and their numbers.
func (p *Pages) searchLog(w http.ResponseWriter, r *http.Request) {
	v, err := p.view(r)
	var s source
	if err == nil {
		s, err = p.source(r.Context(), v, r.PathValue("name"))
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	lines := search(s.log, r.URL.Query().Get("q"))
	answer, err := json.Marshal(map[string]any{"total": len(lines), "lines": lines[:min(len(lines), maxHits)]})
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer)
}

// search finds the lines that hold a text, capital or small. Only where the log has escape codes it
// looks at lines one by one.
func search(l *logText, text string) []int {
	out := []int{}
	if text == "" {
		return out
	}
	want := asciiLower([]byte(text))
	if bytes.ContainsAny(l.data, "\x1b\r\x00\x07\x08") {
		for n := 1; n <= l.lines(); n++ {
			if bytes.Contains(asciiLower(plain(l.line(n))), want) {
				out = append(out, n)
			}
		}
		return out
	}
	lower := asciiLower(l.data)
	for at := 0; ; {
		i := bytes.Index(lower[at:], want)
		if i < 0 {
			return out
		}
		n := l.at(at + i)
		out = append(out, n)
		if n == l.lines() {
			return out
		}
		at = l.starts[n]
	}
}

// asciiLower is a text of the same length in small letters.
func asciiLower(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}
