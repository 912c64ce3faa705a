package solver_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

// testFile is what a reproducer adds, and testPath where a sandbox notes that it is there.
const (
	testFile = "answer_test.go"
	testPath = sandbox.RepoDir + "/" + testFile
)

// named makes the repository's tests tell their names: one that always passes, and that of testFile,
// which passes where the answer begins with "good". An answer "test" stands for a new testFile, and
// "test and source" for another change beside it.
func (w *world) named() {
	w.cfg.Tests.Format = "tap"
	added := fmt.Sprintf("diff --git a/%[1]s b/%[1]s\nnew file mode 100644\nindex %[2]s..%[3]s\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+issue\n",
		testFile, strings.Repeat("0", 40), blob("issue\n"))
	w.machine.on("harvest", func(_ context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		text, diff := c.Files[answerPath], ""
		if strings.HasPrefix(text, "test") {
			diff = added
		}
		if text != "test" {
			diff = patch(text) + diff
		}
		_, err := io.WriteString(c.Stdout, diff)
		return sandbox.Result{}, err
	})
	w.machine.on("apply", func(_ context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		data, err := io.ReadAll(c.Command.Stdin)
		if strings.Contains(string(data), testFile) {
			c.Files[testPath] = "issue"
		}
		if strings.Contains(string(data), "b/"+answerFile+"\n") {
			c.Files[answerPath] = patched(string(data))
		}
		return sandbox.Result{}, err
	})
	w.machine.on(testCommand, func(_ context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		text, exit := "1..1\nok 1 - old\n", 0
		if c.Files[testPath] != "" && strings.HasPrefix(c.Files[answerPath], "good") {
			text += "ok 2 - issue\n"
		} else if c.Files[testPath] != "" {
			text, exit = text+"not ok 2 - issue\n", 1
		}
		_, err := io.WriteString(c.Stdout, text)
		return sandbox.Result{ExitCode: exit}, err
	})
	w.play("half", run("write half"))
	w.play("also", run("write good too"))
}

// reproducer plays one, whoever its model is.
func (w *world) reproducer(steps ...scripted.Step) {
	w.models.plays = append(w.models.plays, scripted.Play{Match: scripted.Match{Purpose: solve.PurposeReproduce}, Steps: steps})
}

// TestReproducer: its test chooses among candidates that no test tells apart, and is published.
func TestReproducer(t *testing.T) {
	bubble(t, func(w *world) {
		w.named()
		w.reproducer(run("write test"))
		w.writer()
		w.start("a")
		id := w.ask(with("half", "also", "good"))
		s := w.final(id, solve.StateSolved)
		w.ends(id, solve.RunPassed, solve.RunPassed, solve.RunPassed, solve.RunPassed)
		runs := w.runs(id)
		if r := runs[3]; !r.Reproduces() || r.Experiment.Model != "also" || len(r.Verdict.ProofTests) != 1 {
			w.Errorf("the reproducer: %+v, %+v", r.Experiment, r.Verdict)
		}
		if got := s.Grade(runs); s.Decision.Champion == 1 || got != solve.Proven || len(s.Decision.Ranking) != 3 {
			w.Errorf("champion %d is %s, of %v", s.Decision.Champion, got, s.Decision.Ranking)
		}
		c := w.commit(id)
		if c.Tests == nil || len(c.Tests.Files) != 1 || c.Tests.Files[0].Path != testFile || !strings.HasPrefix(c.Tests.Message, "test: ") ||
			len(c.Files) != 2 || c.Files[1].Path != testFile {
			w.Errorf("the commit has %+v after %+v", c.Files, c.Tests)
		}
	})
}

// TestReproducerThatIsNone: it fails alone, and the solve goes on without its tests.
func TestReproducerThatIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		step scripted.Step
		ends solve.RunState
	}{
		"writes source": {run("write test and source"), solve.RunFailed},
		"writes a fix":  {run("write good"), solve.RunFailed},
		"does nothing":  {run("echo hello"), solve.RunEmpty},
		"floods":        {run("noise 100000000"), solve.RunEmpty},
		"loops":         {run("sleep 1h"), solve.RunEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.named()
				w.reproducer(c.step)
				w.writer()
				w.start("a")
				id := w.ask(with("half", "good"))
				s := w.final(id, solve.StateSolved)
				w.ends(id, solve.RunPassed, solve.RunPassed, c.ends)
				if s.Decision.Cross != nil || w.commit(id).Tests != nil {
					w.Errorf("its tests judge: %+v", s.Decision.Cross)
				}
			})
		})
	}
}

// TestReproducerEndsWithTheCandidates: where none passed, nobody waits for it.
func TestReproducerEndsWithTheCandidates(t *testing.T) {
	bubble(t, func(w *world) {
		w.named()
		w.reproducer(run("sleep 90s"), run("sleep 90s"), run("sleep 90s"), run("write test"))
		w.start("a")
		began := time.Now()
		id := w.ask(with("idle", "half"), func(s *solve.Solve) { s.Request.Edits = []int{0} })
		w.models.set("half", run("echo nothing"))
		w.final(id, solve.StateUnsolved)
		r := w.runs(id)[2]
		if r.State != solve.RunCancelled || !r.NotNeeded || r.Reason != "not needed: no candidate passed" || time.Since(began) > time.Minute {
			w.Errorf("%s %q after %s", r.State, r.Reason, time.Since(began))
		}
	})
}

// TestNoReproducer: where it is turned off, or a test of the base fails.
func TestNoReproducer(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"off":      func(w *world) { w.cfg.Reproduce = solve.ReproduceOff },
		"red base": func(w *world) { w.machine.on(testCommand, exit(1, "1..1\nnot ok 1 - old\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.named()
				change(w)
				w.writer()
				w.start("a")
				id := w.ask(with("half", "good"))
				s := w.final(id, solve.StateSolved)
				w.ends(id, solve.RunPassed, solve.RunPassed)
				if s.Plan.Reproducer != nil {
					w.Errorf("the plan still has one: %+v", *s.Plan.Reproducer)
				}
			})
		})
	}
}
