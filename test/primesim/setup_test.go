package primesim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/sandbox/prime/command"
	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/primesim"
	"github.com/yudai-dev/yudai/test/require"
)

// setup starts a stub and a small client of it.
func setup(t *testing.T, o primesim.Options) *client {
	t.Helper()
	require.Machines(t, machine.Supported())
	o.Dir = t.TempDir()
	s, err := primesim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(o.Dir); len(left) > 0 {
			t.Errorf("the closed stub left %v", left)
		}
	})
	return &client{t, s, primesim.DefaultKey}
}

// client speaks to the stub as any client would.
type client struct {
	t *testing.T
	*primesim.Server
	key string
}

// dict is a JSON object.
type dict = map[string]any

// try makes one request; status 0 is a connection that was closed.
func (c *client) try(method, address, bearer, contentType string, body io.Reader) (int, []byte) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, address, body)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	r.Header.Set("Content-Type", contentType)
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r) // it would repeat what fails on a connection that was used
	if err != nil {
		return 0, nil
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, data
	}
	return answer.StatusCode, data
}

// call calls the control plane and expects a status.
func (c *client) call(want int, method, path string, body any) dict {
	c.t.Helper()
	status, answer := c.ask(method, path, body)
	if status != want {
		c.t.Fatalf("%s %s is %d, not %d: %v", method, path, status, want, answer)
	}
	return answer
}

func (c *client) ask(method, path string, body any) (int, dict) {
	c.t.Helper()
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		sent = bytes.NewReader(data)
	}
	status, data := c.try(method, c.URL()+"/api/v1/"+path, c.key, "application/json", sent)
	answer := dict{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &answer); err != nil {
			c.t.Fatalf("%s %s: %v: %s", method, path, err, data)
		}
	}
	return status, answer
}

// create makes a sandbox; more replaces parts of the usual request.
func (c *client) create(more dict) dict {
	c.t.Helper()
	status, answer := c.ask("POST", "sandbox", request(more))
	if status != http.StatusCreated && status != http.StatusOK {
		c.t.Fatalf("create is %d: %v", status, answer)
	}
	return answer
}

func request(more dict) dict {
	body := dict{"name": "test", "docker_image": primesim.DefaultImage, "vm": true}
	for k, v := range more {
		if v == nil {
			delete(body, k)
		} else {
			body[k] = v
		}
	}
	return body
}

// await waits until a sandbox has a status.
func (c *client) await(id, want string) {
	c.t.Helper()
	c.until(func() bool {
		status, errorType := c.Status(id)
		if status != want && (status == primesim.StatusError || status == primesim.StatusTerminated) {
			c.t.Fatalf("sandbox is %s (%s), not %s", status, errorType, want)
		}
		return status == want
	})
}

func (c *client) until(done func() bool) {
	c.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(20 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			c.t.Fatal("it did not come to pass")
		}
	}
}

// running makes a sandbox that runs, and a way into it.
func (c *client) running(more dict) *inside {
	c.t.Helper()
	id := c.create(more)["id"].(string)
	c.await(id, primesim.StatusRunning)
	in := &inside{c: c, id: id}
	in.auth()
	return in
}

// inside is a sandbox that runs.
type inside struct {
	c               *client
	id, base, token string
}

func (in *inside) auth() {
	in.c.t.Helper()
	a := in.c.call(http.StatusOK, "POST", "sandbox/"+in.id+"/auth", nil)
	in.base, in.token = fmt.Sprintf("%s/%s/%s", a["gateway_url"], a["user_ns"], a["job_id"]), a["token"].(string)
}

// upload writes a file and returns the status and the body of the answer.
func (in *inside) upload(path string, data []byte) (int, string) {
	in.c.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "name")
	if err == nil {
		_, err = part.Write(data)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		in.c.t.Fatal(err)
	}
	status, body := in.c.try("POST", in.base+"/upload?path="+url.QueryEscape(path)+"&sandbox_id="+in.id, in.token, w.FormDataContentType(), &form)
	return status, string(body)
}

