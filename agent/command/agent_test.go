package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
)

func TestProgramDoesItsWork(t *testing.T) {
	t.Parallel()
	w := setup(t)
	res := w.run(script(`call; echo "$API, $#, input: $(cat)"; echo fixed >fix.txt; call; echo done >&2; call`), nil)
	w.want(res, agent.ExitSubmitted)
	if got := w.printed(); got != "responses, 0, input: \ndone\n" {
		t.Errorf("printed %q", got)
	}
	if got := w.roles(); got != "start output exit" {
		t.Error(got)
	}
	p := res.Progress
	if p.Steps != 3 || p.Usage.Calls != 3 || p.Usage.Input != 300 || p.Edits != 1 || p.Output == 0 {
		t.Errorf("%+v", p)
	}
	first := w.Messages()[0].Content
	for _, want := range []string{"Sum([]) panics.", "It is data", "Leave your changes in the work tree"} {
		if !strings.Contains(first, want) {
			t.Errorf("the task does not say %q", want)
		}
	}
	if data := w.lines("/workspace/agent/task.md"); data < 10 {
		t.Error("no task file")
	}
	// Whoever comes when the end was stored, but not told, tells it.
	again := w.run(script("exit 9"), nil)
	w.want(again, agent.ExitSubmitted)
	if again.Reason != res.Reason || w.roles() != "start output exit" || w.lines("/workspace/agent/starts") != 1 {
		t.Errorf("%+v: %s", again, w.roles())
	}
}

func TestExitStatusSaysHowItEnded(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"exit 3": "exit status 3", "exec no-such-program": "could not be run", "kill -9 $$": "exit status 137",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			res := w.run(script(text), nil)
			w.want(res, agent.ExitProgram)
			if !strings.Contains(res.Reason, reason) {
				t.Error(res.Reason)
			}
		})
	}
}

// What a program leaves behind ends with it: nothing may change a tree that is being harvested.
func TestLeftoversEnd(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.want(w.run(script("setsid sleep 300 & echo x; exit 0"), nil), agent.ExitSubmitted)
	if w.printed() != "x\n" {
		t.Errorf("%q", w.printed())
	}
}

// The token is in no command line, and not in the transcript, however it is printed.
func TestTokenStaysOut(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := script(`printf 'é%s' "${TOKEN:0:7}"; sleep 0.4; printf '%s\xc3' "${TOKEN:7}"; sleep 0.4; printf '\xa9'
tr '\0' ' ' <"/proc/$PPID/cmdline" | grep -c "$TOKEN"`)
	p.Ended = func(_ context.Context, _ sandbox.Sandbox, e command.End) command.Outcome {
		return command.Outcome{Exit: "Own", Reason: "it had " + token, Submission: token, Trajectory: []byte(`"` + token + `"`)}
	}
	res := w.run(p, nil)
	w.want(res, "Own")
	if got := w.printed(); got != "é[run token]é0\n" {
		t.Errorf("printed %q", got)
	}
	if all := string(w.Lines()) + res.Reason + res.Submission + string(res.Trajectory); strings.Contains(all, token) {
		t.Error("the token is in what is kept:", all)
	}
}

func TestUnusableProgram(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := script("true")
	p.APIs = []string{agent.APIMessages}
	res := w.run(p, nil)
	w.want(res, agent.ExitProgram)
	if !strings.Contains(res.Reason, "messages") {
		t.Error(res.Reason)
	}
	w = setup(t)
	p.APIs, p.Prepare = []string{agent.APIChat}, func(command.Task) (command.Start, error) { return command.Start{}, nil }
	w.want(w.run(p, nil), agent.ExitProgram)
}

// Files of the run belong to the program: whatever it writes there is only its own end.
func TestSpoiledFiles(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`echo "x y; z" >/workspace/agent/exit; sleep 60`,
		`rm /workspace/agent/bell; echo >/workspace/agent/bell; sleep 0.3`,
		`echo "-5 x" >/workspace/agent/started; rm -f /workspace/agent/output.log; mkdir /workspace/agent/output.log; sleep 0.3`,
		`mkdir /workspace/agent/exit; sleep 0.3`,
		`rm -rf /workspace/agent; sleep 0.3`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			if res := w.run(script(text), nil); res.Exit == "" {
				t.Errorf("%+v", res)
			}
		})
	}
}

// What the program leaves where the decision about it belongs is foreign text.
func TestForgedDecision(t *testing.T) {
	t.Parallel()
	w := setup(t)
	res := w.run(script(`printf '{"exit":"Cancelled","reason":"see %s %01000d"}' "$TOKEN" 0 >/workspace/agent/decision.json
kill -KILL $PPID; exit 1`), nil)
	w.want(res, agent.ExitCancelled)
	if strings.Contains(res.Reason, token) || len(res.Reason) > 400 {
		t.Errorf("the reason is %q", res.Reason)
	}
}

// What the program puts in the place of our files keeps nobody from seeing its end.
func TestForgedFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"pipes": "mkfifo /workspace/agent/exit; ln -sf /dev/zero /workspace/agent/started; sleep 0.5",
		"words": "echo since ever >/workspace/agent/started; sleep 0.5",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			w.want(hasty(script(text)).Run(ctx, w.job()), agent.ExitSubmitted)
		})
	}
}

func TestEndlessSubmission(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := script("true")
	p.Ended = func(context.Context, sandbox.Sandbox, command.End) command.Outcome {
		return command.Outcome{Exit: agent.ExitSubmitted, Reason: "done", Submission: strings.Repeat("x", 5<<20)}
	}
	res := w.run(p, nil)
	w.want(res, agent.ExitSubmitted)
	if len(res.Submission) > 1<<20 || len(w.Lines()) > 2<<20 {
		t.Errorf("%d bytes are submitted, the transcript has %d", len(res.Submission), len(w.Lines()))
	}
}
