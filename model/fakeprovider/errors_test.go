package fakeprovider_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/fakeprovider"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// client is our own client of a provider, at the played one.
func client(t *testing.T, provider, url string) agent.Model {
	t.Helper()
	set, err := model.NewSet(model.Config{Attempts: 1, RetryWait: time.Millisecond, RetryMax: time.Millisecond, Models: []model.Entry{
		{Name: "m", Provider: provider, BaseURL: url + "/v1", Timeout: 10 * time.Second},
	}}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	m, err := set.Open("m", solve.Experiment{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Our own clients of both providers name a played error as the script does.
func TestErrorsComeBackUnderTheirNames(t *testing.T) {
	t.Parallel()
	for status, code := range map[string]int{
		agent.StatusAuthentication: 401, agent.StatusPermission: 403, agent.StatusNotFound: 404, agent.StatusTimeout: 408,
		agent.StatusBadRequest: 400, agent.StatusContext: 400, agent.StatusUnprocessable: 422, agent.StatusRateLimit: 429,
		agent.StatusInternal: 500, agent.StatusUnavailable: 503, agent.StatusConnection: 502, agent.StatusBadResponse: 200, "Strange": 400,
	} {
		script := "plays: [{steps: [{error: {status: " + status + ", text: no luck}}]}]"
		want := status
		switch status {
		case "Strange":
			want = agent.StatusBadRequest
		case agent.StatusConnection:
			want = agent.StatusUnavailable // what is between us and the provider answers
		}
		for _, provider := range []string{model.OpenAI, model.Anthropic} {
			_, err := client(t, provider, serve(t, script).URL).Query(t.Context(), []agent.Message{{Role: agent.RoleUser, Content: "x"}})
			var me agent.ModelError
			if !errors.As(err, &me) || me.ExitStatus() != want {
				t.Errorf("%s at %s: %v", status, provider, err)
			}
		}
		w := post(t, script, "/v1/responses", `{"input":"x","tools":[{"type":"local_shell"}],"stream":true}`)
		if w.Code != code || !strings.Contains(w.Body.String(), "no luck") {
			t.Errorf("%s: %d %s", status, w.Code, w.Body)
		}
		if retry := w.Header().Get("X-Should-Retry"); code != 200 && retry != map[bool]string{true: "true", false: "false"}[code == 408 || code == 429 || code >= 500] {
			t.Errorf("%s: retry %q", status, retry)
		}
	}
}

func TestExperimentWithoutAPlay(t *testing.T) {
	t.Parallel()
	w := post(t, "plays: [{match: {model: other}, steps: [{run: ls}]}]", "/v1/messages",
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"name":"Bash","input_schema":{}}]}`)
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "the script has no play for model m") || !strings.Contains(w.Body.String(), "not_found_error") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestDelayIsWaitedAndEndsWithTheClient(t *testing.T) {
	t.Parallel()
	const body = `{"input":"x","tools":[{"type":"local_shell"}]}`
	h := fakeprovider.Handler(open(t, "plays: [{steps: [{run: ls, delay: 90s}]}]"))
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/responses", strings.NewReader(body)))
		if w.Code != http.StatusOK || time.Since(start) != 90*time.Second {
			t.Error(w.Code, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w = httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/responses", strings.NewReader(body)))
		if w.Body.Len() != 0 || time.Since(start) != 91*time.Second {
			t.Error(w.Body, time.Since(start))
		}
	})
}

// shell is a sandbox in which every command but the submission does nothing.
type shell struct {
	sandbox.Sandbox
	commands []string
}

func (*shell) Tree(context.Context) (string, error) { return "", nil }

func (s *shell) Exec(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
	s.commands = append(s.commands, c.Shell)
	if text, ok := strings.CutPrefix(c.Shell, "echo "); ok {
		fmt.Fprintln(c.Stdout, text)
	}
	return sandbox.Result{}, nil
}

// The native agent plays a script with a malformed reply in it through both of
// our clients, in both modes, as it does without HTTP in between.
func TestDrivesTheNativeAgent(t *testing.T) {
	t.Parallel()
	const script = "plays: [{steps: [{run: a}, {raw: {content: hm}}, {raw: {content: hm}}, {run: b}]}]"
	for _, provider := range []string{model.OpenAI, model.Anthropic} {
		for _, mode := range []string{agent.ModeTools, agent.ModeText} {
			cfg := agent.DefaultConfig()
			cfg.Mode = mode
			s := &shell{}
			r := agent.NewMini(cfg).Run(t.Context(), agent.Job{Task: "x", Model: client(t, provider, serve(t, script).URL), Sandbox: s, Tree: s.Tree})
			if r.Exit != agent.ExitSubmitted || r.Progress.Steps != 5 || strings.Join(s.commands, ",") != "a,b,echo "+agent.SubmitMarker {
				t.Errorf("%s, %s: %+v after %q", provider, mode, r, s.commands)
			}
		}
	}
}
