package e2bsim_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
	"github.com/yudai-dev/yudai/test/e2bsim"
)

// answer is what the control plane said.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	text   string
}

// call asks the control plane; a nil body is none.
func call(t *testing.T, s *e2bsim.Server, method, path string, body any) answer {
	t.Helper()
	a, err := tryCall(t, s, method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func tryCall(t *testing.T, s *e2bsim.Server, method, path string, body any) (answer, error) {
	t.Helper()
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", e2bsim.Key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{t, resp.StatusCode, resp.Header, string(text)}, err
}

// want checks the status, and that an error has the body of one.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.text)
	}
	if status >= 400 {
		var body struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal([]byte(a.text), &body); err != nil || body.Code != status || body.Message == "" {
			a.t.Errorf("the body of an error: %s", a.text)
		}
	}
	return a
}

// as decodes the body.
func as[T any](a answer) T {
	a.t.Helper()
	var out T
	if err := json.Unmarshal([]byte(a.text), &out); err != nil {
		a.t.Fatalf("%v: %s", err, a.text)
	}
	return out
}

// made is a sandbox as making it answers.
type made struct {
	ID    string `json:"sandboxID"`
	Token string `json:"envdAccessToken"`
}

func create(t *testing.T, s *e2bsim.Server, more map[string]any) made {
	t.Helper()
	body := map[string]any{"templateID": "base", "timeout": 600}
	for k, v := range more {
		body[k] = v
	}
	return as[made](call(t, s, "POST", "/v2/sandboxes", body).want(http.StatusCreated))
}

// way adds the headers that lead into a sandbox.
type way struct {
	next http.RoundTripper
	box  made
	user string
}

func (w way) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("E2b-Sandbox-Id", w.box.ID)
	r.Header.Set("E2b-Sandbox-Port", "49983")
	r.Header.Set("X-Access-Token", w.box.Token)
	if w.user != "" {
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(w.user+":")))
	}
	return w.next.RoundTrip(r)
}

func processes(s *e2bsim.Server, box made, user string) envd.ProcessClient {
	return envd.NewProcessClient(&http.Client{Transport: way{http.DefaultTransport, box, user}}, s.SandboxURL(), connect.WithAcceptCompression("gzip", nil, nil))
}

// begin starts a shell text and returns its stream, whose first event is read, and its pid.
func begin(t *testing.T, ctx context.Context, s *e2bsim.Server, box made, text string) (*connect.ServerStreamForClient[envd.StartResponse], uint32) {
	t.Helper()
	off := false
	r := connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "/bin/bash", Args: []string{"-c", text}}, Stdin: &off})
	r.Header().Set("Keepalive-Ping-Interval", "50")
	stream, err := processes(s, box, "").Start(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stream.Close() })
	if !stream.Receive() {
		t.Fatalf("no first event: %v", stream.Err())
	}
	return stream, stream.Msg().GetEvent().GetStart().GetPid()
}

// run runs a shell text to its end.
func run(t *testing.T, s *e2bsim.Server, box made, text string) (out string, end *envd.ProcessEvent_EndEvent, err error) {
	t.Helper()
	off := false
	r := connect.NewRequest(&envd.StartRequest{Process: &envd.ProcessConfig{Cmd: "/bin/bash", Args: []string{"-c", text}}, Stdin: &off})
	stream, err := processes(s, box, "").Start(t.Context(), r)
	if err != nil {
		return "", nil, err
	}
	defer stream.Close()
	for stream.Receive() {
		e := stream.Msg().GetEvent()
		out += string(e.GetData().GetStdout()) + string(e.GetData().GetStderr())
		if e.GetEnd() != nil {
			end = e.GetEnd()
		}
	}
	return out, end, stream.Err()
}

// say runs a shell text that must succeed and returns what it printed.
func say(t *testing.T, s *e2bsim.Server, box made, text string) string {
	t.Helper()
	out, end, err := run(t, s, box, text)
	if err != nil || end == nil || end.GetExitCode() != 0 {
		t.Fatalf("%s: %v, %v: %s", text, end, err, out)
	}
	return strings.TrimSpace(out)
}

// file asks for or sends a file.
func file(t *testing.T, s *e2bsim.Server, box made, method, path string, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.SandboxURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/octet-stream")
	}
	resp, err := way{http.DefaultTransport, box, ""}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{t, resp.StatusCode, resp.Header, string(text)}
}

// await asks until the answer is as wanted.
func await(t *testing.T, what string, good func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(20 * time.Second); !good(); {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
