package swerex

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// The requests and answers, with the original's names.
type (
	alive struct {
		Alive   bool   `json:"is_alive"`
		Message string `json:"message"`
	}
	createSession struct {
		Session        string   `json:"session"`
		StartupSource  []string `json:"startup_source"`
		StartupTimeout *float64 `json:"startup_timeout"`
	}
	sessionOpened struct {
		Output      string `json:"output"`
		SessionType string `json:"session_type"`
	}
	closeSession struct {
		Session string `json:"session"`
	}
	sessionClosed struct {
		SessionType string `json:"session_type"`
	}
	// action is a command for a shell (type bash) or the interruption of one (bash_interrupt).
	action struct {
		Type        string   `json:"action_type"`
		Session     string   `json:"session"`
		Timeout     *float64 `json:"timeout"`
		Command     string   `json:"command"`
		Check       string   `json:"check"`
		ErrorMsg    string   `json:"error_msg"`
		Interactive bool     `json:"is_interactive_command"`
		Quit        bool     `json:"is_interactive_quit"`
		Expect      []string `json:"expect"`
		Retries     int      `json:"n_retry"` // of an interruption
	}
	observation struct {
		Output        string `json:"output"`
		ExitCode      *int   `json:"exit_code"`
		FailureReason string `json:"failure_reason"`
		ExpectString  string `json:"expect_string"`
		SessionType   string `json:"session_type"`
	}
	command struct {
		Command  string            `json:"command"`
		Timeout  *float64          `json:"timeout"`
		Shell    bool              `json:"shell"`
		Check    bool              `json:"check"`
		ErrorMsg string            `json:"error_msg"`
		Env      map[string]string `json:"env"`
		Dir      string            `json:"cwd"`
	}
	executed struct {
		Stdout   string `json:"stdout"`
		Stderr   string `json:"stderr"`
		ExitCode int    `json:"exit_code"`
	}
	readFile struct {
		Path   string `json:"path"`
		Errors string `json:"errors"`
	}
	fileRead struct {
		Content string `json:"content"`
	}
	writeFile struct {
		Content string `json:"content"`
		Path    string `json:"path"`
	}
	nothing struct{}
)

// What a client wants to know of an exit code; everything else just tells it.
const (
	checkRaise  = "raise"
	checkIgnore = "ignore"
)

const (
	bash = "bash" // the only type of session
	// prompt is what the original waits for when it waits for a command's end.
	prompt = "SHELLPS1PREFIX"
)

// exception is an error that the client raises again under the name of its class.
type exception struct {
	class   string
	message string
	extra   map[string]any
}

func (e *exception) Error() string { return e.message }

// The classes that SWE-agent tells apart, and those that are kinds of classAny.
const (
	classAny       = "swerex.exceptions.SwerexException"
	classTimeout   = "swerex.exceptions.CommandTimeoutError"
	classNonZero   = "swerex.exceptions.NonZeroExitCodeError"
	classSyntax    = "swerex.exceptions.BashIncorrectSyntaxError"
	classExists    = "swerex.exceptions.SessionExistsError"
	classNoSession = "swerex.exceptions.SessionDoesNotExistError"
	classNotFound  = "builtins.FileNotFoundError"
	classDenied    = "builtins.PermissionError"
)

func raise(class, format string, args ...any) *exception {
	return &exception{class: class, message: fmt.Sprintf(format, args...), extra: map[string]any{}}
}

// nonZero is the exception for a failed command whose client wants one; output is what it printed.
func nonZero(first, command string, code int, output string) error {
	e := raise(classNonZero, "Command %q failed with exit code %d. Here is the output:\n%s", command, code, output)
	if first != "" {
		e.message = first + ": " + e.message
	}
	return e
}

// route serves one path: it decodes the request and answers with what do returns. What the
// request has beside the fields of In is passed over.
func route[In, Out any](s *Server, do func(In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			refuse(w, http.StatusUnprocessableEntity, err.Error())
			return
		}
		out, err := do(in)
		s.answer(w, out, err)
	}
}

// answer sends an answer or the exception that an error stands for. An error that is no
// exception is a failure of the sandbox.
func (s *Server) answer(w http.ResponseWriter, out any, err error) {
	if err == nil {
		send(w, http.StatusOK, out)
		return
	}
	e, ok := errors.AsType[*exception](err)
	if !ok {
		s.failed(err)
		e = raise(classAny, "%v", err)
	}
	send(w, http.StatusNetworkAuthenticationRequired, map[string]any{"swerexception": map[string]any{
		"message": e.message, "class_path": e.class, "traceback": "", "extra_info": e.extra,
	}})
}

// refuse answers a request that is not served.
func refuse(w http.ResponseWriter, status int, why string) {
	send(w, status, map[string]string{"detail": why})
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
