package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// callTool is the command `tool stdio|http NAME [ARGUMENTS]`: an agent's client calls a tool and prints the answer. The program is started
// for stdio, and the server asked at /mcp for http. `tool stdio list` prints the tools. An error of the tool is that of the command.
func callTool(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: tool stdio|http NAME [ARGUMENTS]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport(ctx, ts, args[0]), nil)
	if err != nil && neg {
		fmt.Fprintln(ts.Stdout(), err)
		return
	}
	ts.Check(err)
	defer func() { ts.Check(session.Close()) }()
	if args[1] == "list" {
		fmt.Fprintln(ts.Stdout(), session.InitializeResult().Instructions)
		for tool, err := range session.Tools(ctx, nil) {
			ts.Check(err)
			text, err := json.Marshal(tool)
			ts.Check(err)
			fmt.Fprintf(ts.Stdout(), "%s\n", text)
		}
		return
	}
	params := &mcp.CallToolParams{Name: args[1], Arguments: json.RawMessage("{}")}
	if len(args) > 2 {
		params.Arguments = json.RawMessage(args[2])
	}
	res, err := session.CallTool(ctx, params)
	ts.Check(err)
	for _, c := range res.Content {
		fmt.Fprintln(ts.Stdout(), c.(*mcp.TextContent).Text)
	}
	if res.IsError != neg {
		ts.Fatalf("the tool is in error: %v", res.IsError)
	}
}

// started is the command `started`: what the tool start just answered is $ASKED.
func started(ts *testscript.TestScript, _ bool, _ []string) {
	var told struct {
		SolveID string `json:"solve_id"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &told))
	ts.Setenv("ASKED", told.SolveID)
}

// transport reaches the tools in one of two ways, as the script's environment says.
func transport(ctx context.Context, ts *testscript.TestScript, how string) mcp.Transport {
	if how == "http" {
		return &mcp.StreamableClientTransport{
			Endpoint: ts.Getenv("YUDAI_URL") + "/mcp", HTTPClient: &http.Client{Transport: bearer(ts.Getenv("YUDAI_API_TOKEN"))},
		}
	}
	program := exec.CommandContext(ctx, "yudai", "mcp")
	program.Dir, program.Stderr = ts.MkAbs("."), os.Stderr
	for _, name := range []string{"YUDAI_URL", "YUDAI_API_TOKEN", "HOME", "PATH"} {
		program.Env = append(program.Env, name+"="+ts.Getenv(name))
	}
	return &mcp.CommandTransport{Command: program}
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
