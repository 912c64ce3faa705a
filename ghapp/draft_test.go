package ghapp_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// TestUnprovenChampionIsADraft where GitHub has drafts. Elsewhere, one pull request that is ready
// has the same warning.
func TestUnprovenChampionIsADraft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule        solve.UnprovenRule
		fixed       int
		noDrafts    bool
		draft       bool
		warned      bool
		lostAnswers bool
	}{
		"unproven":              {solve.UnprovenDraft, 0, false, true, true, false},
		"proven":                {solve.UnprovenDraft, 1, false, false, false, false},
		"always ready":          {solve.UnprovenReady, 0, false, false, true, false},
		"no drafts":             {solve.UnprovenDraft, 0, true, false, true, false},
		"no drafts, no answers": {solve.UnprovenDraft, 0, true, false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, githubsim.Options{NoDrafts: c.noDrafts}, func(t *testing.T, w *world) {
				s := w.publishing()
				s.Plan.Settings = &solve.Settings{Unproven: c.rule}
				w.store.mu.Lock()
				w.store.runs[s.ID][0].Verdict.Fixed = c.fixed
				w.store.mu.Unlock()
				w.store.put(s, solve.EventChampion)
				if c.lostAnswers { // not that of the refusal
					w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultLostAnswer, Method: "POST", Path: "/pulls$", Nth: 2})
				}
				before := w.hub.Requests("POST", "/pulls")
				w.runUntilSettled()
				got := w.pulls(s)
				if len(got) != 1 || got[0].GetDraft() != c.draft || strings.Contains(got[0].GetBody(), "[!CAUTION]") != c.warned {
					t.Fatalf("%d pull requests, draft %v, want %v:\n%s", len(got), got[0].GetDraft(), c.draft, got[0].GetBody())
				}
				if n := w.hub.Requests("POST", "/pulls") - before; n != 1 {
					t.Errorf("%d were opened", n)
				}
				if e := w.store.given(id1, solve.EffectPull, 0); e.State != solve.EffectApplied || e.Receipt.Number != got[0].GetNumber() {
					t.Errorf("effect is %s: %s", e.State, e.Error)
				}
			})
		})
	}
}
