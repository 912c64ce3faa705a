package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/e2bsim"
	"github.com/yudai-dev/yudai/test/primesim"
)

// The raw calls: one program, started as the provider's own description says, its
// answer read to the end. No driver has a part in them.

// tokens keeps what a call needs to know of a sandbox, asked for once.
type tokens[T any] struct {
	mu    sync.Mutex
	known map[string]T
	ask   func(ctx context.Context, id string) (T, error)
}

func (t *tokens[T]) of(ctx context.Context, id string) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := t.known[id]; ok {
		return v, nil
	}
	v, err := t.ask(ctx, id)
	if err == nil {
		if t.known == nil {
			t.known = map[string]T{}
		}
		t.known[id] = v
	}
	return v, err
}

// rawE2B starts `true` through envd.
func rawE2B(api, edge string) func(ctx context.Context, sb sandbox.Sandbox) error {
	known := tokens[string]{ask: func(ctx context.Context, id string) (string, error) {
		var answer struct {
			Token string `json:"envdAccessToken"`
		}
		err := asked(ctx, "GET", api+"/sandboxes/"+id, http.Header{"X-Api-Key": {e2bsim.Key}}, &answer)
		return answer.Token, err
	}}
	body := envelope([]byte(`{"process":{"cmd":"/bin/bash","args":["-c","true"]},"stdin":false}`))
	return func(ctx context.Context, sb sandbox.Sandbox) error {
		id := sb.(sandbox.Placed).Place().ID
		token, err := known.of(ctx, id)
		if err != nil {
			return err
		}
		return started(ctx, edge+"/process.Process/Start", body, http.Header{
			"Content-Type": {"application/connect+json"}, "Connect-Protocol-Version": {"1"}, "X-Access-Token": {token},
			"E2b-Sandbox-Id": {id}, "E2b-Sandbox-Port": {"49983"}, "Keepalive-Ping-Interval": {"50"},
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("user:"))},
		})
	}
}

// rawPrime starts `true` through the gateway.
func rawPrime(api string) func(ctx context.Context, sb sandbox.Sandbox) error {
	type access struct {
		Token     string `json:"token"`
		Gateway   string `json:"gateway_url"`
		Namespace string `json:"user_ns"`
		Job       string `json:"job_id"`
	}
	key := http.Header{"Authorization": {"Bearer " + primesim.DefaultKey}}
	known := tokens[access]{ask: func(ctx context.Context, id string) (a access, err error) {
		err = asked(ctx, "POST", api+"/api/v1/sandbox/"+id+"/auth", key, &a)
		return a, err
	}}
	var command []byte // CommandSpec: 1 the program, 2 its arguments
	for i, word := range []string{"/bin/bash", "-c", "true"} {
		command = protowire.AppendTag(command, protowire.Number(min(i+1, 2)), protowire.BytesType)
		command = protowire.AppendString(command, word)
	}
	request := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), command)
	request = protowire.AppendVarint(protowire.AppendTag(request, 4, protowire.VarintType), 0) // no input
	return func(ctx context.Context, sb sandbox.Sandbox) error {
		a, err := known.of(ctx, sb.(sandbox.Placed).Place().ID)
		if err != nil {
			return err
		}
		url := fmt.Sprintf("%s/%s/%s/command_session.CommandSession/Start", a.Gateway, a.Namespace, a.Job)
		return started(ctx, url, envelope(request), http.Header{
			"Content-Type": {"application/connect+proto"}, "Connect-Protocol-Version": {"1"}, "Authorization": {"Bearer " + a.Token},
		})
	}
}

// envelope is a message as the Connect protocol frames it.
func envelope(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// asked is one call whose answer is JSON.
func asked(ctx context.Context, method, url string, header http.Header, answer any) error {
	body, err := send(ctx, method, url, nil, header)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, answer)
}

// started reads a stream to its end and looks at how it ended.
func started(ctx context.Context, url string, body []byte, header http.Header) error {
	data, err := send(ctx, "POST", url, body, header)
	if err != nil {
		return err
	}
	for len(data) >= 5 {
		n := int(binary.BigEndian.Uint32(data[1:5]))
		if len(data) < 5+n {
			break
		}
		if data[0] == 2 {
			if bytes.Contains(data[5:5+n], []byte("error")) {
				return fmt.Errorf("the stream ended with %s", data[5:5+n])
			}
			return nil
		}
		data = data[5+n:]
	}
	return errors.New("the stream was cut")
}

func send(ctx context.Context, method, url string, body []byte, header http.Header) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header.Clone()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %.200s", method, req.URL.Path, res.Status, data)
	}
	return data, err
}
