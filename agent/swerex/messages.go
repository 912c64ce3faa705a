package swerex

import "strings"

// The requests and answers, with the original's names. Fields without which a request
// means nothing are pointers.
type (
	alive struct {
		Alive   bool   `json:"is_alive"`
		Message string `json:"message"`
	}
	createSession struct {
		Session        string   `json:"session"`
		SessionType    string   `json:"session_type"`
		StartupSource  []string `json:"startup_source"`
		StartupTimeout float64  `json:"startup_timeout"`
	}
	sessionOpened struct {
		Output      string `json:"output"`
		SessionType string `json:"session_type"`
	}
	closeSession struct {
		Session     string `json:"session"`
		SessionType string `json:"session_type"`
	}
	sessionClosed struct {
		SessionType string `json:"session_type"`
	}
	bashAction struct {
		Command     *string  `json:"command"`
		Session     string   `json:"session"`
		Timeout     *float64 `json:"timeout"`
		Interactive bool     `json:"is_interactive_command"`
		Quit        bool     `json:"is_interactive_quit"`
		Check       string   `json:"check"`
		ErrorMsg    string   `json:"error_msg"`
		Expect      []string `json:"expect"`
	}
	interruptAction struct {
		Session string  `json:"session"`
		Timeout float64 `json:"timeout"`
		Retries int     `json:"n_retry"`
	}
	observation struct {
		Output        string `json:"output"`
		ExitCode      *int   `json:"exit_code"`
		FailureReason string `json:"failure_reason"`
		ExpectString  string `json:"expect_string"`
		SessionType   string `json:"session_type"`
	}
	command struct {
		Command  any               `json:"command"` // a string, or a list of strings
		Timeout  *float64          `json:"timeout"`
		Shell    bool              `json:"shell"`
		Check    bool              `json:"check"`
		ErrorMsg string            `json:"error_msg"`
		Env      map[string]string `json:"env"`
		Dir      *string           `json:"cwd"`
		Merge    bool              `json:"merge_output_streams"`
	}
	executed struct {
		Stdout   string `json:"stdout"`
		Stderr   string `json:"stderr"`
		ExitCode int    `json:"exit_code"`
	}
	readFile struct {
		Path     *string `json:"path"`
		Encoding *string `json:"encoding"`
		Errors   *string `json:"errors"`
	}
	fileRead struct {
		Content string `json:"content"`
	}
	writeFile struct {
		Content *string `json:"content"`
		Path    *string `json:"path"`
	}
	nothing struct{}
)

// What a client wants to know of an exit code.
const (
	checkRaise  = "raise"
	checkSilent = "silent"
	checkIgnore = "ignore"
)

// prompt is what the original waits for when it waits for a command's end.
const prompt = "SHELLPS1PREFIX"

const required = "Field required"

func (c createSession) check() error { return onlyBash(c.SessionType) }

func (c closeSession) check() error { return onlyBash(c.SessionType) }

func onlyBash(kind string) error {
	if kind != "bash" {
		return invalid("session_type", "Input should be 'bash'")
	}
	return nil
}

func (a bashAction) check() error {
	switch {
	case a.Command == nil:
		return invalid("command", required)
	case a.Check != checkRaise && a.Check != checkSilent && a.Check != checkIgnore:
		return invalid("check", "Input should be 'silent', 'raise' or 'ignore'")
	case a.Quit || a.Interactive || len(a.Expect) > 0:
		return raise(classAny, "this endpoint runs no interactive commands and expects no texts: SWE-agent needs neither")
	}
	return noZeros(*a.Command)
}

func (a interruptAction) check() error { return nil }

func (c command) check() error {
	texts, err := c.argv()
	if err != nil {
		return err
	}
	if c.Dir != nil {
		texts = append(texts, *c.Dir)
	}
	for k, v := range c.Env {
		if k == "" || strings.Contains(k, "=") {
			return raise(classValue, "illegal environment variable name")
		}
		texts = append(texts, k, v)
	}
	return noZeros(texts...)
}

// argv is the command as the list that it is or stands for.
func (c command) argv() ([]string, error) {
	var out []string
	switch v := c.Command.(type) {
	case string:
		out = []string{v}
	case []any:
		for _, e := range v {
			text, ok := e.(string)
			if !ok {
				return nil, invalid("command", "Input should be a valid string or list of strings")
			}
			out = append(out, text)
		}
	case nil:
		return nil, invalid("command", required)
	default:
		return nil, invalid("command", "Input should be a valid string or list of strings")
	}
	if len(out) == 0 {
		return nil, raise(classIndex, "list index out of range")
	}
	if c.Shell {
		out = append([]string{"/bin/sh", "-c"}, out...)
	}
	return out, nil
}

func (r readFile) check() error {
	if r.Path == nil {
		return invalid("path", required)
	}
	return noZeros(*r.Path)
}

func (w writeFile) check() error {
	switch {
	case w.Path == nil:
		return invalid("path", required)
	case w.Content == nil:
		return invalid("content", required)
	}
	return noZeros(*w.Path)
}

// noZeros refuses what no program can be given.
func noZeros(texts ...string) error {
	for _, t := range texts {
		if strings.Contains(t, "\x00") {
			return raise(classValue, "embedded null byte")
		}
	}
	return nil
}
