package web

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// maxLine is how many bytes of a line are shown; its rest is in the raw log.
const maxLine = 64 << 10

// lineHTML is a line of a log as safe HTML: its colours are spans, and all other escape codes are gone. No link and no
// picture comes from a log.
func lineHTML(line []byte) string {
	left := 0
	if len(line) > maxLine {
		cut := maxLine
		for cut > 0 && !utf8.RuneStart(line[cut]) {
			cut--
		}
		left, line = len(line)-cut, line[:cut]
	}
	var b strings.Builder
	class := ""
	for part := range escapes(lastPrint(line)) {
		if part.code != "" {
			class = colour(class, part.code)
			continue
		}
		text := html.EscapeString(strings.ToValidUTF8(string(part.text), "\uFFFD"))
		if class != "" && text != "" {
			text = `<span class="` + class + `">` + text + `</span>`
		}
		b.WriteString(text)
	}
	if left > 0 {
		fmt.Fprintf(&b, `<span class="cut"> … %s more bytes: see raw</span>`, thousands(left))
	}
	return b.String()
}

// lastPrint is what a terminal shows of a line over which a program wrote again.
func lastPrint(line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	return line[bytes.LastIndexByte(line, '\r')+1:]
}

// plain is a line without escape codes.
func plain(line []byte) []byte {
	line = lastPrint(line)
	if !bytes.ContainsAny(line, "\x1b\x00\x07\x08") {
		return line
	}
	var out []byte
	for part := range escapes(line) {
		out = append(out, part.text...)
	}
	return out
}

// part is a piece of text, or the parameters of a colour code.
type part struct {
	text []byte
	code string
}

// escapes yields the texts and the colour codes of a line; other control characters than tabs are left out.
func escapes(line []byte) func(yield func(part) bool) {
	return func(yield func(part) bool) {
		for len(line) > 0 {
			n := bytes.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
			if n < 0 {
				n = len(line)
			}
			if n > 0 && !yield(part{text: line[:n]}) {
				return
			}
			if line = line[n:]; len(line) == 0 {
				return
			}
			size, code := escape(line)
			if code != "" && !yield(part{code: code}) {
				return
			}
			line = line[size:]
		}
	}
}

// escape is the length of the control code at the beginning of a text; code is set for a colour.
func escape(b []byte) (size int, code string) {
	if b[0] != 0x1b || len(b) == 1 {
		return 1, ""
	}
	switch b[1] {
	case '[': // CSI: parameters, then a letter
		end := bytes.IndexFunc(b[2:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
		if end < 0 {
			return len(b), ""
		}
		if b[2+end] == 'm' {
			return end + 3, ";" + string(b[2:2+end])
		}
		return end + 3, ""
	case ']', 'P', '_', '^', 'X': // strings: links, titles, pictures; to the bell or ST
		bell, st := bytes.IndexByte(b, 7), bytes.Index(b, []byte("\x1b\\"))
		switch {
		case bell >= 0 && (st < 0 || bell < st):
			return bell + 1, ""
		case st > 0:
			return st + 2, ""
		}
		return len(b), ""
	}
	return 2, ""
}

// colour is the class after a code: one of eight colours, or bold.
func colour(class, code string) string {
	fields := strings.Split(strings.TrimPrefix(code, ";"), ";")
	for i := 0; i < len(fields); i++ {
		switch f := fields[i]; {
		case f == "38" || f == "48": // colours of a larger table are left out, with their parameters
			if i += 4; i-3 < len(fields) && fields[i-3] == "5" {
				i -= 2
			}
		case f == "" || f == "0" || f == "39":
			class = ""
		case f == "1" && class == "":
			class = "bold"
		case len(f) == 2 && (f[0] == '3' || f[0] == '9') && f[1] >= '0' && f[1] <= '7':
			class = "c" + f[1:]
		}
	}
	return class
}
