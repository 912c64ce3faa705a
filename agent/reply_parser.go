package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// maxCommand is the longest command that is passed on: an argument of a Linux
// process ends at 128 KiB.
const maxCommand = 100_000

// fence is the action format of text mode, the one of mini-SWE-agent.
const fence = "mswea_bash_command"

// An action is one command of a reply.
type action struct {
	Command string `json:"command"`
	CallID  string `json:"tool_call_id,omitempty"`
}

// A formatError says what was wrong with a reply. The first bad call rejects
// the whole reply, so that nothing of it runs.
type formatError struct {
	problem   string
	truncated bool // the reply hit the output token limit
	actions   int  // text mode: blocks found
}

// block matches one action in text mode.
var block = regexp.MustCompile("(?s)```" + fence + `\s*\n(.*?)\n` + "```")

// parseReply returns the commands of a reply, or what is wrong with it.
func parseReply(mode string, r Reply) ([]action, *formatError) {
	if mode == ModeText {
		return fencedBlock(r)
	}
	return toolCalls(r)
}

func toolCalls(r Reply) ([]action, *formatError) {
	calls := r.Message.ToolCalls
	bad := func(format string, args ...any) *formatError {
		return &formatError{problem: fmt.Sprintf(format, args...), truncated: r.FinishReason == "length"}
	}
	if len(calls) == 0 {
		e := bad("The reply calls no tool.")
		e.truncated = e.truncated || r.FinishReason == "tool_calls"
		return nil, e
	}
	out := make([]action, 0, len(calls))
	for i, c := range calls {
		if c.Name != ToolName {
			return nil, bad("Call %d is to the unknown tool %.80q.", i+1, c.Name)
		}
		var args any
		if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
			return nil, bad("The arguments of call %d are not valid JSON.", i+1)
		}
		object, ok := args.(map[string]any)
		if !ok {
			return nil, bad("The arguments of call %d are not a JSON object.", i+1)
		}
		command, ok := object[ToolArgument].(string)
		if !ok {
			return nil, bad("The arguments of call %d have no string %q.", i+1, ToolArgument)
		}
		if problem := commandProblem(command); problem != "" {
			return nil, bad("Call %d: %s", i+1, problem)
		}
		out = append(out, action{Command: command, CallID: c.ID})
	}
	return out, nil
}

func fencedBlock(r Reply) ([]action, *formatError) {
	found := block.FindAllStringSubmatch(r.Message.Content, -1)
	bad := func(problem string) *formatError {
		return &formatError{problem: problem, truncated: r.FinishReason == "length", actions: len(found)}
	}
	if len(found) != 1 {
		return nil, bad(fmt.Sprintf("The reply has %d command blocks instead of one.", len(found)))
	}
	command := strings.TrimSpace(found[0][1])
	if problem := commandProblem(command); problem != "" {
		return nil, bad(problem)
	}
	return []action{{Command: command}}, nil
}

func commandProblem(command string) string {
	switch {
	case strings.ContainsRune(command, 0):
		return "The command holds a NUL character."
	case len(command) > maxCommand:
		return fmt.Sprintf("The command has %d bytes, more than %d. Write long files in several commands.", len(command), maxCommand)
	}
	return ""
}

// text is what the model is told.
func (e *formatError) text(mode string) string {
	var b strings.Builder
	if e.truncated {
		b.WriteString("Your reply was cut off at the output token limit, and nothing of it was run. Answer again, shorter: ")
		b.WriteString("little reasoning, and long files written in several commands.\n")
	} else {
		b.WriteString("Your reply was not in the expected format, and nothing of it was run. ")
		b.WriteString(e.problem + "\n")
	}
	if mode == ModeText {
		b.WriteString("Write exactly one block of this form, and nothing else that looks like it:\n\n")
		b.WriteString("```" + fence + "\nyour command here\n```\n")
	} else {
		fmt.Fprintf(&b, "Call the tool %q at least once, each time with a JSON object that has the string %q.\n", ToolName, ToolArgument)
	}
	b.WriteString("When the work is done, submit with: echo " + SubmitMarker)
	return b.String()
}
