// Package fakeprovider plays an [agent.Model], in practice a script, over HTTP: as
// OpenAI's chat completions and responses and as Anthropic's messages, streamed
// or whole. Agents that bring their own client talk to it as to a provider.
//
// A script says "run this command"; each agent has its own tool for that. The
// reply calls the shell tool that the request declares, with that tool's
// arguments. When the play submits, an agent that knows no such marker gets a
// closing text instead, after which agents end. A request that declares no shell
// tool is a side call (a title, a summary): it gets a short text and is no step
// of the play. Raw replies go out as they are, and errors of the play become
// the provider's own. An agent may run the calls of one reply at the same time, so
// that commands of one step (runs) must not need an order.
//
// Nothing is kept between requests: which step comes next follows from the
// conversation that the request holds.
package fakeprovider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// maxBody is the longest request that is read.
const maxBody = 64 << 20

// Handler serves POST /v1/chat/completions, /v1/responses, /v1/messages and
// /v1/messages/count_tokens, and GET /v1/models. Each request opens the model
// anew. Keys are not looked at.
func Handler(open func() (agent.Model, error)) http.Handler {
	s := &stage{open: open}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.serve(chatAPI()))
	mux.HandleFunc("POST /v1/responses", s.serve(responsesAPI()))
	mux.HandleFunc("POST /v1/messages", s.serve(messagesAPI()))
	mux.HandleFunc("POST /v1/messages/count_tokens", s.count)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, chatAPI(), failure{status: agent.StatusNotFound, text: fmt.Sprintf("Unknown request: %s %s", r.Method, r.URL.Path)})
	})
	return mux
}

// api is one of the provider's three interfaces.
type api struct {
	decode func(body []byte) (request, error)
	whole  func(a answer) any
	stream func(s *stream, a answer)
	fail   func(f failure) any
}

// request is what the three interfaces have in common.
type request struct {
	model   string
	stream  bool
	usage   bool // chat: the stream ends with a chunk of usage
	history []agent.Message
	tools   []tool
}

// answer is a reply in the terms of the client that asked.
type answer struct {
	id      string // unique for each request, the same for the same one
	model   string // as asked for
	created int64
	usage   bool
	text    string
	calls   []call
	finish  string // in the words of chat completions
	tokens  solve.Usage
}

// stage plays the model.
type stage struct{ open func() (agent.Model, error) }

func (s *stage) serve(a api) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, req, err := read(w, r, a)
		if err != nil {
			refuse(w, a, failure{status: agent.StatusBadRequest, text: err.Error()})
			return
		}
		reply, err := s.ask(r.Context(), req)
		switch {
		case r.Context().Err() != nil:
			return // nobody listens
		case err != nil:
			refuse(w, a, failed(err))
			return
		}
		sum := sha256.Sum256(body)
		out := req.answer(reply)
		out.id, out.created = hex.EncodeToString(sum[:12]), time.Now().Unix()
		if !req.stream {
			writeJSON(w, http.StatusOK, a.whole(out))
			return
		}
		a.stream(newStream(w), out)
	}
}

func read(w http.ResponseWriter, r *http.Request, a api) ([]byte, request, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, request{}, fmt.Errorf("read request: %w", err)
	}
	req, err := a.decode(body)
	if err != nil {
		return nil, request{}, err
	}
	if len(req.history) == 0 {
		return nil, request{}, errors.New("the conversation is empty")
	}
	return body, req, nil
}

// ask gets the next reply of the play, or answers a side call.
func (s *stage) ask(ctx context.Context, req request) (agent.Reply, error) {
	m, err := s.open()
	if err != nil {
		return agent.Reply{}, fmt.Errorf("open model: %w", err)
	}
	client := req.client()
	history := settle(req.history, client)
	switch moder, ok := m.(agent.ModeSetter); {
	case client == sideClient:
		return aside(history), nil
	case client == textClient && ok:
		m = moder.InMode(agent.ModeText)
	case ok:
		m = moder.InMode(agent.ModeTools)
	}
	reply, err := m.Query(ctx, history)
	if err != nil {
		return agent.Reply{}, fmt.Errorf("play: %w", err)
	}
	return reply, nil
}

// aside answers a request that is no step of the play.
func aside(history []agent.Message) agent.Reply {
	const text = "Work on the task"
	return agent.Reply{
		Message:      agent.Message{Role: agent.RoleAssistant, Content: text},
		FinishReason: "stop",
		Usage:        solve.Usage{Calls: 1, Input: estimate(history), Output: int64(len(text)+3) / 4},
	}
}

// answer puts a reply into the client's terms.
func (r request) answer(reply agent.Reply) answer {
	out := answer{model: r.model, usage: r.usage, text: reply.Message.Content, finish: reply.FinishReason, tokens: reply.Usage}
	if out.model == "" {
		out.model = "played"
	}
	client := r.client()
	shell, _ := r.shell()
	for _, c := range reply.Message.ToolCalls {
		command, native := commandOf(c)
		switch {
		case !native || client == miniClient:
			out.calls = append(out.calls, call{kind: kindFunction, id: c.ID, name: c.Name, arguments: c.Arguments})
		case !submits(command):
			out.calls = append(out.calls, shell.call(c.ID, command, out.text))
		case r.submitter() != "":
			out.calls = append(out.calls, call{kind: kindFunction, id: c.ID, name: r.submitter(), arguments: "{}"})
		}
	}
	if len(reply.Message.ToolCalls) > 0 && len(out.calls) == 0 { // it submits: say so, and call nothing
		out.finish = "stop"
		if out.text == "" {
			out.text = "The work is done."
		}
	}
	return out
}

// count is the token count of a conversation that Anthropic's clients ask for.
func (s *stage) count(w http.ResponseWriter, r *http.Request) {
	a := messagesAPI()
	_, req, err := read(w, r, a)
	if err != nil {
		refuse(w, a, failure{status: agent.StatusBadRequest, text: err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]int64{"input_tokens": estimate(settle(req.history, req.client()))})
}

// models lists the one model, in the form of the provider that the client speaks to.
func (s *stage) models(w http.ResponseWriter, r *http.Request) {
	m, err := s.open()
	if err != nil {
		refuse(w, chatAPI(), failed(fmt.Errorf("open model: %w", err)))
		return
	}
	if r.Header.Get("Anthropic-Version") != "" {
		writeJSON(w, http.StatusOK, map[string]any{
			"data":     []any{map[string]any{"type": "model", "id": m.Name(), "display_name": m.Name(), "created_at": "2026-01-01T00:00:00Z"}},
			"has_more": false, "first_id": m.Name(), "last_id": m.Name(),
		})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "list",
		"data":   []any{map[string]any{"id": m.Name(), "object": "model", "created": 1767225600, "owned_by": "played"}},
	})
}
