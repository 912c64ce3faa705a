package agent

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// SubmitMarker as the first line of the output of a successful command ends a
// run; the lines after it are the submission.
const SubmitMarker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

const (
	// wholeOutput is the length in characters from which on an output is cut.
	wholeOutput = 10_000
	// endOutput is how many characters of each end remain of it.
	endOutput = 5_000
)

const cutWarning = "The output was too long and its middle is left out. " +
	"Use a narrower command (head, tail, grep), or write the output to a file and read parts of it."

// An observation is the outcome of one action: it ran, timed out, or was not run.
type observation struct {
	output     string
	returncode int
	// exception is set when there is no plain exit code to show; kind is its type.
	exception, kind string
	truncated       bool
}

func observe(output string, res sandbox.Result, timeout time.Duration) observation {
	o := observation{output: output, returncode: res.ExitCode, truncated: res.Truncated}
	if res.TimedOut {
		o.returncode = -1
		o.exception = fmt.Sprintf("the command was stopped after its time limit of %s; the output is what it had printed by then", timeout)
		o.kind = "TimeoutExpired"
	}
	return o
}

// notExecuted is the observation of a call that a submission or a limit overtook.
func notExecuted() observation {
	return observation{returncode: -1, exception: "action was not executed"}
}

// InterruptedText is what a model reads of a call that was being run when its owner died.
const InterruptedText = "interrupted: the machine running yudai was restarted; whether the command took effect is unknown"

// interrupted is the observation of a call that was being run when its owner died.
func interrupted() observation {
	return observation{returncode: -1, exception: InterruptedText, kind: interruptKind}
}

// submission returns what a command submitted, if it did.
func (o observation) submission() (string, bool) {
	if o.returncode != 0 {
		return "", false
	}
	first, rest := firstLine(strings.TrimLeftFunc(o.output, isSpace))
	if strings.TrimFunc(first, isSpace) != SubmitMarker {
		return "", false
	}
	return rest, true
}

// firstLine splits a text after its first line. What ends a line, and what is space, is
// as in mini-SWE-agent, which is Python's idea of both.
func firstLine(s string) (first, rest string) {
	i := strings.IndexAny(s, "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029")
	if i < 0 {
		return s, ""
	}
	first, rest = s[:i], s[i:]
	if after, ok := strings.CutPrefix(rest, "\r\n"); ok {
		return first, after
	}
	_, size := utf8.DecodeRuneInString(rest)
	return first, rest[size:]
}

func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= '\x1c' && r <= '\x1f' }

// cut is the output's ends and the number of characters between them; whole is
// true if the output is short enough to be shown as it is.
func (o observation) cut() (head, tail string, elided int, whole bool) {
	n := utf8.RuneCountInString(o.output)
	if n < wholeOutput {
		return o.output, "", 0, true
	}
	runes := []rune(o.output)
	return string(runes[:endOutput]), string(runes[n-endOutput:]), n - 2*endOutput, false
}

func (o observation) warning(whole bool) string {
	switch {
	case !whole:
		return cutWarning
	case o.truncated:
		return "The sandbox kept only the first part of the output."
	}
	return ""
}

// json is the observation as the model reads it in tool-call mode.
func (o observation) json() string {
	type view struct {
		Returncode int     `json:"returncode"`
		Output     *string `json:"output,omitempty"`
		Head       string  `json:"output_head,omitempty"`
		Tail       string  `json:"output_tail,omitempty"`
		Elided     *int    `json:"elided_chars,omitempty"`
		Warning    string  `json:"warning,omitempty"`
		Exception  string  `json:"exception_info,omitempty"`
	}
	head, tail, elided, whole := o.cut()
	v := view{Returncode: o.returncode, Exception: o.exception, Warning: o.warning(whole)}
	if whole {
		v.Output = &head
	} else {
		v.Head, v.Tail, v.Elided = head, tail, &elided
	}
	return JSON(v)
}

// tags is the observation as the model reads it in text mode.
func (o observation) tags() string {
	var b strings.Builder
	tag := func(name, text string) {
		fmt.Fprintf(&b, "<%s>\n%s\n</%s>\n", name, strings.TrimSuffix(text, "\n"), name)
	}
	head, tail, elided, whole := o.cut()
	if o.exception != "" {
		tag("exception", o.exception)
	}
	fmt.Fprintf(&b, "<returncode>%d</returncode>\n", o.returncode)
	if w := o.warning(whole); w != "" {
		tag("warning", w)
	}
	if whole {
		tag("output", head)
		return strings.TrimSuffix(b.String(), "\n")
	}
	tag("output_head", head)
	fmt.Fprintf(&b, "<elided_chars>%d</elided_chars>\n", elided)
	tag("output_tail", tail)
	return strings.TrimSuffix(b.String(), "\n")
}

// extra is what the transcript keeps of it, at most keep bytes of output.
func (o observation) extra(keep int) map[string]any {
	raw, cut := o.output, false
	if len(raw) > keep {
		raw, cut = solve.CutText(raw, keep), true
	}
	m := map[string]any{
		"raw_output":     raw,
		"returncode":     o.returncode,
		keyTime:          timestamp(),
		"exception_info": o.exception,
	}
	if cut || o.truncated {
		m["raw_output_cut"] = true
	}
	if o.kind != "" {
		m[keyExcType] = o.kind
		m["exception"] = o.exception
	}
	return m
}

// timestamp is now in Unix seconds, as the trajectory file has it.
func timestamp() float64 { return float64(time.Now().UnixMicro()) / 1e6 }
