package presets

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
)

// Exit statuses of runs whose model failed, as package model names them.
const (
	statusConnection = "APIConnectionError"
	statusContext    = "ContextWindowExceededError"
)

// statusOf is the exit status for an HTTP status.
func statusOf(code int) string {
	switch code {
	case http.StatusUnauthorized:
		return "AuthenticationError"
	case http.StatusPaymentRequired, http.StatusForbidden:
		return "PermissionDeniedError"
	case http.StatusNotFound:
		return "NotFoundError"
	case http.StatusRequestTimeout, http.StatusConflict:
		return "Timeout"
	case http.StatusRequestEntityTooLarge:
		return statusContext
	case http.StatusUnprocessableEntity:
		return "UnprocessableEntityError"
	case http.StatusTooManyRequests:
		return "RateLimitError"
	case http.StatusInternalServerError:
		return "InternalServerError"
	}
	if code > http.StatusInternalServerError {
		return "ServiceUnavailableError"
	}
	return "BadRequestError"
}

// failed is the end of an agent that gave up.
func failed(who, status, why string) command.Outcome {
	reason := fmt.Sprintf("%s gave up: %s", who, line(why))
	return command.Outcome{Exit: status, Reason: reason, Err: errors.New(reason)}
}

// silent is the end of an agent that did not say how it ended. What it last wrote on
// its standard error is most of what is known.
func silent(ctx context.Context, m agent.Machine, e command.End, who string) command.Outcome {
	reason := fmt.Sprintf("%s ended without a result (exit status %d)", who, e.ExitCode)
	ran, err := m.Exec(ctx, agent.Program{Argv: []string{"tail", "-c", "2000", errorsFile}, Timeout: readTime}, 4000)
	if err == nil && ran.ExitCode == 0 {
		lines := strings.Split(strings.TrimSpace(string(ran.Stdout)), "\n")
		if last := line(lines[len(lines)-1]); last != "" {
			reason += ": " + last
		}
	}
	return command.Outcome{Exit: agent.ExitProgram, Reason: reason, Err: errors.New(reason)}
}

// line makes foreign text fit for people: one line, short.
func line(text string) string {
	const limit = 300
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(text) <= limit {
		return text
	}
	n := limit
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