func (in *inside) get(endpoint, path string) (int, string) {
	in.c.t.Helper()
	status, body := in.c.try("GET", in.base+"/"+endpoint+"?path="+url.QueryEscape(path)+"&sandbox_id="+in.id, in.token, "", nil)
	return status, string(body)
}

// result is what came of a command.
type result struct {
	out, errs string
	code      int
	pid       uint32
	ended     bool // an end was seen
	kept      int  // keepalives
	status    string
}

// shell is the request that runs a text.
func shell(text string) *command.StartRequest {
	return &command.StartRequest{Command: &command.CommandSpec{Cmd: "/bin/bash", Args: []string{"-c", text}}, Stdin: proto.Bool(false)}
}

// stream is what both kinds of streams of events are.
type stream interface {
	Receive() bool
	Err() error
	Close() error
}

// start starts a command; see is called for each event.
func (in *inside) start(ctx context.Context, r *command.StartRequest, see func(*command.CommandSessionEvent)) (result, error) {
	client := connect.NewClient[command.StartRequest, command.StartResponse](http.DefaultClient, in.base+"/command_session.CommandSession/Start")
	s, err := client.CallServerStream(ctx, authorized(in, r))
	if err != nil {
		return result{}, err
	}
	return collect(s, func() *command.CommandSessionEvent { return s.Msg().GetEvent() }, see)
}

// attach shows a command that runs.
func (in *inside) attach(ctx context.Context, uuid string, see func(*command.CommandSessionEvent)) (result, error) {
	client := connect.NewClient[command.ConnectRequest, command.ConnectResponse](http.DefaultClient, in.base+"/command_session.CommandSession/Connect")
	s, err := client.CallServerStream(ctx, authorized(in, &command.ConnectRequest{Session: session(uuid)}))
	if err != nil {
		return result{}, err
	}
	return collect(s, func() *command.CommandSessionEvent { return s.Msg().GetEvent() }, see)
}

func session(uuid string) *command.CommandSessionSelector {
	return &command.CommandSessionSelector{Selector: &command.CommandSessionSelector_SessionUuid{SessionUuid: uuid}}
}

func collect(s stream, event func() *command.CommandSessionEvent, see func(*command.CommandSessionEvent)) (result, error) {
	defer s.Close()
	var r result
	var out, errs strings.Builder
	for s.Receive() {
		switch e := event().GetEvent().(type) {
		case *command.CommandSessionEvent_Start:
			r.pid = e.Start.GetPid()
		case *command.CommandSessionEvent_Data:
			out.Write(e.Data.GetStdout())
			errs.Write(e.Data.GetStderr())
		case *command.CommandSessionEvent_End:
			r.code, r.ended, r.status = int(e.End.GetExitCode()), true, e.End.GetStatus()
		case *command.CommandSessionEvent_Keepalive:
			r.kept++
		}
		if see != nil {
			see(event())
		}
	}
	r.out, r.errs = out.String(), errs.String()
	return r, s.Err()
}

// unary makes a unary call of the command transport.
func unary[Q, A any](in *inside, method string, request *Q) (*A, error) {
	client := connect.NewClient[Q, A](http.DefaultClient, in.base+"/command_session.CommandSession/"+method)
	answer, err := client.CallUnary(in.c.t.Context(), authorized(in, request))
	if err != nil {
		return nil, err
	}
	return answer.Msg, nil
}

func authorized[Q any](in *inside, request *Q) *connect.Request[Q] {
	r := connect.NewRequest(request)
	r.Header().Set("Authorization", "Bearer "+in.token)
	return r
}

// run runs a text and expects it to be seen to its end.
func (in *inside) run(text string) result {
	in.c.t.Helper()
	r, err := in.start(in.c.t.Context(), shell(text), nil)
	if err != nil || !r.ended {
		in.c.t.Fatalf("run %s: %+v, %v", text, r, err)
	}
	return r
}
