package ghapp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// ruled refuses a change of branches, as a rule of the repository does.
type ruled struct {
	next    http.RoundTripper
	method  string
	message string
}

func (r ruled) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == r.method && strings.Contains(req.URL.Path, "/git/refs") {
		return respond(req, 422, `{"message":"`+r.message+`"}`), nil
	}
	return r.next.RoundTrip(req)
}

// TestRefusalNamesTheRule: whoever reads why there is no pull request learns which
// rule to change.
func TestRefusalNamesTheRule(t *testing.T) {
	t.Parallel()
	const found = `Repository rule violations found\n\n`
	rule := func(kind string, parameters map[string]any) map[string]any {
		out := map[string]any{"type": kind, "ruleset_source_type": "Repository", "ruleset_source": "octo/hello", "ruleset_id": 42}
		if parameters != nil {
			out["parameters"] = parameters
		}
		return out
	}
	pattern := map[string]any{"operator": "starts_with", "pattern": "feature/"}
	for name, test := range map[string]struct {
		method, message string
		rules           []map[string]any
		want            []string
	}{
		"creation": {"POST", found + "Cannot create ref due to creations being restricted.",
			[]map[string]any{rule("required_signatures", nil), rule("creation", nil)},
			[]string{"creation blocked: ", "choose another branch template"}},
		"name pattern": {"POST", found + "Branch name must match a given pattern: feature/", []map[string]any{rule("branch_name_pattern", pattern)},
			[]string{"rule branch_name_pattern (starts with feature/)", "Branch name must match"}},
		"message pattern": {"POST", found + "Commit message must match a given pattern", []map[string]any{rule("creation", nil), rule("commit_message_pattern", pattern)},
			[]string{"rule commit_message_pattern"}},
		"signatures of the claim": {"POST", found + "Commits must have verified signatures.", []map[string]any{rule("required_signatures", nil)},
			[]string{"rule required_signatures", "Commits must have verified signatures."}},
		"signatures of the champion": {"PATCH", found + "Commits must have verified signatures.",
			[]map[string]any{rule("creation", nil), rule("required_signatures", nil)}, []string{"rule required_signatures"}},
		"update":                  {"PATCH", found + "Cannot update this protected ref.", []map[string]any{rule("update", nil)}, []string{"rule update"}},
		"words unknown, rule not": {"POST", found + "No.", []map[string]any{rule("required_signatures", nil)}, []string{"rule required_signatures"}},
		"protected branch": {"POST", "Protected branch update failed for refs/heads/x.", nil,
			[]string{"is protected: Protected branch update failed"}},
		"nothing known": {"POST", found + "Something new.", nil, []string{"422", "Something new."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
				s, kind := w.newSolve(id1), solve.EffectClaim
				if test.method == http.MethodPatch {
					s, kind = w.publishing(), solve.EffectPull
				} else {
					w.store.put(s, solve.EventClaimed)
				}
				must(t, w.hub.SetRules("octo/hello", s.Branch, test.rules...))
				w.app = w.newApp(ruled{w.traffic, test.method, test.message})
				w.runUntilSettled()
				e := w.store.given(id1, kind, 0)
				if e.State != solve.EffectDead {
					t.Errorf("effect is %s", e.State)
				}
				for _, want := range append(test.want, s.Branch) {
					if !strings.Contains(e.Error, want) {
						t.Errorf("reason %q does not contain %q", e.Error, want)
					}
				}
			})
		})
	}
}
