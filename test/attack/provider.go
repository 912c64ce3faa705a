package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// submit is the command by which an agent says that it is done.
const submit = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// hiddenOrder stands in issues where people do not see it.
const hiddenOrder = "HIDDEN-ORDER"

// play is what a model does: commands in order, then the submission, or answers of its own.
type play struct {
	commands []string
	answers  []answer
}

// provider is the models' server, and in the attacker's hand.
type provider struct {
	key string // what a client has to bring

	mu    sync.Mutex
	plays map[string]play
	seen  map[string][]string // outputs of a model's commands, in order
	asked map[string]int      // questions to a model
	calls map[string]int
	bad   int // calls without the key
	// search names the canaries in a question; leaked is what it found, model and name.
	search func([]byte) []string
	leaked map[string]bool
	// hidden is how many questions held an order that people do not see.
	hidden int
}

// question is a request for a reply, as far as the provider looks.
type question struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
	Tools []struct {
		Function struct {
			Name       string
			Parameters struct{ Required []string }
		}
	}
}

// ServeHTTP answers one question.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q question
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err == nil {
		err = json.Unmarshal(body, &q)
	}
	if err != nil {
		http.Error(w, "not a question", http.StatusBadRequest)
		return
	}
	found := p.search(body)
	done, script := p.note(q, found, r.Header.Get("Authorization"))
	if len(script.answers) > 0 {
		p.misbehave(w, r, q, script.answers[min(p.count(q.Model), len(script.answers)-1)])
		return
	}
	command := submit
	if done < len(script.commands) {
		command = script.commands[done]
	}
	reply(w, q, answer{Command: command, Usage: `{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}`})
}

// note keeps what the commands so far printed, and says how many there were.
func (p *provider) note(q question, found []string, authorization string) (done int, script play) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key != "" && authorization != "Bearer "+p.key {
		p.bad++
	}
	p.asked[q.Model]++
	for _, name := range found {
		p.leaked[q.Model+"\x00"+name] = true
	}
	var outputs []string
	for _, m := range q.Messages {
		if bytes.Contains(m.Content, []byte(hiddenOrder)) {
			p.hidden++
		}
		switch m.Role {
		case "assistant":
			done++
		case "tool":
			outputs = append(outputs, plain(m.Content))
		}
	}
	if len(outputs) >= len(p.seen[q.Model]) {
		p.seen[q.Model] = outputs
	}
	return done, p.plays[q.Model]
}

// tried says that a model was asked for all that it plays: the attack reached its sandbox.
func (p *provider) tried(model string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[model] >= max(1, len(p.plays[model].commands))
}

// plain is the text of a message, and of the JSON that the agent puts an output in.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	var parts map[string]any
	if json.Unmarshal([]byte(text), &parts) != nil {
		return text
	}
	var out strings.Builder
	for _, name := range []string{"output", "output_head", "output_tail"} {
		if s, ok := parts[name].(string); ok {
			out.WriteString(s + "\n")
		}
	}
	return out.String() + text
}

func (p *provider) count(model string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[model]++
	return p.calls[model] - 1
}

// outputs are what a model's commands printed.
func (p *provider) outputs(model string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[model]
}

// misbehave sends an answer of the attack.
func (p *provider) misbehave(w http.ResponseWriter, r *http.Request, q question, a answer) {
	switch {
	case a.Hang:
		<-r.Context().Done()
	case a.Stream != "":
		w.Header().Set("Content-Type", "text/event-stream")
		for end := time.Now().Add(20 * time.Second); r.Context().Err() == nil && time.Now().Before(end); {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", a.Stream); err != nil {
				return
			}
		}
	case a.Raw != "" || a.Status >= 300:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(max(a.Status, http.StatusOK))
		_, _ = io.WriteString(w, strings.ReplaceAll(a.Raw, "KEY", r.Header.Get("Authorization"))) // the client may be gone
	default:
		reply(w, q, a)
	}
}

// reply is a proper one, with the command and the usage of the answer.
func reply(w http.ResponseWriter, q question, a answer) {
	message := map[string]any{"role": "assistant", "content": strings.Repeat("word ", a.Pad/5)}
	finish := "stop"
	if len(q.Tools) > 0 && len(q.Tools[0].Function.Parameters.Required) > 0 {
		tool := q.Tools[0].Function
		arguments, _ := json.Marshal(map[string]string{tool.Parameters.Required[0]: a.Command}) // strings only
		message["tool_calls"] = []any{map[string]any{
			"id": fmt.Sprintf("call_%d", len(q.Messages)), "type": "function",
			"function": map[string]any{"name": tool.Name, "arguments": string(arguments)},
		}}
		finish = "tool_calls"
	}
	body := map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": time.Now().Unix(), "model": q.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": message}},
	}
	if a.Usage != "" {
		body["usage"] = json.RawMessage(a.Usage)
	}
	data, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(data)
}
