package miniswe_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// run is what both trajectory files must say alike. What may differ is left out here,
// and listed in the decision on mini-swe-agent.
type run struct {
	Exit, Submission string
	Calls            int
	Roles            []string
	Commands         []string
	Said             []string
	Observed         []observation
}

type observation struct {
	Returncode       int
	Output           *string
	Head, Tail       string
	Elided           *int
	Warned, Excepted bool
	ExceptionType    string
}

// message is one of a trajectory of the chat API.
type message struct {
	Role      string  `json:"role"`
	Content   content `json:"content"`
	ToolCalls []any   `json:"tool_calls"`
	Extra     struct {
		Actions []struct {
			Command string `json:"command"`
		} `json:"actions"`
		Returncode    *int    `json:"returncode"`
		ExceptionType string  `json:"exception_type"`
		Interrupt     string  `json:"interrupt_type"`
		Timestamp     float64 `json:"timestamp"`
	} `json:"extra"`
}

func decode(t *testing.T, data []byte) run {
	t.Helper()
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	if f.Format != "mini-swe-agent-1.1" {
		t.Errorf("format %q", f.Format)
	}
	return summary(t, f)
}

// file is what is read of a trajectory file.
type file struct {
	Info struct {
		Exit       string `json:"exit_status"`
		Submission string `json:"submission"`
		Stats      struct {
			Calls int `json:"api_calls"`
		} `json:"model_stats"`
	} `json:"info"`
	Messages []message `json:"messages"`
	Format   string    `json:"trajectory_format"`
}

// decodeLines is the same of a transcript, where the exit is for the runner to write.
func decodeLines(t *testing.T, data, lines []byte) run {
	t.Helper()
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	exit := f.Messages[len(f.Messages)-1]
	f.Messages = nil
	for line := range bytes.Lines(lines) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		f.Messages = append(f.Messages, m)
	}
	f.Messages = append(f.Messages, exit)
	return summary(t, f)
}

func summary(t *testing.T, f file) run {
	t.Helper()
	r := run{Exit: f.Info.Exit, Submission: lines(f.Info.Submission), Calls: f.Info.Stats.Calls}
	for _, m := range settled(f.Messages, f.Info.Exit) {
		role := m.Role
		if m.Extra.Interrupt != "" {
			role += " " + m.Extra.Interrupt
		}
		r.Roles = append(r.Roles, role)
		switch {
		case m.Role == "assistant":
			r.Said = append(r.Said, string(m.Content))
			for _, a := range m.Extra.Actions {
				r.Commands = append(r.Commands, a.Command)
			}
			if len(m.ToolCalls) != len(m.Extra.Actions) {
				t.Errorf("%d calls, %d actions", len(m.ToolCalls), len(m.Extra.Actions))
			}
		case m.Role == "tool":
			r.Observed = append(r.Observed, m.observation(t))
		case m.Extra.Interrupt != "":
			r.Said = append(r.Said, complaint(string(m.Content)))
		}
	}
	return r
}

// settled leaves out the observations of the turn that submitted: mini's default agent
// drops them, ours keeps them, as mini's interactive agent does, because providers take
// no history with an unanswered call.
func settled(messages []message, exit string) []message {
	if exit != "Submitted" {
		return messages
	}
	at := len(messages) - 1
	for at > 0 && messages[at].Role != "assistant" {
		at--
	}
	left := slices.DeleteFunc(slices.Clone(messages[at+1:]), func(m message) bool { return m.Role == "tool" })
	return append(slices.Clone(messages[:at+1]), left...)
}

// content is a text; the parts of the Responses API, of which only the transcript has
// chat's form, are left out.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*c = content(s)
	}
	return nil
}

// observation reads what the model was shown.
func (m message) observation(t *testing.T) observation {
	t.Helper()
	var v struct {
		Returncode *int    `json:"returncode"`
		Output     *string `json:"output"`
		Head       string  `json:"output_head"`
		Tail       string  `json:"output_tail"`
		Elided     *int    `json:"elided_chars"`
		Warning    string  `json:"warning"`
		Exception  string  `json:"exception_info"`
	}
	if err := json.Unmarshal([]byte(m.Content), &v); err != nil || v.Returncode == nil || m.Extra.Returncode == nil {
		t.Fatalf("observation %q: %v", m.Content, err)
	}
	if *v.Returncode != *m.Extra.Returncode {
		t.Errorf("the model is told %d, the file %d", *v.Returncode, *m.Extra.Returncode)
	}
	if m.Extra.Timestamp < 1e9 {
		t.Errorf("timestamp %v", m.Extra.Timestamp)
	}
	o := observation{
		Returncode: status(*v.Returncode), Head: lines(v.Head), Tail: lines(v.Tail), Elided: v.Elided,
		Warned: v.Warning != "", Excepted: v.Exception != "", ExceptionType: m.Extra.ExceptionType,
	}
	if v.Output != nil {
		text := lines(*v.Output)
		o.Output = &text
	}
	return o
}

// status is the exit code as a shell says it; Python counts signals below zero.
func status(code int) int {
	if code < -1 {
		return 128 - code
	}
	return code
}

// lines is an output in which line ends and bytes that are no text look as in Python.
func lines(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return regexp.MustCompile("\uFFFD+").ReplaceAllString(s, "\uFFFD")
}

// complaint is what kind of a complaint a text is: the wording is each one's own.
func complaint(text string) string {
	if strings.Contains(text, "output token limit") {
		return "cut off"
	}
	return "not in the format"
}
