package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/solve"
)

// URLVariable is the environment variable that names the server which commands ask.
const URLVariable = "YUDAI_URL"

// ErrAway says that no server answers now; another try may help.
var ErrAway = errors.New("no server answers")

// Client asks a running server by its REST API. It is made by [NewClient].
type Client struct {
	bases   []string // addresses of the server, tried in turn, without a slash at the end
	token   ghapp.Secret
	setting string // what gives the token
	http    *http.Client
}

// NewClient is a client of the server at an address. "" is that of [URLVariable], else the configured one: server.address, and
// server.public_url where nothing listens there. The token is the configured one.
func NewClient(cfg Config, base string, getenv func(string) string) (Client, error) {
	c := Client{setting: cfg.Server.tokenSetting()}
	for _, named := range [][2]string{{base, "--url"}, {getenv(URLVariable), URLVariable}} {
		if named[0] == "" || len(c.bases) > 0 {
			continue
		}
		switch u, err := url.Parse(named[0]); {
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return c, fmt.Errorf("%s: %q is no address of a server: write it like http://127.0.0.1:8080", named[1], named[0])
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			return c, fmt.Errorf("%s: write the address without user, password, ? and #, like http://127.0.0.1:8080", named[1])
		}
		c.bases = []string{strings.TrimSuffix(named[0], "/")}
	}
	if len(c.bases) == 0 {
		c.bases = []string{"http://" + reachable(cfg.Server.Address)}
		if public := strings.TrimSuffix(cfg.Server.PublicURL, "/"); public != "" {
			c.bases = append(c.bases, public)
		}
	}
	c.http = &http.Client{
		Transport:     &http.Transport{Proxy: encryptedProxy, ResponseHeaderTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var err error
	c.token, err = cfg.Server.APIToken(getenv, os.ReadFile)
	return c, err
}

// encryptedProxy is the environment's proxy for https. Without encryption it would read the token.
func encryptedProxy(req *http.Request) (*url.URL, error) {
	if req.URL.Scheme != "https" {
		return nil, nil
	}
	return http.ProxyFromEnvironment(req)
}

// Page is the address of a page of the server, where people sign in.
func (c Client) Page(path string) string { return c.bases[len(c.bases)-1] + path }

// call is a request to the API.
type call struct {
	method, path string
	body         []byte // JSON; nil is none
	key          string // the Idempotency-Key; "" is none
	kind         string // of the content of the answer
	receive      func(*http.Response) error
}

// reading is the call that asks for a path, which is answered with one kind of content.
func reading(path, kind string, receive func(*http.Response) error) call {
	return call{method: http.MethodGet, path: path, kind: kind, receive: receive}
}

// nobodyListens says whether a call did not reach a server. A server that ends resets the connections that it has not taken yet.
func nobodyListens(err error) bool {
	op := (*net.OpError)(nil)
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) && errors.As(err, &op) && op.Op == "dial"
}

// do makes a call.
func (c Client) do(ctx context.Context, q call) (err error) {
	for _, base := range c.bases {
		if err = c.ask(ctx, base, q); !nobodyListens(err) {
			return err
		}
	}
	return fmt.Errorf("%w: start `yudai serve`, or name the server with --url or %s", err, URLVariable)
}

// ask asks the server at one address.
func (c Client) ask(ctx context.Context, base string, q call) error {
	req, err := http.NewRequestWithContext(ctx, q.method, base+q.path, bytes.NewReader(q.body))
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	if !c.token.Empty() {
		req.Header.Set("Authorization", "Bearer "+c.token.Reveal())
	}
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		req.Header.Set("Idempotency-Key", q.key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if in := (*url.Error)(nil); errors.As(err, &in) {
			err = in.Err // without the whole address
		}
		return fmt.Errorf("%w at %s (%w)", ErrAway, base, err)
	}
	defer func() { _ = res.Body.Close() }()
	if have, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); res.StatusCode > http.StatusAccepted || have != q.kind {
		return c.refusal(base, res)
	}
	if err := q.receive(res); err != nil {
		return fmt.Errorf("receive the answer of %s%s: %w", base, q.path, err)
	}
	return nil
}

// maxRefusal is how much of a server's refusal is read, in bytes.
const maxRefusal = 8 << 10

// refusal says why a server did not answer as it should, and what to do.
func (c Client) refusal(base string, res *http.Response) error {
	var said struct {
		Detail string
		Errors []struct{ Message, Location string }
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // the status says enough
	ours := json.Unmarshal(text, &said) == nil && said.Detail != ""
	for _, e := range said.Errors {
		said.Detail += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	switch {
	case res.StatusCode >= http.StatusBadGateway && res.StatusCode <= http.StatusGatewayTimeout:
		return fmt.Errorf("%w at %s (%s): start it, or look at the proxy before it", ErrAway, base, res.Status)
	case res.StatusCode == http.StatusUnauthorized && c.token.Empty():
		return fmt.Errorf("the server at %s wants its API token: set %s to it", base, c.setting)
	case res.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the server at %s has another API token: set %s to the one that it was started with", base, c.setting)
	case ours && res.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w at %s: %s", solve.ErrNotFound, base, solve.OneLine(said.Detail))
	case ours:
		return fmt.Errorf("the server at %s: %s", base, solve.OneLine(said.Detail))
	}
	return fmt.Errorf("%s answers %s, and not as yudai's API does: name the server with --url or %s",
		base, cmp.Or(res.Status, "nothing"), URLVariable)
}

// getJSON asks for a path about solves and reads what it answers.
func (c Client) getJSON(ctx context.Context, path string, into any) (raw json.RawMessage, err error) {
	return c.doJSON(ctx, call{method: http.MethodGet, path: path}, into)
}

// doJSON makes a call about solves and reads what it answers.
func (c Client) doJSON(ctx context.Context, q call, into any) (raw json.RawMessage, err error) {
	q.kind, q.receive = "application/json", func(res *http.Response) error {
		if raw, err = content(res); err != nil {
			return err
		}
		return json.Unmarshal(raw, into)
	}
	if err = c.do(ctx, q); errors.Is(err, solve.ErrNotFound) {
		err = fmt.Errorf("%w; `yudai runs` lists the solves", err)
	}
	return raw, err
}
