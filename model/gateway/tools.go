package gateway

import (
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/agent"
)

// hosted are the tools that run at the provider: they would give the run a network, files
// or memory of the provider's, another model, or a price of their own.
var hosted = regexp.MustCompile(`^(?:web_search|web_fetch|file_search|code_interpreter|code_execution|image_generation|mcp|mcp_toolset|` +
	`computer|computer_use|programmatic_tool_calling|advisor|x_search|live_search|container_auto|container_reference)(?:_preview)?(?:_2\d{3}[\d_]*)?$`)

// The tools that the agent itself runs, by API. Those whose types end in a date are known
// by their beginning.
var (
	chatTools      = regexp.MustCompile(`^(?:function|custom)$`)
	responsesTools = regexp.MustCompile(`^(?:function|custom|local_shell|apply_patch|shell|namespace|tool_search)$`)
	messagesTools  = regexp.MustCompile(`^(?:|custom|(?:bash|text_editor|memory|computer|computer_toolset|tool_search_tool_(?:bm25|regex))_\d+)$`)
)

// deepest is how deep tools may be grouped: each group is read once more than what is around it.
const deepest = 4

// toolFilter takes hosted tools out of a request.
type toolFilter struct {
	api      string
	clients  *regexp.Regexp
	stripped []string // types and names of what was taken out
}

func newToolFilter(api string) *toolFilter {
	f := &toolFilter{api: api, clients: messagesTools}
	switch api {
	case agent.APIChat:
		f.clients = chatTools
	case agent.APIResponses:
		f.clients = responsesTools
	}
	return f
}

// runsThere says that a tool runs at the provider. Anthropic's computer tools have dates,
// and run at the agent.
func (f *toolFilter) runsThere(kind string) bool {
	return hosted.MatchString(kind) && !(anthropicStyle(f.api) && f.clients.MatchString(kind))
}

// tools takes the hosted tools out of the member tools and all that goes with them.
func (f *toolFilter) tools(o *object) *rejection {
	m := o.find("tools")
	if m == nil || isNull(m.value) {
		return nil
	}
	kept, no := f.list(m.value, 1)
	if no != nil || len(f.stripped) == 0 {
		return no
	}
	if isEmpty(kept) {
		o.drop("tools")
		o.drop("tool_choice")
		o.drop("parallel_tool_calls")
		return nil
	}
	o.setRaw("tools", kept)
	if c := o.find("tool_choice"); c != nil && f.chosen(c.value, 1) {
		o.drop("tool_choice")
	}
	return nil
}

// list is an array of tools without the hosted ones; depth is 1 for the request's own.
func (f *toolFilter) list(data []byte, depth int) ([]byte, *rejection) {
	if data[0] != '[' {
		return nil, reject("tools", "tools must be a list")
	}
	var kept [][]byte
	changed := false
	values, whole := elements(data)
	if len(values) > mostElements || depth > deepest {
		return nil, reject("tools", "it has more than %d tools, or groups of them more than %d deep", mostElements, deepest)
	}
	for i, v := range values {
		text, no := f.one(v, depth)
		if no != nil {
			return nil, no
		}
		switch {
		case text == nil:
			changed = true
		case len(text) != len(v):
			kept, changed = append(kept, text), true
		default:
			kept = append(kept, whole[i])
		}
	}
	if !changed {
		return data, nil
	}
	return array(kept), nil
}

// one is a tool as it may stay, nil if it may not.
func (f *toolFilter) one(data []byte, depth int) ([]byte, *rejection) {
	o, no := parseObject(data)
	if no != nil {
		return nil, reject("tools", "a tool is no JSON object, or has two members of one name")
	}
	for _, m := range o.members {
		if m.key != "type" && strings.EqualFold(m.key, "type") {
			return nil, reject("tools", "a tool has a member %q; write type", short(m.key))
		}
	}
	kind, name := "", ""
	if m := o.find("type"); m != nil {
		kind = text(m.value)
	}
	if m := o.find("name"); m != nil {
		name = text(m.value)
	}
	switch {
	case f.runsThere(kind), kind == "shell" && !local(o):
		f.stripped = append(f.stripped, kind, name)
		return nil, nil
	case !f.clients.MatchString(kind):
		return nil, reject("tools", "it has a tool of type %q, which is not known to run at the agent", short(kind))
	case kind != "namespace":
		return data, nil
	}
	inner := o.find("tools")
	if inner == nil || isNull(inner.value) {
		return data, nil
	}
	kept, no := f.list(inner.value, depth+1)
	if no != nil {
		return nil, no
	}
	o.setRaw("tools", kept)
	return o.text(data), nil
}

// local says that a shell runs at the agent, not in a container of the provider's.
func local(o *object) bool {
	m := o.find("environment")
	if m == nil || isNull(m.value) {
		return true
	}
	e, no := parseObject(m.value)
	if no != nil {
		return false
	}
	kind := e.find("type")
	return kind != nil && text(kind.value) == "local"
}

// chosen says that a choice of tools names one that was taken out, or is too deep to say.
func (f *toolFilter) chosen(data []byte, depth int) bool {
	if depth > deepest {
		return true
	}
	if data[0] == '[' {
		values, _ := elements(data)
		return slices.ContainsFunc(values, func(v []byte) bool { return f.chosen(v, depth+1) })
	}
	o, no := parseObject(data)
	if no != nil {
		return false
	}
	for _, m := range o.members {
		switch {
		case m.key == "tools" && f.chosen(m.value, depth):
			return true
		case m.key == "type" || m.key == "name":
			if s := text(m.value); s != "" && slices.Contains(f.stripped, s) {
				return true
			}
		}
	}
	return false
}
