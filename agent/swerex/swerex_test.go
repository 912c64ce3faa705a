package swerex_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/swerex"
	"github.com/yudai-dev/yudai/sandbox"
)

// object is a JSON object.
type object = map[string]any

// ask makes a request and returns its status and body.
func ask(t *testing.T, method, url string, body io.Reader, header map[string]string) (int, object) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out object
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp.StatusCode, out
}

func key() map[string]string { return map[string]string{"X-API-Key": token} }

// post makes a good request and returns the answer, or the class and message of the exception.
func post(t *testing.T, url string, body any) (object, string, string) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	status, out := ask(t, http.MethodPost, url, bytes.NewReader(data), key())
	if status == http.StatusOK {
		return out, "", ""
	}
	e, ok := out["swerexception"].(object)
	if status != 511 || !ok {
		t.Fatalf("%s: %d %v", url, status, out)
	}
	return nil, e["class_path"].(string), e["message"].(string)
}

// inShell runs a command in the default session.
func inShell(t *testing.T, url, command string, more object) (object, string, string) {
	t.Helper()
	a := object{"action_type": "bash", "command": command, "timeout": 20, "check": "silent"}
	for k, v := range more {
		a[k] = v
	}
	return post(t, url+"/run_in_session", a)
}

func TestRefusesStrangers(t *testing.T) {
	t.Parallel()
	_, url := serve(t, agenttest.Machine(t))
	for _, path := range []string{"/is_alive", "/execute", "/upload", "/close", "/none"} {
		for _, value := range []string{"", "wrong", token + "x"} {
			if got, out := ask(t, http.MethodGet, url+path, nil, map[string]string{"X-API-Key": value}); got != 401 || out["detail"] == nil {
				t.Errorf("%s with %q: %d %v", path, value, got, out)
			}
		}
	}
	if got, out := ask(t, http.MethodGet, url+"/is_alive", nil, key()); got != 200 || out["is_alive"] != true {
		t.Error(got, out)
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	s, url := serve(t, agenttest.Machine(t))
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{"/execute", "no json", 422},
		{"/execute", `{"command": 5}`, 422},
		{"/execute", `{"command": "x", "timeout": "soon"}`, 422},
		{"/execute", `{"command": "x", "shell": false}`, 511},
		{"/execute", `{"command": "a\u0000b", "shell": true}`, 511},
		{"/run_in_session", `{"action_type": "bash", "command": "x"}`, 511},
		{"/run_in_session", `{"action_type": "bash_interrupt"}`, 511},
		{"/upload", `{}`, 422},
		{"/write_file", `{"path": "/x", "content": "` + strings.Repeat("x", 65<<20) + `"}`, 422},
	} {
		if got, out := ask(t, http.MethodPost, url+c.path, strings.NewReader(c.body), key()); got != c.want {
			t.Errorf("%s %.60s: %d %v, want %d", c.path, c.body, got, out, c.want)
		}
	}
	if err := s.Failure(); err != nil {
		t.Errorf("a bad request is taken for a failure of the sandbox: %v", err)
	}
}

// A client that goes away does not end the work.
func TestClientGone(t *testing.T) {
	t.Parallel()
	m := agenttest.Machine(t)
	_, url := serve(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/execute", strings.NewReader(`{"command": "touch begun; sleep 0.5; touch ended", "shell": true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-API-Key", token)
	gone := make(chan error)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		gone <- err
	}()
	await(t, m.Host("/workspace/repo/begun"))
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	await(t, m.Host("/workspace/repo/ended"))
}

// await waits for a file.
func await(t *testing.T, path string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s never came", path)
		}
	}
}

// Close ends what runs and everything that was started in shells.
func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	m := agenttest.Machine(t)
	s, url := serve(t, m)
	post(t, url+"/create_session", object{})
	inShell(t, url, "setsid sleep 300 >/dev/null 2>&1 & touch begun", nil)
	done := make(chan string)
	go func() {
		_, class, _ := inShell(t, url, "touch running; sleep 300", object{"timeout": nil})
		done <- class
	}()
	await(t, m.Host("/workspace/repo/running"))
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if class := <-done; class != "swerex.exceptions.SwerexException" {
		t.Error(class)
	}
	if on, err := m.Launched(t.Context()); on || err != nil {
		t.Error("something still runs", err)
	}
	if status, _ := ask(t, http.MethodGet, url+"/is_alive", nil, key()); status != 503 {
		t.Error(status)
	}
	if err := s.Failure(); err != nil {
		t.Errorf("the end is taken for a fault: %v", err)
	}
}

