package gateway

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
)

// rewritten is a request as it goes to the model.
type rewritten struct {
	body   []byte
	stream bool
	// usage says that the client itself asked for the usage of a chat stream.
	usage bool
	// reply is the longest reply in tokens, 0 if nobody limits it.
	reply int64
}

// rewriter fits one request to the experiment and to what its model takes. What it does
// not have to change stays byte for byte.
type rewriter struct {
	o     *container
	api   string
	count bool // of tokens: there is no reply
	terms model.Terms
	out   rewritten
}

// rewrite makes the request one of the experiment.
func rewrite(body []byte, api string, count bool, t model.Terms) (rewritten, *clientError) {
	if !json.Valid(body) {
		return rewritten{}, reject("", "it is no valid JSON")
	}
	o, no := parseObject(body)
	if no != nil {
		return rewritten{}, no
	}
	e := &rewriter{o: o, api: api, count: count, terms: t}
	for _, step := range []func() *clientError{
		e.names, e.forbidden, e.content, e.strip, e.tools, e.sampling, e.stream, e.limits, e.thinking, e.effort, e.storing,
	} {
		if no := step(); no != nil {
			return rewritten{}, no
		}
	}
	o.set("model", t.Model)
	e.out.body = o.bytes()
	return e.out, nil
}

// object takes a member apart that must be an object; nil where there is none.
func (e *rewriter) object(key string) (*member, *container, *clientError) {
	m := e.o.find(key)
	if m == nil {
		return nil, nil, nil
	}
	o, no := parseObject(m.value)
	if no != nil {
		no = reject(key, "%s must be an object, with each member once", key)
	}
	return m, o, no
}

// names refuses members whose names servers may or may not take for others.
func (e *rewriter) names() *clientError {
	known := controlled(e.api, e.terms.Refused)
	for _, m := range e.o.members {
		if slices.Contains(known, m.key) {
			continue
		}
		for _, k := range known {
			if strings.EqualFold(k, m.key) {
				return reject(m.key, "it has a member %q; write %s", short(m.key), k)
			}
		}
	}
	return nil
}

// forbidden refuses what cannot be taken out without changing what is asked.
func (e *rewriter) forbidden() *clientError {
	for key, why := range refused(e.api) {
		m := e.o.named(key)
		switch {
		case m == nil:
		case !isEmpty(m.value):
			return reject(key, "%s: %s", key, why)
		case anthropicStyle(e.api):
			e.o.drop(key) // without its beta even an empty one is refused
		}
	}
	if m := e.o.find("n"); m != nil && string(m.value) != "1" {
		return reject("n", "n must be 1: one reply for each call")
	}
	return nil
}

func (e *rewriter) content() *clientError {
	for _, key := range []string{"messages", "input", "system"} {
		if m := e.o.find(key); m != nil {
			if no := checkContent(key, m.value); no != nil {
				return no
			}
		}
	}
	return nil
}

func (e *rewriter) strip() *clientError {
	for _, key := range append(stripped(e.api), e.terms.Refused...) {
		e.o.drop(key)
	}
	return nil
}

func (e *rewriter) tools() *clientError { return newToolFilter(e.api).tools(e.o) }

// sampling sets the experiment's temperature. Counting tokens takes none.
func (e *rewriter) sampling() *clientError {
	if e.terms.Temperature == nil || e.count {
		e.o.drop("temperature")
		return nil
	}
	e.o.set("temperature", strconv.AppendFloat(nil, *e.terms.Temperature, 'f', -1, 64))
	return nil
}

// stream reads whether the reply is to be streamed, and has a chat stream end with its usage.
func (e *rewriter) stream() *clientError {
	m := e.o.find("stream")
	switch {
	case m == nil || string(m.value) == "false":
		return nil
	case string(m.value) != "true":
		return reject("stream", "stream must be true or false")
	}
	e.out.stream = true
	if e.api != agent.APIChat {
		return nil
	}
	o, options, no := e.object("stream_options")
	switch {
	case no != nil:
		return no
	case o == nil:
		e.o.set("stream_options", map[string]bool{"include_usage": true})
		return nil
	}
	if u := options.find("include_usage"); u != nil && string(u.value) == "true" {
		e.out.usage = true
		return nil
	}
	options.set("include_usage", true)
	e.o.replace(o, options.bytes())
	return nil
}

