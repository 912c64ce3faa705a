package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// provider is the models' server: OpenAI's chat completions. It answers by what
// it is asked, so a question that is repeated gets the same answer, and keeps
// every question: what the program asked twice was paid twice. A command whose
// outcome a crash left open is given again, as a careful model would do.
type provider struct {
	pace time.Duration // before each answer

	mu    sync.Mutex
	calls []call
}

// call is one question. step is the number of messages in it.
type call struct {
	model string
	step  int
	at    time.Time
}

// plays are the commands of each model, in order: one that fixes the bug and
// touches nothing else, and one that does too much.
func plays() map[string][]string {
	const submit = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
	return map[string][]string{
		"careful":   {"cat calc.sh", `sed -i 's/$2 - $3/$2 + $3/' calc.sh`, submit},
		"sprawling": {`sed -i 's/$2 - $3/$2 + $3/' calc.sh; printf '\nAdding adds.\n' >> README.md`, submit},
	}
}

// models are the plays' names, in the order of the plan.
func models() []string { return []string{"careful", "sprawling"} }

// ServeHTTP answers one question.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model    string
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
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Tools) != 1 || len(q.Tools[0].Function.Parameters.Required) != 1 {
		http.Error(w, "not a question with one tool", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.calls = append(p.calls, call{q.Model, len(q.Messages), time.Now()})
	p.mu.Unlock()
	done := 0
	for _, m := range q.Messages {
		switch {
		case m.Role == "assistant":
			done++
		case m.Role == "tool" && bytes.Contains(m.Content, []byte(agent.InterruptedText)):
			done-- // each turn has one command
		}
	}
	play := plays()[q.Model]
	if done >= len(play) {
		http.Error(w, fmt.Sprintf("model %s has no answer %d", q.Model, done+1), http.StatusBadRequest)
		return
	}
	pause(r.Context(), p.pace)
	tool := q.Tools[0].Function
	arguments, _ := json.Marshal(map[string]string{tool.Parameters.Required[0]: play[done]}) // strings only
	w.Header().Set("Content-Type", "application/json")
	err := json.NewEncoder(w).Encode(map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", done), "object": "chat.completion", "created": time.Now().Unix(), "model": q.Model,
		"choices": []any{map[string]any{"index": 0, "finish_reason": "tool_calls", "message": map[string]any{
			"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
				"id": fmt.Sprintf("call_%d", done), "type": "function",
				"function": map[string]any{"name": tool.Name, "arguments": string(arguments)},
			}},
		}}},
		"usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
	})
	if err != nil {
		return // the program was killed meanwhile
	}
}

// asked is how often any model was asked.
func (p *provider) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.calls)
}

// lines are the calls as the checker reads them. All belong to one solve, its
// runs in the order of the models.
func (p *provider) lines(solve string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []byte
	for _, c := range p.calls {
		for n, name := range models() {
			if name != c.model {
				continue
			}
			line, err := json.Marshal(map[string]any{"run": fmt.Sprintf("%s/%d", solve, n+1), "step": c.step, "time": c.at})
			if err != nil {
				return nil, fmt.Errorf("encode model call: %w", err)
			}
			out = append(append(out, line...), '\n')
		}
	}
	return out, nil
}
