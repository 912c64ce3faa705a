package e2e_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// stormSeedsEnv is how many storms are played; each is repeated by its number.
const stormSeedsEnv = "YUDAI_STORM_SEEDS"

// TestStorms plays solves in which everything goes wrong at random: each ends
// solved, with one of everything.
func TestStorms(t *testing.T) {
	t.Parallel()
	require.Long(t)
	requireSandbox(t)
	seeds := 20
	if text := os.Getenv(stormSeedsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s is %q, must be a number of storms", stormSeedsEnv, text)
		}
		seeds = n
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed+1), func(t *testing.T) {
			t.Parallel()
			storm(t, uint64(seed+1))
		})
	}
}

func storm(t *testing.T, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 0))
	w, a := faultRow{slow: dice.IntN(3) == 0}.world(t)
	script := weather(dice)
	for _, f := range script {
		w.hub.Inject(f)
	}
	for _, kind := range []githubsim.DisturbKind{githubsim.DisturbDuplicate, githubsim.DisturbReorder, githubsim.DisturbDelay} {
		if dice.IntN(2) == 0 {
			w.hub.Disturb(githubsim.Disturbance{Kind: kind, Nth: 1 + dice.IntN(6), Count: 1 + dice.IntN(3), Delay: 200 * time.Millisecond})
		}
	}
	w.hub.SetLag(time.Duration(dice.Float64() * 25 / 30 * float64(w.cfg.GitHub.Write.ListLag)))
	w.hub.SetFreshMiss(dice.IntN(2) == 0)
	srv, stop := w.serve()
	w.openIssue(a)
	w.must(w.hub.Label(w.repo.FullName(), w.issue, user, "yudai:solve"))
	_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, "/yudai status")
	w.must(err)
	if dice.IntN(2) == 0 {
		w.until(srv, 2*time.Minute, func(v report.View) bool { return v.Solve.State != solve.StateQueued })
		w.hub.ExpireTokens()
	}
	v := w.final(srv, 6*time.Minute)
	if v.Solve.State != solve.StateSolved || len(w.pulls()) != 1 {
		t.Errorf("the solve is %s (%s), %d pull requests; runs: %s", v.Solve.State, v.Solve.Reason, len(w.pulls()), states(v))
	}
	w.poll(time.Minute, func() bool { return w.answered() })
	w.judge(stop)
	if t.Failed() {
		t.Logf("the script of storm %d: %+v", seed, script)
	}
}

// weather is nine faults on requests of all sorts. One token at most is
// refused: two refusals in a row are what wrong credentials look like.
func weather(dice *rand.Rand) []githubsim.Fault {
	kinds := []githubsim.FaultKind{
		githubsim.FaultPrimary, githubsim.FaultPrimary429, githubsim.FaultSecondary, githubsim.FaultSecondaryPlain,
		githubsim.FaultAbuse, githubsim.FaultSecondary429, githubsim.FaultServerError, githubsim.FaultLostAnswer,
		githubsim.FaultCutBefore, githubsim.FaultCutAfter, githubsim.FaultHangBefore, githubsim.FaultHangAfter,
	}
	all := slices.Concat(reads(), tokens(), writes(), writes()) // writes are what it is about
	var out []githubsim.Fault
	for range 8 {
		f := all[dice.IntN(len(all))].fault(kinds[dice.IntN(len(kinds))])
		f.Nth = 1 + dice.IntN(3)
		out = append(out, f)
	}
	e := writes()[dice.IntN(len(writes()))]
	return append(out, e.fault(githubsim.FaultUnauthorized))
}

// answered says whether the question got its reply.
func (w *world) answered() bool {
	for _, c := range w.ourComments() {
		if _, kind, ok := solve.FindMarker(c); ok && kind == string(solve.EffectReply) {
			return true
		}
	}
	return false
}
