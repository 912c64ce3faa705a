package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/moby/client"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/dockerd"
	"github.com/yudai-dev/yudai/test/e2bsim"
	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/primesim"
	"github.com/yudai-dev/yudai/test/require"
)

// place is one sandbox driver with what it needs, for worlds to use.
type place struct {
	name string
	// use sets a world up for it.
	use func(w *world)
	// left lists the sandboxes and bases that somebody would still pay for.
	left func() []string
	// mend ends what is wrong with the provider, before what is left is counted.
	mend func()
	// One of them is set where the provider is a stub.
	e2b   *e2bsim.Server
	prime *primesim.Server
}

// Variables with the keys of the stubs, set for the whole program: real keys that
// somebody has in the usual ones are left alone.
const (
	stubKeyE2B   = "YUDAI_TEST_STUB_KEY_E2B"
	stubKeyPrime = "YUDAI_TEST_STUB_KEY_PRIME"
)

// setStubKeys is called before any test runs.
func setStubKeys() {
	for name, key := range map[string]string{stubKeyE2B: e2bsim.Key, stubKeyPrime: primesim.DefaultKey} {
		if err := os.Setenv(name, key); err != nil {
			panic(err)
		}
	}
}

// places starts what all drivers need: an engine, and the stubs of the services.
func places(t *testing.T) []place {
	t.Helper()
	requireSandbox(t)
	return []place{localPlace(), dockerPlace(t), e2bPlace(t), primePlace(t)}
}

func localPlace() place {
	var dirs []string
	return place{
		name: "local", use: func(w *world) { dirs = append(dirs, w.cfg.Sandbox.Local.Dir) },
		left: func() (left []string) {
			for _, dir := range dirs {
				for _, kind := range []string{"sandboxes", "bases"} {
					found, _ := filepath.Glob(filepath.Join(dir, kind, "*"))
					left = append(left, found...)
				}
			}
			return left
		},
	}
}

func dockerPlace(t *testing.T) place {
	t.Helper()
	require.Need(t, "docker", dockerd.Missing())
	engine, err := dockerd.Start(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Stop(); err != nil {
			t.Error(err)
		}
	})
	cli, err := engine.Client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cli.Close() })
	return place{
		name: "docker",
		use: func(w *world) {
			w.cfg.Sandbox.Driver, w.cfg.Sandbox.Docker.Host, w.cfg.Sandbox.Docker.Image = "docker", engine.Host, engine.Image
			w.cfg.Sandbox.Docker.AllowUnlimited = true
			w.cfg.Sandbox.Docker.USDPerHour = 0.5
		},
		left: func() []string { return inEngine(cli, engine.Image) },
	}
}

// inEngine lists containers and images beside the one to start from.
func inEngine(cli *client.Client, own string) (left []string) {
	boxes, err := cli.ContainerList(context.Background(), client.ContainerListOptions{All: true})
	if err != nil {
		return []string{err.Error()}
	}
	for _, c := range boxes.Items {
		left = append(left, fmt.Sprint("container ", c.Names))
	}
	images, err := cli.ImageList(context.Background(), client.ImageListOptions{All: true})
	if err != nil {
		return []string{err.Error()}
	}
	for _, i := range images.Items {
		if !slices.Contains(i.RepoTags, own) {
			left = append(left, fmt.Sprint("image ", i.RepoTags))
		}
	}
	return left
}

func e2bPlace(t *testing.T) place { return e2bWith(t, nil) }

