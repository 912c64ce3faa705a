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
	`computer|computer_use|programmatic_tool_calling|advisor|x_search|live_search|container_auto|container_reference)` +
	`(?:_preview)?(?:_2\d{3}[\d_]*)?$`)

// The tools that the agent itself runs, by API. Those whose types end in a date are known
// by their beginning.
var (
	chatTools      = regexp.MustCompile(`^(?:function|custom)$`)
	responsesTools = regexp.MustCompile(`^(?:function|custom|local_shell|apply_patch|shell|namespace|tool_search)$`)
	messagesTools  = regexp.MustCompile(`^(?:|custom|` +
		`(?:bash|text_editor|memory|computer|computer_toolset|tool_search_tool_(?:bm25|regex))_\d+)$`)
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
	clients := map[string]*regexp.Regexp{agent.APIChat: chatTools, agent.APIResponses: responsesTools, agent.APIMessages: messagesTools}
	return &toolFilter{api: api, clients: clients[api]}
}

// runsThere says that a tool runs at the provider. Anthropic's computer tools have dates,
// and run at the agent.
func (f *toolFilter) runsThere(kind string) bool {
	return hosted.MatchString(kind) && !(anthropicStyle(f.api) && f.clients.MatchString(kind))
}

// tools takes the hosted tools out of the member tools and all that goes with them.
func (f *toolFilter) tools(o *container) *clientError {
	m := o.find("tools")
	if m == nil {
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
	o.replace(m, kept)
	if c := o.named("tool_choice"); c != nil && f.chosen(c.value, 1) {
		o.drop("tool_choice")
	}
	return nil
}

// list is an array of tools without the hosted ones; depth is 1 for the request's own.
func (f *toolFilter) list(data []byte, depth int) ([]byte, *clientError) {
	if data[0] != '[' {
		return nil, reject("tools", "tools must be a list")
	}
	all := parse(data, mostElements)
	if len(all.members) > mostElements || depth > deepest {
		return nil, reject("tools", "it has more than %d tools, or groups of them more than %d deep", mostElements, deepest)
	}
	for i := range all.members {
		m := &all.members[i]
		text, no := f.one(m.value, depth)
		if no != nil {
			return nil, no
		}
		if text == nil {
			m.dropped, all.changed = true, true
			continue
		}
		all.replace(m, text)
	}
	return all.bytes(), nil
}

// one is a tool as it may stay, nil if it may not.
func (f *toolFilter) one(data []byte, depth int) ([]byte, *clientError) {
	o, no := parseObject(data)
	if no != nil {
		return nil, reject("tools", "a tool is no JSON object, or has two members of one name")
	}
	for _, m := range o.members {
		if m.key != "type" && strings.EqualFold(m.key, "type") {
			return nil, reject("tools", "a tool has a member %q; write type", short(m.key))
		}
	}
	kind := o.text("type")
	switch {
	case f.runsThere(kind), kind == "shell" && !local(o):
		f.stripped = append(f.stripped, kind, o.text("name"))
		return nil, nil
	case !f.clients.MatchString(kind):
		return nil, reject("tools", "it has a tool of type %q, which is not known to run at the agent", short(kind))
	case kind != "namespace":
		return data, nil
	}
	inner := o.find("tools")
	if inner == nil {
		return data, nil
	}
	kept, no := f.list(inner.value, depth+1)
	if no != nil {
		return nil, no
	}
	o.replace(inner, kept)
	return o.bytes(), nil
}

// local says that a shell runs at the agent, not in a container of the provider's.
func local(o *container) bool {
	m := o.find("environment")
	if m == nil {
		return true
	}
	e, no := parseObject(m.value)
	return no == nil && e.text("type") == "local"
}

// chosen says that a choice of tools names one that was taken out, or is too deep to say.
func (f *toolFilter) chosen(data []byte, depth int) bool {
	if depth > deepest {
		return true
	}
	if data[0] != '[' && data[0] != '{' {
		return false
	}
	isStripped := func(m member) bool {
		switch m.key {
		case "tools":
			return f.chosen(m.value, depth)
		case "":
			return f.chosen(m.value, depth+1)
		case "type", "name":
			s := text(m.value)
			return s != "" && slices.Contains(f.stripped, s)
		}
		return false
	}
	return slices.ContainsFunc(parse(data, mostElements).members, isStripped)
}
