package command

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
)

//go:embed poll.sh
var pollScript string

const (
	// pollOutput is how much output one poll takes.
	pollOutput = 256 << 10
	// pollTimeout bounds one poll: a sandbox that answers no more is an error.
	pollTimeout = time.Minute
)

// A status is what one poll saw.
type status struct {
	printed int64 // bytes so far
	ended   bool
	code    int
	now     int64 // seconds, by the sandbox's clock
	started int64 // 0: never
	output  []byte
	taken   int64 // bytes of the file that output is
}

// poll waits for the program's end, but not longer than so long, and tells how it is: one
// round trip. Output is taken only where nothing better is collected.
func (r *run) poll(ctx context.Context, wait time.Duration) (status, error) {
	most := int64(pollOutput)
	if r.agent.program.Collect != nil {
		most = 0
	}
	ran, err := sandbox.Capture(ctx, r.rec.Job.Sandbox, sandbox.Command{
		Argv: []string{
			"bash", "-c", pollScript, "poll", strconv.FormatInt(r.taken(), 10), strconv.FormatInt(most, 10),
			strconv.FormatFloat(wait.Seconds(), 'f', -1, 64),
		},
		Timeout: pollTimeout, MaxOutput: 2 * pollOutput,
	})
	if err != nil {
		return status{}, fmt.Errorf("poll the program: %w", err)
	}
	head, output, ok := bytes.Cut(ran.Stdout, []byte("\n"))
	s, fine := parseStatus(string(head))
	if !ok || !fine || ran.ExitCode != 0 {
		return status{}, fmt.Errorf("poll the program: exit status %d, %q %q", ran.ExitCode, cut(ran.Stdout), cut(ran.Stderr))
	}
	s.output = output
	return s, nil
}

func cut(b []byte) []byte { return b[:min(len(b), 200)] }

// taken is how many bytes of the output were read.
func (r *run) taken() int64 { return r.position.Output + int64(len(r.unstored)) }

// parseStatus reads the first line of poll.sh. Files of the program are in it: it may have
// written anything there.
func parseStatus(head string) (status, bool) {
	f := strings.Split(head, " ")
	if len(f) != 5 {
		return status{}, false
	}
	number := func(text string) (int64, bool) {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil && n >= 0
	}
	var s status
	var a, b, c bool
	s.printed, a = number(f[0])
	s.now, b = number(f[2])
	s.taken, c = number(f[4])
	s.started, _ = number(f[3])
	if f[1] != "-" {
		code, ok := number(f[1])
		if s.ended, s.code = true, int(code); !ok || code > 255 {
			s.code = stopped
		}
	}
	return s, a && b && c
}

// storeOutput stores what the program printed as messages. Bytes at the end that may be the
// beginning of something that is looked at as a whole wait for the next time.
func (r *run) storeOutput(ctx context.Context, s status) error {
	if s.taken == 0 && (len(r.unstored) == 0 || !s.ended) {
		return nil
	}
	text := append(r.unstored, s.output...)
	whole := len(text)
	if !s.ended || s.printed > r.taken()+s.taken {
		whole -= unfinished(text, r.rec.Job.Gateway.Token)
	}
	r.position.Output += int64(len(r.unstored)) + s.taken - int64(len(text)-whole)
	r.unstored = bytes.Clone(text[whole:])
	if whole == 0 {
		return nil
	}
	content := strings.ToValidUTF8(string(r.rec.Redact(text[:whole])), "\uFFFD")
	return r.write(ctx, agent.Message{Role: agent.RoleOutput, Content: content})
}

// unfinished is how many bytes at the end are part of a rune, or may be of the token.
func unfinished(text []byte, token string) int {
	for n := min(len(token)-1, len(text)); n > 0; n-- {
		if bytes.HasSuffix(text, []byte(token[:n])) {
			return n
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if utf8.FullRune(text[len(text)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
