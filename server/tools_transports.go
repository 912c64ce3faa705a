package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/server/api"
)

// ServeTools lets an agent use the tools on standard input and output, until it closes them or ctx ends.
func ServeTools(ctx context.Context, c Client) error {
	t := tools{client: func(context.Context, *mcp.RequestExtra) Client { return c }}
	if err := t.server().Run(ctx, &mcp.StdioTransport{}); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// ofRequest is the key under which a tool finds the context of its HTTP request.
type ofRequest struct{}

// toolsHandler serves the tools by HTTP, without sessions. They ask this server's API with the token of the caller, who has the same
// rights here as there.
func toolsHandler(a api.API) http.Handler {
	direct := &http.Client{Transport: &http.Transport{}} // no proxy stands between a server and itself
	t := tools{stopped: a.Stopped, client: func(ctx context.Context, x *mcp.RequestExtra) Client {
		_, token, _ := strings.Cut(x.Header.Get("Authorization"), " ")
		arrived := fmt.Sprintf("http://%v", ctx.Value(http.LocalAddrContextKey))
		c := Client{bases: []string{arrived}, token: ghapp.NewSecret(token), setting: a.TokenSetting, http: direct}
		if a.PublicURL != "" {
			c.bases = append(c.bases, strings.TrimSuffix(a.PublicURL, "/"))
		}
		return c
	}}
	all := t.server()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return all }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: api.MaxRequest,
		DisableLocalhostProtection: true, // it is for servers without a token, and refuses what proxies send
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.Allows(w, r.Header.Get("Authorization")) {
			return
		}
		control, end := http.NewResponseController(w), time.Now().Add(longestWait+time.Minute)
		_, _ = control.SetReadDeadline(end), control.SetWriteDeadline(end) // those of other requests would cut a wait
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), ofRequest{}, r.Context())))
	})
}
