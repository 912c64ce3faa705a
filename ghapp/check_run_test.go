package ghapp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// pressable are the buttons a person finds on the check run.
func (w *world) pressable(c *github.CheckRun) string {
	var out []string
	for _, id := range report.Buttons() {
		if w.hub.Press("octo/hello", c.GetID(), "ada", string(id)) == nil {
			out = append(out, string(id))
		}
	}
	return strings.Join(out, " ")
}

// TestButtonsStandOnTheCheckRuns: a check run is made with its buttons, and loses
// those that no longer mean anything.
func TestButtonsStandOnTheCheckRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		sent := w.buttonsSent("yudai:" + id1)
		s, stop := w.progress(id1)
		if got := strings.Join(sent(), ", "); got != "cancel" {
			t.Errorf("while it runs: %q", got)
		}
		stop()
		stop = w.write("node-2")
		s = w.solveAll(id1, w.settle)
		w.settle()
		stop()
		claim := w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA
		for external, want := range map[string]string{
			"yudai:" + id1: "pick", "yudai:" + id1 + "/1": "", "yudai:" + id1 + "/2": "pick",
		} {
			if got := w.checks(claim, external); len(got) != 1 || w.pressable(got[0]) != want {
				t.Errorf("%s: buttons %q, want %q", external, w.pressable(got[0]), want)
			}
		}
		if got := w.checks(s.Pull.Commit, "yudai:"+id1+"/head"); len(got) != 1 || w.pressable(got[0]) != "pick" {
			t.Errorf("the scorecard's buttons: %v", got)
		}
	})
}

func TestButtonsAreTakenAway(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		sent := w.buttonsSent("yudai:" + id1)
		s := w.publishing()
		stop := w.write("node-2")
		w.settle()
		s.State = solve.StateSolved // by the only run: there is nothing to retry or pick
		w.store.put(s, solve.EventPublished)
		w.settle()
		stop()
		if got := strings.Join(sent(), ", "); got != "cancel, cancel, " {
			t.Errorf("the buttons were %q", got)
		}
		if got := w.checks(w.store.given(id1, solve.EffectClaim, 0).Receipt.SHA, "yudai:"+id1); len(got) != 1 || w.pressable(got[0]) != "" {
			t.Errorf("buttons %q of %v", w.pressable(got[0]), got)
		}
	})
}

// buttonsSent returns the buttons of each request so far about a check run.
func (w *world) buttonsSent(externalID string) func() []string {
	return func() []string {
		var out []string
		for _, r := range w.hub.History() {
			var body struct {
				ExternalID string `json:"external_id"`
				Actions    []struct{ Identifier string }
			}
			if json.Unmarshal(r.Body, &body) != nil || body.ExternalID != externalID {
				continue
			}
			var ids []string
			for _, a := range body.Actions {
				ids = append(ids, a.Identifier)
			}
			out = append(out, strings.Join(ids, " "))
		}
		return out
	}
}
