package e2e_test

import (
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
)

// TestMergedPullRequestTeaches: a champion that is merged counts in the repository's track record, the next plan uses it, and
// people are told of it. The sprawling candidate fixes the test that the merged one fixes; the hasty one does not.
func TestMergedPullRequestTeaches(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, s := load(t, "01_label")
	w := newWorld(t, a)
	srv, _ := w.serve()
	w.openIssue(a)
	w.trigger(s)
	first := w.final(srv, time.Minute)
	if len(first.Solve.Plan.Rates) != 0 || first.Solve.Pull == nil {
		t.Fatalf("the first solve is %s, its plan has %+v", first.Solve.State, first.Solve.Plan.Rates)
	}
	champion := first.Runs[first.Solve.Decision.Champion-1].Experiment.Arm()
	w.must(w.hub.MergePull(w.repo.FullName(), first.Solve.Pull.Number, user))
	won := func() int {
		rates, err := server.TrackRecord(t.Context(), w.cfg, "http://"+srv.Addr(), w.repo.FullName(), func(k string) string { return w.env[k] })
		w.must(err)
		for _, r := range rates {
			if r.Arm == champion {
				return r.Won
			}
		}
		return 0
	}
	w.poll(30*time.Second, func() bool { return won() == 1 })

	w.openIssue(a)
	w.trigger(s)
	next := w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.ID != first.Solve.ID && !v.Solve.Started.IsZero() })
	for _, x := range next.Solve.Plan.Experiments {
		if x.Record == 0 || (x.Record > 50) != slices.Contains([]string{"careful", "sprawling"}, x.Model) {
			t.Errorf("%s is right %d times of 100", x.Model, x.Record)
		}
	}
	for _, command := range []string{"/yudai cancel", "/yudai why"} { // the plan is all that the second one is for
		_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, command)
		w.must(err)
		w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.State.Final() })
	}
	w.awaitComments([]string{"`careful, mini, plain`: won 1 of 1 here", "`hasty, mini, plain`: won 0 of 1 here"})
}