// broken is a sandbox that is gone.
type broken struct{ agenttest.Sandbox }

func (broken) Exec(context.Context, sandbox.Command) (sandbox.Result, error) {
	return sandbox.Result{}, errors.New("the sandbox is gone")
}
func (broken) Halt(context.Context) error { return errors.New("the sandbox is gone") }
func (broken) Get(context.Context, string) (io.ReadCloser, error) {
	return nil, errors.New("the sandbox is gone")
}
func (broken) Put(context.Context, string, io.Reader, fs.FileMode) error {
	return errors.New("the sandbox is gone")
}

func TestSandboxFails(t *testing.T) {
	t.Parallel()
	s, url := serve(t, broken{})
	for path, body := range map[string]object{
		"/execute": {"command": "x", "shell": true}, "/create_session": {}, "/read_file": {"path": "/x"}, "/write_file": {"path": "/x", "content": ""},
	} {
		if _, class, message := post(t, url+path, body); class != "swerex.exceptions.SwerexException" || !strings.Contains(message, "the sandbox is gone") {
			t.Errorf("%s: %s %s", path, class, message)
		}
	}
	if s.Failure() == nil {
		t.Error("the fault is forgotten")
	}
	if _, out := ask(t, http.MethodGet, url+"/is_alive", nil, key()); out["is_alive"] != false {
		t.Error(out)
	}
	if _, class, _ := inShell(t, url, "x", nil); class != "swerex.exceptions.SessionDoesNotExistError" {
		t.Errorf("a session that did not begin is there: %s", class)
	}
}

// silent is a sandbox in which nothing ever happens.
type silent struct{ agenttest.Sandbox }

func (silent) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	if c.Stdin != nil {
		if _, err := io.Copy(io.Discard, c.Stdin); err != nil {
			return sandbox.Result{}, fmt.Errorf("read: %w", err)
		}
	}
	if c.Stderr == nil {
		return sandbox.Result{}, nil
	}
	_, err := io.WriteString(c.Stderr, "done 0\n")
	return sandbox.Result{}, err
}
func (silent) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("x")), nil
}
func (silent) Put(context.Context, string, io.Reader, fs.FileMode) error { return nil }
func (silent) Launch(context.Context, sandbox.Command) error             { return nil }
func (silent) Halt(context.Context) error                                { return nil }

// FuzzRequest feeds the endpoint anything: each answer of a route is JSON and none of it our fault.
func FuzzRequest(f *testing.F) {
	f.Add("/execute", "", `{"command": "a", "shell": true, "env": {"A": "b"}, "cwd": "/x", "timeout": 1e300, "check": true}`)
	f.Add("/run_in_session", "", `{"action_type": "bash", "command": "x", "expect": ["("], "is_interactive_command": true}`)
	f.Add("/run_in_session", "", `{"action_type": "bash_interrupt", "n_retry": -5, "timeout": -1}`)
	f.Add("/create_session", "", `{"startup_source": ["/root/.bashrc"], "startup_timeout": 0}`)
	f.Add("/read_file", "", `{"path": "x", "encoding": "utf-8", "errors": "backslashreplace"}`)
	f.Add("/upload", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\n\r\nPK\r\n--b\r\nContent-Disposition: form-data; name=\"target_path\"\r\n\r\n/root/tools/x\r\n--b\r\nContent-Disposition: form-data; name=\"unzip\"\r\n\r\ntrue\r\n--b--\r\n")
	s := swerex.New(silent{}, token)
	f.Cleanup(func() { s.Close(context.Background()) })
	s.ServeHTTP(&answer{}, request("/create_session", "", "{}"))
	f.Fuzz(func(t *testing.T, path, kind, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#% \x7f") || strings.ContainsFunc(path, func(r rune) bool { return r < 32 }) {
			t.Skip()
		}
		w := &answer{}
		s.ServeHTTP(w, request(path, kind, body))
		if served := w.status == 200 || w.status == 422 || w.status == 511; served && !json.Valid(w.body.Bytes()) || w.status >= 500 && !served {
			t.Errorf("%d: %s", w.status, w.body.Bytes())
		}
	})
}

func request(path, kind, body string) *http.Request {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("X-API-Key", token)
	r.Header.Set("Content-Type", kind)
	return r
}

// answer is a response writer.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
