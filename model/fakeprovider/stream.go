package fakeprovider

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// stream writes server-sent events.
type stream struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, c: http.NewResponseController(w)}
}

// event sends one event; name may be empty. A client that has gone is no matter
// of ours: the rest goes nowhere.
func (s *stream) event(name, data string) {
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: " + data + "\n\n")
	s.w.Write(b.Bytes())
	_ = s.c.Flush()
}

// maxPiece is the longest piece of text in one event, in characters.
const maxPiece = 256

// pieces cuts a text for several events, four of them if it is short.
func pieces(text string) []string {
	runes := []rune(text)
	size := min(max((len(runes)+3)/4, 1), maxPiece)
	var out []string
	for len(runes) > 0 {
		n := min(size, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

// compact is JSON as providers write it, without escapes for HTML.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null" // what is encoded here are our own maps of texts and numbers
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write([]byte(compact(v)))
}