// e2bWith is a stub of E2B whose sandboxes may reach these hosts.
func e2bWith(t *testing.T, hosts map[string]string) place {
	t.Helper()
	require.Machines(t, machine.Supported())
	s, err := e2bsim.New(e2bsim.Options{Dir: t.TempDir(), Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return place{
		name: "e2b", e2b: s,
		use: func(w *world) {
			w.cfg.Sandbox.Driver = "e2b"
			w.cfg.Sandbox.E2B.APIURL, w.cfg.Sandbox.E2B.SandboxURL, w.cfg.Sandbox.E2B.Template = s.URL(), s.SandboxURL(), "base"
			w.cfg.Sandbox.E2B.APIKeyEnv = stubKeyE2B
		},
		left: func() []string { return append(s.Billed(), s.Stored()...) },
	}
}

func primePlace(t *testing.T) place { return primeWith(t, nil) }

// primeWith is a stub of Prime whose sandboxes may reach these hosts.
func primeWith(t *testing.T, hosts map[string]string) place {
	t.Helper()
	require.Machines(t, machine.Supported())
	s, err := primesim.New(primesim.Options{Dir: t.TempDir(), Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return place{
		name: "prime", prime: s,
		use: func(w *world) {
			w.cfg.Sandbox.Driver = "prime"
			w.cfg.Sandbox.Prime.APIURL, w.cfg.Sandbox.Prime.Image = s.URL(), primesim.DefaultImage
			w.cfg.Sandbox.Prime.APIKeyEnv = stubKeyPrime
		},
		left: func() []string { return append(s.Billed(), s.Stored()...) },
	}
}

// settle makes a world one of this place, patient with a machine that many share.
func (p place) settle(w *world) {
	w.cfg.Sandbox.Records, w.cfg.Solver.SweepEvery = filepath.Join(w.dir, "records"), time.Second
	w.cfg.Sandbox.Docker.ProxyDir = filepath.Join(w.dir, "proxies")
	limits := &w.cfg.GitHub.Write
	limits.Timeout, limits.Lease, limits.ListLag = 5*time.Second, 15*time.Second, 15*time.Second
	w.cfg.Solver.LeaseTime = 20 * time.Second
	p.use(w)
}

// matrix makes a world on a place whose label asks for twelve experiments.
func (p place) matrix(t *testing.T) (*world, func() report.View) {
	w, a := faultRow{}.world(t)
	w.github = described(t)
	p.settle(w)
	w.cfg.Solver.Defaults.Models = []string{"wanderer", "hasty", "sprawling", "careful", "breaker", "cheater"}
	w.cfg.Solver.Defaults.Temps = []float64{0.2, 0.6}
	// Without the time: of equal patches the one with the lower temperature wins, however fast a place is.
	w.cfg.Solver.Order = []string{"passed", "keeps_tests", "fixes", "files", "size", "temperature", "model", "run"}
	return w, func() report.View {
		srv, stop := w.serve()
		defer stop()
		w.openIssue(a)
		w.must(w.hub.Label(w.repo.FullName(), w.issue, user, "yudai:solve"))
		v := w.final(srv, 5*time.Minute)
		p.clears(w)
		return v
	}
}

// clears waits until nothing costs money any more: what could not be closed at once is swept.
func (p place) clears(w *world) {
	w.t.Helper()
	if p.mend != nil {
		p.mend()
	}
	said := ""
	w.poll(30*time.Second, func() bool {
		left := p.left()
		if now := fmt.Sprint(left); now != said {
			said = now
			w.t.Logf("left at %s: %q", p.name, left)
		}
		return len(left) == 0
	})
}

// TestDrivers is what has to hold with every driver. It comes before the tests that run
// beside each other: engines and stubs take the machine's whole attention.
func TestDrivers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(t *testing.T){
		"same champion everywhere": sameChampionEverywhere, "killed everywhere": killedEverywhere,
		"trouble at providers": troubleAtProviders, "fallback takes over": fallbackTakesOver, "key revoked": keyRevoked,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Daily(t)
			if name != "same champion everywhere" {
				require.Long(t)
			}
			test(t)
		})
	}
}

// sameChampionEverywhere runs the same solve of twelve experiments on every
// driver: the same ends of all runs, the same champion with the same patch, and
// nothing left that costs money.
func sameChampionEverywhere(t *testing.T) {
	type outcome struct {
		Champion, Patch string
		Runs            []string
	}
	got := make(chan outcome, 4)
	for _, p := range places(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			_, play := p.matrix(t)
			v := play()
			if v.Solve.State != solve.StateSolved || len(v.Runs) != 12 {
				t.Fatalf("%d runs; the solve is %s (%s): %s", len(v.Runs), v.Solve.State, v.Solve.Reason, states(v))
			}
			champion := v.Runs[v.Solve.Decision.Champion-1]
			o := outcome{
				Champion: fmt.Sprint(champion.N, " ", champion.Experiment.Model, " ", *champion.Experiment.Temperature),
				Patch:    champion.Candidate.SHA256, Runs: ends(v),
			}
			if !strings.Contains(o.Champion, "careful 0.2") {
				t.Errorf("the champion is %s", o.Champion)
			}
			got <- o
		})
	}
	t.Cleanup(func() { // runs after the parallel subtests
		close(got)
		first := <-got
		for o := range got {
			if diff := cmp.Diff(first, o); diff != "" {
				t.Errorf("two places differ:\n%s", diff)
			}
		}
	})
}

// ends is how every run ended, without times.
func ends(v report.View) []string {
	var out []string
	for _, r := range v.Runs {
		verdict := "none"
		if r.Verdict != nil {
			verdict = fmt.Sprint(r.Verdict.Outcome, r.Verdict.BrokenTests)
		}
		out = append(out, fmt.Sprintf("%d %s %s %s %s", r.N, r.Experiment.Model, r.State, r.Exit, verdict))
	}
	return out
}

// killedEverywhere kills the process while a run is between two steps, and
// while its base is prepared. The next process finds the run's sandbox where it
// is and goes on at the next step; in the end nothing is left.
func killedEverywhere(t *testing.T) {
	for _, p := range places(t)[1:] { // local is what the other tests of crashes use
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, state := range []string{"preparing", "working"} {
				t.Run(state, func(t *testing.T) { p.killedIn(t, state) })
			}
		})
	}
}

func (p place) killedIn(t *testing.T, state string) {
	a, s := load(t, "crash/slow")
	w := newWorld(t, a)
	p.settle(w)
	w.cfg.Solver.LeaseTime = 8 * time.Second
	first := w.startProcess()
	w.openIssue(a)
	w.trigger(s)
	if state == "working" {
		w.awaitTranscript(4, 2*time.Minute)
	} else {
		w.poll(time.Minute, func() bool { return len(p.left()) > 0 })
	}
	first.kill()
	srv, stop := w.serve()
	v := w.final(srv, 4*time.Minute)
	w.checkSolve(v, s)
	if r := v.Runs[0]; r.Attempt != 1 || r.Progress.Usage.Calls != 4 {
		t.Errorf("attempt %d with %d model calls, want 1 with 4: its sandbox was there", r.Attempt, r.Progress.Usage.Calls)
	}
	p.clears(w)
	stop()
}
