package cmd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/server"
)

// apiToken is the token of the server that the scripts ask.
const apiToken = "a-token-of-the-tests-0123456789"

// sums is the repository that it solves: an addition that subtracts.
var sums = map[string]string{
	"add.sh":   "# add.sh A B prints the sum.\necho $(($1 - $2))\n",
	"check.sh": "test \"$(sh add.sh 2 3)\" = 5\n",
}

// sumsScript is what its models do.
const sumsScript = `
price: {input: 0.25, output: 2}
plays:
  - match: {model: right}
    steps:
      - {say: The sign is wrong., run: "sed -i 's/1 - /1 + /' add.sh; printf 'one\\ntwo\\n'", usage: {input: 1000, output: 100}}
      - {say: Done., run: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT}
  - match: {model: wrong}
    steps:
      - {say: It must be times., run: "sed -i 's/1 - /1 * /' add.sh; printf '\\033[31mred\\033[0m\\033[2J\\n'", usage: {input: 1000, output: 100}}
      - {say: Done., run: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT}
  - steps:
      - {say: I see nothing to change., run: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT}
`

// served is the real server beside the emulated GitHub, for all scripts that ask one. One solve of it has ended when they begin.
type served struct {
	*testing.T
	once  sync.Once
	hub   *githubsim.Hub
	srv   *server.Server
	repo  githubsim.Repo
	solve string
	log   output
}

// start runs both, and has the issue solved.
func (d *served) start() error {
	dir := d.TempDir()
	d.hub = githubsim.New(githubsim.Options{Dir: filepath.Join(dir, "github")})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	d.hub.SetBaseURL("http://" + l.Addr().String())
	ended := make(chan error, 2)
	ctx, stop := context.WithCancel(d.Context())
	running := 1
	go func() { ended <- d.hub.Serve(l) }()
	d.Cleanup(func() {
		stop()
		err := d.hub.Close()
		for range running {
			err = errors.Join(err, <-ended)
		}
		if err != nil {
			d.Error(err)
		}
		if d.Failed() {
			d.Log(d.log.String())
		}
	})
	env, err := d.register()
	if err != nil {
		return err
	}
	cfg, err := d.configure(dir)
	if err != nil {
		return err
	}
	options := server.Options{Getenv: func(k string) string { return env[k] }, Log: zerolog.New(&d.log).Level(zerolog.InfoLevel)}
	if d.srv, err = server.New(ctx, cfg, options); err != nil {
		return err
	}
	running++
	go func() { ended <- d.srv.Run(ctx) }()
	id, err := d.asked([]string{"wrong", "right"})
	if err == nil {
		err = d.untilSolved()
	}
	if err == nil {
		d.solve = id
		_, err = d.hub.OpenIssue(d.repo.FullName(), "you", "Add is still wrong", "`sh add.sh 2 3` does not print 5.") // for mcp.txtar alone
	}
	return err
}

// register makes the repository, its issue and the App, and returns the App's secrets.
func (d *served) register() (map[string]string, error) {
	d.hub.CreateUser("you")
	app, err := d.hub.CreateApp("yudai")
	if err != nil {
		return nil, err
	}
	if d.repo, err = d.hub.CreateRepo("you", "sums", sums); err != nil {
		return nil, err
	}
	_, issueErr := d.hub.OpenIssue(d.repo.FullName(), "you", "Add is wrong", "`sh add.sh 2 3` does not print 5.")
	_, err = d.hub.Install(app, "you", "sums")
	return map[string]string{
		"GITHUB_APP_INTEGRATION_ID": strconv.FormatInt(app.ID, 10),
		"GITHUB_APP_WEBHOOK_SECRET": app.WebhookSecret,
		"GITHUB_APP_PRIVATE_KEY":    string(app.PrivateKeyPEM),
		"YUDAI_API_TOKEN":           apiToken,
	}, errors.Join(issueErr, err)
}

// configure has the server talk to the emulator, at its pace, and keep everything in a directory.
func (d *served) configure(dir string) (server.Config, error) {
	cfg := server.Default()
	cfg.Server.Address = "127.0.0.1:0"
	cfg.GitHub.WebURL, cfg.GitHub.V3APIURL, cfg.GitHub.V4APIURL = d.hub.URL(), d.hub.APIURL(), d.hub.URL()+"/graphql"
	cfg.GitHub.Write.Interval, cfg.GitHub.Write.PerHour = time.Millisecond, 1_000_000
	cfg.Store.Path, cfg.Gateway.Dir = filepath.Join(dir, "store", "yudai.db"), filepath.Join(dir, "gateway")
	cfg.Sandbox.Local.Dir, cfg.Sandbox.Local.AllowUnlimited = filepath.Join(dir, "sandboxes"), true
	cfg.Sandbox.Records = filepath.Join(dir, "sandbox-records")
	cfg.Solver.Tests.Command, cfg.Solver.Defaults.Temps = "sh check.sh", []float64{0}
	script := filepath.Join(dir, "script.yml")
	cfg.SetScripted(script, []string{"wrong", "right", "idle"})
	return cfg, os.WriteFile(script, []byte(sumsScript), 0o600)
}

// asked asks for a solve of the issue with some models, and returns its ID.
func (d *served) asked(models []string) (string, error) {
	body, err := json.Marshal(map[string]any{"repo_url": "you/sums", "issue_number": 1, "matrix": map[string]any{"models": models}})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(d.Context(), http.MethodPost, "http://"+d.srv.Addr()+"/solve", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+apiToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	var told struct {
		SolveID string `json:"solve_id"`
	}
	if res.StatusCode != http.StatusAccepted {
		return "", fmt.Errorf("ask for a solve: %s: %s", res.Status, text)
	}
	err = errors.Join(err, json.Unmarshal(text, &told))
	return told.SolveID, err
}

// untilSolved waits for the end of the issue's solve, and for its texts.
func (d *served) untilSolved() error {
	ctx, cancel := context.WithTimeout(d.Context(), 15*time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		v, err := d.srv.Latest(ctx, d.repo.ID, 1)
		if err == nil && v.Solve.State.Final() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// script is the command `served`: the script asks this server, and knows its solve as $SOLVE and its repository as $REPO.
func (d *served) script(ts *testscript.TestScript, neg bool, args []string) {
	d.once.Do(func() {
		if err := d.start(); err != nil {
			d.Error(err)
		}
	})
	if d.solve == "" || neg || len(args) > 0 {
		ts.Fatalf("served: there is no server to ask")
	}
	for key, value := range map[string]string{
		"YUDAI_URL": "http://" + d.srv.Addr(), "YUDAI_API_TOKEN": apiToken, "SOLVE": d.solve, "REPO": d.repo.Dir(), "GITHUB": d.hub.URL(),
		"ADDRESS": d.srv.Addr(),
	} {
		ts.Setenv(key, value)
	}
}

// ask is the command `ask MODEL...`: the issue is solved once more, as $ASKED.
func (d *served) ask(ts *testscript.TestScript, _ bool, models []string) {
	id, err := d.asked(models)
	ts.Check(err)
	ts.Setenv("ASKED", id)
}

// away is the command `away`: the script asks the server through a proxy, which says after the first answer, twice, that it is away.
func (d *served) away(ts *testscript.TestScript, _ bool, _ []string) {
	proxy, asked := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: d.srv.Addr()}), atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n == 2 || n == 3 {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	ts.Defer(srv.Close)
	ts.Setenv("YUDAI_URL", srv.URL)
}
