package fakeprovider

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// Kinds of tools and their calls.
const (
	kindFunction = "function"
	kindCustom   = "custom"      // its input is any text
	kindLocal    = "local_shell" // OpenAI's own
)

// tool is one that a request declares.
type tool struct {
	kind   string
	name   string
	schema schema
}

// schema is what is looked at of the parameters' JSON schema.
type schema struct {
	Properties map[string]struct {
		Type json.RawMessage `json:"type"` // a name or a list of names
	} `json:"properties"`
	Required []string `json:"required"`
}

// call is one tool call of an answer.
type call struct {
	kind      string
	id        string
	name      string
	arguments string // JSON text; of kindCustom the input, of kindLocal a list of words
}

// shell is the tool of a request that runs shell commands.
func (r request) shell() (tool, bool) {
	for _, name := range []string{
		"bash", "exec_command", "shell_command", "local_shell", "shell", "run_shell_command", "execute_bash", "developer__shell", "exec",
	} {
		for _, t := range r.tools {
			if strings.EqualFold(t.name, name) {
				return t, true
			}
		}
	}
	return tool{}, false
}

// submitter is the tool with which SWE-agent ends, "" if there is none.
func (r request) submitter() string {
	for _, t := range r.tools {
		if t.kind == kindFunction && t.name == "submit" && len(t.schema.Required) == 0 {
			return t.name
		}
	}
	return ""
}

// native says that the tool is mini's: its arguments are the script's.
func (t tool) native() bool {
	_, ok := t.schema.Properties[agent.ToolArgument]
	return ok && t.kind == kindFunction && t.name == agent.ToolName && len(t.schema.Properties) == 1
}

// commandOf is the command of a call in the script's own form.
func commandOf(c agent.ToolCall) (string, bool) {
	var args map[string]json.RawMessage
	var command string
	if c.Name != agent.ToolName || json.Unmarshal([]byte(c.Arguments), &args) != nil || len(args) != 1 {
		return "", false
	}
	raw, ok := args[agent.ToolArgument]
	return command, ok && bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, &command) == nil
}

func submits(command string) bool { return strings.TrimSpace(command) == "echo "+agent.SubmitMarker }

// call runs a command with this tool; say is what the model said with it.
func (t tool) call(id, command, say string) call {
	c := call{kind: t.kind, id: id, name: t.name}
	words := []string{"bash", "-c", command}
	switch t.kind {
	case kindCustom:
		c.arguments = command
		return c
	case kindLocal:
		c.arguments = compact(words)
		return c
	}
	args := map[string]any{}
	for _, name := range t.schema.Required {
		args[name] = t.filler(name, say)
	}
	if _, ok := t.schema.Properties["yield_time_ms"]; ok { // wait for the command as long as the tool allows
		args["yield_time_ms"] = 30000
	}
	args[t.argument()] = command
	if t.typeOf(t.argument()) == "array" {
		args[t.argument()] = words
	}
	c.arguments = compact(args)
	return c
}

// argument is the name of the argument that takes the command.
func (t tool) argument() string {
	for _, name := range []string{agent.ToolArgument, "cmd", "script"} {
		if _, ok := t.schema.Properties[name]; ok {
			return name
		}
	}
	return agent.ToolArgument
}

// filler is a value for an argument that has to be there.
func (t tool) filler(name, say string) any {
	switch t.typeOf(name) {
	case "boolean":
		return false
	case "number", "integer":
		return 0
	case "array":
		return []string{}
	case "object":
		return map[string]any{}
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(say), "\n"); line != "" {
		return line
	}
	return "Run a command"
}

func (t tool) typeOf(name string) string {
	var types []string
	raw := t.schema.Properties[name].Type
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	if json.Unmarshal(raw, &types) != nil {
		return ""
	}
	types = slices.DeleteFunc(types, func(s string) bool { return s == "null" })
	if len(types) == 0 {
		return ""
	}
	return types[0]
}

// schemaOf reads parameters; what is no schema has no properties.
func schemaOf(raw json.RawMessage) schema {
	var s schema
	if json.Unmarshal(raw, &s) != nil {
		return schema{}
	}
	return s
}
