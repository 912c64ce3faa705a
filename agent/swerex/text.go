package swerex

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/agent"
)

// rootPath matches the paths in /root that SWE-agent and its tools have built in, where they
// stand as paths of their own or begin one.
var rootPath = regexp.MustCompile(`(^|[^\w./-])/root/(tools|state\.json|model\.patch|test\.patch|\.swe-agent-env)($|[^\w.-])`)

// replacePaths replaces these paths by where they are here: commands of a sandbox are
// nobody's root.
func replacePaths(text string) string {
	for range 2 { // the first of two neighbours takes the character between them
		text = rootPath.ReplaceAllString(text, "${1}"+agent.RunDir+"/root/${2}${3}")
	}
	return text
}

// escaped is UTF-8 whose invalid bytes are written as \xNN.
func escaped(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&out, `\x%02x`, b[0])
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}

// controls are the sequences that colour and move.
var controls = regexp.MustCompile(`\x1B[@-_][0-?]*[ -/]*[@-~]`)

// shown is the output of a shell's command as the original hands it out.
func shown(b []byte) string { return controls.ReplaceAllString(escaped(b), "") }
