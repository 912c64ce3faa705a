package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// short is foreign text as it may stand in an answer.
func short(s string) string {
	const most = 60
	if len(s) > most {
		return solve.CutText(s, most) + "…"
	}
	return s
}

// clientError is an error as a client sees it. It is the error of a request that the gateway
// does not pass on because of what it says.
type clientError struct {
	status int
	model.Said
	after time.Duration
	again bool // trying again can help
}

// Error implements error.
func (f *clientError) Error() string { return f.Message }

// reject refuses a request because of one of its members; param is "" for all of it.
func reject(param, format string, args ...any) *clientError {
	return rejectAs(http.StatusBadRequest, param, "yudai's gateway does not pass this request on: "+fmt.Sprintf(format, args...))
}

func rejectAs(status int, param, text string) *clientError {
	return &clientError{status: status, Said: model.Said{Param: param, Message: text}}
}

// anthropicStyle says that an API speaks as Anthropic does.
func anthropicStyle(api string) bool { return api == agent.APIMessages }

// gatewayError is an error of the gateway itself.
func gatewayError(status int, code, text string) clientError {
	return clientError{status: status, Said: model.Said{Code: code, Message: text}}
}

// clientErrorOf turns what a model's call failed with into what the client sees: what the
// provider said about the request, or what happened without a word about our side.
func clientErrorOf(e *model.Error) clientError {
	f := clientError{status: e.HTTPStatus, Said: e.Said, after: e.RetryAfter()}
	text := ""
	switch {
	case e.Ours():
		return gatewayError(http.StatusUnauthorized, "provider_refused",
			"The model's provider refuses the calls of this deployment: stop. Who runs yudai is told.")
	case f.status >= 400:
		text = fmt.Sprintf("The model's provider answered HTTP %d and gave no reason.", f.status)
	case e.ExitStatus() == agent.StatusTimeout:
		f.status, text = http.StatusGatewayTimeout, "The model's provider did not answer in time."
	case e.ExitStatus() == agent.StatusConnection:
		f.status, text = http.StatusBadGateway, "The model's provider cannot be reached, or its answer broke off."
	default:
		f.status, text = http.StatusBadGateway, "The model's provider answered what its API does not document."
	}
	if f.Message == "" {
		f.Said = model.Said{Code: "upstream_error", Message: text}
	}
	return f
}

// kind is the type of an error in the words of an API.
func (f clientError) kind(api string) string {
	kinds := map[int]string{http.StatusUnauthorized: "authentication_error", http.StatusTooManyRequests: "rate_limit_error"}
	server := "server_error"
	if anthropicStyle(api) {
		server = "api_error"
		maps.Copy(kinds, map[int]string{
			http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
			http.StatusRequestEntityTooLarge: "request_too_large", http.StatusGatewayTimeout: "timeout_error",
		})
	}
	if f.status >= 500 {
		return cmp.Or(f.Type, kinds[f.status], server)
	}
	return cmp.Or(f.Type, kinds[f.status], "invalid_request_error")
}

// openAIError is an error in OpenAI's shape.
type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// body is the error as the API's documentation has it.
func (f clientError) body(api string) []byte {
	var v any = map[string]any{"error": f.openAI(api)}
	if anthropicStyle(api) {
		v = map[string]any{"type": "error", "error": map[string]string{"type": f.kind(api), "message": f.Message}}
	}
	return encoded(v)
}

func (f clientError) openAI(api string) openAIError {
	return openAIError{f.Message, f.kind(api), optional(f.Param), optional(f.Code)}
}

// event is the error in the middle of a stream that has begun; n numbers it among the
// events of responses.
func (f clientError) event(api string, n int64) []byte {
	switch api {
	case agent.APIMessages:
		return fmt.Appendf(nil, "event: error\ndata: %s\n\n", f.body(api))
	case agent.APIResponses:
		e := f.openAI(api)
		return fmt.Appendf(nil, "event: error\ndata: %s\n\n", encoded(map[string]any{
			"type": "error", "code": e.Code, "message": e.Message, "param": e.Param, "sequence_number": n, "error": e,
		}))
	}
	return fmt.Appendf(nil, "data: %s\n\n", f.body(api))
}

func encoded(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("no JSON: %v", err)) // only our own plain values come here
	}
	return data
}

// write answers with the error.
func (f clientError) write(w http.ResponseWriter, api string) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if !f.again {
		h.Set("X-Should-Retry", "false") // the official clients heed it: what can be tried again was
	}
	if f.after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(f.after/time.Second)+1))
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(append(f.body(api), '\n'))
}

// The sentences for a run that may not call its model any more, and for keys that are none.
const (
	textToken = "This is no valid run token here. An agent of yudai gets its own token and address when its run begins; " +
		"both are good for that run only."
	textOver    = "The run has ended, and its token with it: stop."
	textBudget  = "The money of this solve is used up: stop."
	textLimit   = "A limit of this run is reached, its steps or its money: stop."
	textNotOpen = "yudai has not taken this run up again yet; try again in a moment."
)

// callDenied is the answer to a call for which there is no leave.
func callDenied(err error) clientError {
	switch {
	case errors.Is(err, agent.ErrBudget):
		return gatewayError(http.StatusUnauthorized, "budget_exceeded", textBudget)
	case errors.Is(err, agent.ErrLimit):
		return gatewayError(http.StatusUnauthorized, "limit_reached", textLimit)
	case errors.Is(err, agent.ErrRunOver):
		return gatewayError(http.StatusUnauthorized, "run_over", textOver)
	}
	f := gatewayError(http.StatusServiceUnavailable, "run_not_open", textNotOpen)
	f.again, f.after = true, time.Second
	return f
}

// modelNotReady is the answer where the model is not configured, or has no key.
func modelNotReady(e *model.Error) clientError {
	const text = "yudai cannot call the model of this run: it is not configured, or has no key. Who runs yudai is told."
	if e.ExitStatus() == agent.StatusNotFound {
		return gatewayError(http.StatusNotFound, "model_not_found", text)
	}
	return gatewayError(http.StatusUnauthorized, "model_not_ready", text)
}
