package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Keys of Message.Extra. They are those of the trajectory file, except keyTree,
// which is ours: the fingerprint of the work tree after the message.
const (
	keyActions    = "actions"
	keyCost       = "cost"
	keyExit       = "exit_status"
	keyException  = "exception_str"
	keyExcType    = "exception_type"
	keyInterrupt  = "interrupt_type"
	keyResponse   = "response"
	keySubmission = "submission"
	keyTime       = "timestamp"
	keyTree       = "tree"
)

// formatInterrupt is the interrupt_type of a message about a malformed reply.
const formatInterrupt = "FormatError"

// interruptKind is the exception_type of a call that a restart interrupted.
const interruptKind = "Interrupted"

// Roles of messages.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
	RoleExit      = "exit"
	// RoleStart is the first message of a program that lives in the sandbox: its task.
	RoleStart = "start"
	// RoleOutput is what such a program printed, a part of it in each message, where
	// nothing better is known of what it does.
	RoleOutput = "output"
)

// Turns is how many replies of the model a history accounts for: its assistant
// messages and the malformed replies, of which only the complaint is kept.
func Turns(history []Message) int {
	n := 0
	for _, m := range history {
		if m.Role == RoleAssistant || isFormatError(m) {
			n++
		}
	}
	return n
}

// Interrupted is how many turns of a history were being executed when the
// machine died: their commands may or may not have taken effect.
func Interrupted(history []Message) int {
	n, in := 0, false
	for _, m := range history {
		was := in
		if in = m.Extra[keyExcType] == interruptKind; in && !was {
			n++
		}
	}
	return n
}

func isFormatError(m Message) bool {
	return m.Role == RoleUser && m.Extra[keyInterrupt] == formatInterrupt
}

// JSON is a value on one line of JSON without the escapes of HTML. It is for values that
// always encode: texts, numbers, and structures of them.
func JSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// encodeLines is the stored form: one JSON object per line.
func encodeLines(messages []Message) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, m := range messages {
		if err := enc.Encode(m); err != nil {
			return nil, fmt.Errorf("%w: encode message: %w", ErrSave, err)
		}
	}
	return b.Bytes(), nil
}

// ErrSave says that a step could not be stored; the error of [Job.Save] is wrapped beside it.
var ErrSave = errors.New("save step")

// store appends lines to the stored transcript, with the progress. Its error is [ErrSave].
func (j Job) store(ctx context.Context, lines []byte, openLine *bool, p *solve.Progress) error {
	p.At = time.Now()
	if j.Save == nil {
		return nil
	}
	if *openLine && len(lines) > 0 {
		lines = append([]byte("\n"), lines...)
	}
	ctx, cancel := SaveContext(ctx)
	defer cancel()
	if err := j.Save(ctx, lines, *p); err != nil {
		return fmt.Errorf("%w: %w", ErrSave, err)
	}
	*openLine = *openLine && len(lines) == 0
	return nil
}

// errTranscript says that a stored transcript is no conversation.
var errTranscript = errors.New("transcript damaged")

// checkOrder refuses a history that no provider would take, such as one that lacks a line.
func checkOrder(history []Message) error {
	var open []string // calls without an observation
	for i, m := range history {
		bad := false
		switch m.Role {
		case RoleSystem:
			bad = i != 0
		case RoleUser:
			bad = i == 0 || len(open) > 0
		case RoleAssistant:
			bad = i < 2 || len(open) > 0
			for _, c := range m.ToolCalls {
				open = append(open, c.ID)
			}
		case RoleTool:
			at := slices.Index(open, m.ToolCallID)
			if bad = at < 0; !bad {
				open = slices.Delete(open, at, at+1)
			}
		case RoleExit:
			bad = i != len(history)-1
		default:
			bad = true
		}
		if bad {
			return fmt.Errorf("%w: message %d (%s) is out of place", errTranscript, i+1, m.Role)
		}
	}
	return nil
}

// unanswered are the actions at the end of a history that have no observation.
func unanswered(history []Message) []action {
	at := len(history) - 1
	for at >= 0 && history[at].Role == RoleTool {
		at--
	}
	if at < 0 || history[at].Role != RoleAssistant {
		return nil
	}
	m := history[at]
	if len(m.ToolCalls) == 0 {
		return []action{{}}
	}
	var out []action
	for _, c := range m.ToolCalls {
		if !slices.ContainsFunc(history[at+1:], func(o Message) bool { return o.ToolCallID == c.ID }) {
			out = append(out, action{CallID: c.ID})
		}
	}
	return out
}

// trailingFormatErrors counts the malformed replies in a row at the end.
func trailingFormatErrors(history []Message) int {
	n := 0
	for n < len(history) && isFormatError(history[len(history)-1-n]) {
		n++
	}
	return n
}

// storedTrees are the stored fingerprints of the work tree, in order.
func storedTrees(history []Message) []string {
	var trees []string
	for _, m := range history {
		if tree, ok := m.Extra[keyTree].(string); ok {
			trees = append(trees, tree)
		}
	}
	return trees
}

// storedEdits counts how often the stored fingerprint changed.
func storedEdits(history []Message) int {
	return max(len(slices.Compact(storedTrees(history)))-1, 0)
}

// storedCost sums what the stored replies cost.
func storedCost(history []Message) solve.Money {
	var sum solve.Money
	for _, m := range history {
		if usd, ok := m.Extra[keyCost].(float64); ok {
			sum += fromUSD(usd)
		}
	}
	return sum
}

// exitResult is the result an exited transcript holds.
func exitResult(m Message, p solve.Progress) Result {
	text := func(key string) string { s, _ := m.Extra[key].(string); return s }
	r := Result{Exit: text(keyExit), Reason: m.Content, Submission: text(keySubmission), Progress: p}
	if problem := text(keyException); problem != "" {
		r.Err = errors.New(problem)
	}
	return r
}
