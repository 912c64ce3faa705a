package web

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// maxHits is how many numbers of lines the script gets.
const maxHits = 10_000

// searchLog answers with how many lines of the whole log hold a text, and their numbers.
func (p *Pages) searchLog(w http.ResponseWriter, r *http.Request) {
	_, s, err := p.logOf(r)
	var answer []byte
	if err == nil {
		lines := search(s.log, r.URL.Query().Get("q"))
		answer, err = json.Marshal(map[string]any{"total": len(lines), "lines": lines[:min(len(lines), maxHits)]})
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer)
}

// search finds the lines that hold a text, in capital or small letters, escape codes aside.
func search(l *logText, text string) []int {
	want, lower, out := lowered([]byte(text)), logText{data: lowered(l.data), starts: l.starts}, []int{}
	coded := bytes.IndexByte(l.data, 0x1b) >= 0 || bytes.IndexByte(l.data, '\r') >= 0
	for n := 1; n <= l.lines() && text != ""; n++ {
		line := lower.line(n)
		if coded {
			line = plain(line)
		}
		if bytes.Contains(line, want) {
			out = append(out, n)
		}
	}
	return out
}

// lowered is a text in small letters, those of ASCII: it keeps its length.
func lowered(text []byte) []byte {
	out := make([]byte, len(text))
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		out[i] = c
	}
	return out
}