// limits bounds the reply's length by the model's setting.
func (e *rewriter) limits() *clientError {
	if e.count {
		return nil
	}
	names := map[string][]string{
		agent.APIChat: {"max_completion_tokens", "max_tokens"}, agent.APIResponses: {"max_output_tokens"}, agent.APIMessages: {"max_tokens"},
	}[e.api]
	if e.api == agent.APIChat && e.terms.Completion {
		e.newer()
	}
	most := int64(e.terms.MaxTokens)
	for _, key := range names {
		m := e.o.find(key)
		if m == nil {
			continue
		}
		n, err := strconv.ParseFloat(string(m.value), 64)
		if err != nil || n < 0 || n != math.Trunc(n) || n > 1e12 {
			return reject(key, "%s must be a whole number, 0 or more", key)
		}
		if most > 0 && int64(n) > most {
			e.o.set(key, most)
			n = float64(most)
		}
		e.out.reply = max(e.out.reply, int64(n)) // servers differ in which of two they take
	}
	if e.out.reply == 0 && most > 0 {
		key := names[0]
		if e.api == agent.APIChat && !e.terms.Newer { // the name that every server knows
			key = "max_tokens"
		}
		e.o.set(key, most)
		e.out.reply = most
	}
	return nil
}

// newer gives the length of the reply the one name that the model takes.
func (e *rewriter) newer() {
	old := e.o.named("max_tokens")
	switch {
	case old == nil:
	case e.o.named("max_completion_tokens") != nil:
		e.o.drop("max_tokens")
	default:
		e.o.rename(old, "max_completion_tokens")
	}
}

// thinking takes it out where the temperature excludes it, and keeps it within the reply.
func (e *rewriter) thinking() *clientError {
	if !anthropicStyle(e.api) {
		return nil
	}
	m, o, no := e.object("thinking")
	if m == nil || no != nil || o.text("type") == "disabled" {
		return no
	}
	const least = 1024 // the API's
	room := e.out.reply - 1
	over := false
	if budget := o.find("budget_tokens"); budget != nil && e.terms.MaxTokens > 0 && e.out.reply > 0 {
		n, err := strconv.ParseFloat(string(budget.value), 64)
		over = err == nil && n > float64(room)
	}
	switch {
	case !e.terms.Thinks, over && room < least:
		e.o.drop("thinking")
		e.o.drop("context_management") // it can name thoughts, and is refused where there are none
	case over:
		o.set("budget_tokens", room)
		e.o.replace(m, o.bytes())
	}
	return nil
}

// effort sets the reasoning effort where the model's setting, or the model, fixes it.
func (e *rewriter) effort() *clientError {
	effort := e.terms.Effort
	if effort == "" && e.o.find("tools") != nil {
		effort = e.terms.EffortWithTools
	}
	switch {
	case effort == "":
	case e.api == agent.APIChat:
		e.o.set("reasoning_effort", effort)
	case e.api == agent.APIResponses:
		m, o, no := e.object("reasoning")
		if no != nil {
			return no
		}
		if m == nil {
			e.o.set("reasoning", map[string]string{"effort": effort})
			return nil
		}
		o.set("effort", effort)
		e.o.replace(m, o.bytes())
	}
	return nil
}

// longestInclude is how many bytes of include are read, far more than there are names.
const longestInclude = 64 << 10

// thoughts is what a stateless conversation needs of a model that reasons.
const thoughts = "reasoning.encrypted_content"

// storing has the provider store nothing. A client that relied on it gets what the model
// thought encrypted, and can send it again.
func (e *rewriter) storing() *clientError {
	if e.api != agent.APIResponses {
		return nil
	}
	m := e.o.find("store")
	asked := m == nil || string(m.value) != "false"
	e.o.set("store", false)
	if !asked && !slices.Contains(e.terms.Refused, "reasoning") {
		return nil
	}
	var include []json.RawMessage
	if in := e.o.find("include"); in != nil && (len(in.value) > longestInclude || json.Unmarshal(in.value, &include) != nil) {
		return reject("include", "include must be a list, and no longer than %d KiB", longestInclude>>10)
	}
	has := func(r json.RawMessage) bool { return text(r) == thoughts }
	switch {
	case e.terms.Encrypted && !slices.ContainsFunc(include, has):
		e.o.set("include", append(include, json.RawMessage(`"`+thoughts+`"`)))
	case slices.Contains(e.terms.Refused, "reasoning") && slices.ContainsFunc(include, has):
		e.o.set("include", slices.DeleteFunc(include, has))
	}
	return nil
}
