package solver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// TestCLIAgent: a program that lives in the sandbox has its way to the gateway there and
// nowhere else, its calls are booked on the run, and nothing of it is left.
func TestCLIAgent(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.lodge(10 * time.Second)
		w.writer()
		w.start("a")
		id := w.ask(lodgers)
		s := w.final(id, solve.StateSolved)
		r := w.ends(id, solve.RunPassed)[0]
		if p := r.Progress; p.Steps != 3 || p.Usage.Calls != 3 || p.Usage.Cost != 3*call || p.Usage.Input != 15 || p.Edits != 1 {
			w.Errorf("progress %+v", p)
		}
		if got := solve.Cost(w.runs(id)); got != 3*call {
			w.Errorf("the solve cost %s", got)
		}
		name := "y-" + string(s.ID) + "-1-1"
		spec := w.driver.specs("work")[0]
		if !spec.Launch || spec.Network.Socket != "/doors/"+name || len(spec.Network.Allow) > 0 {
			w.Errorf("the sandbox was opened with %+v", spec)
		}
		for _, other := range slices.Concat(w.driver.specs("judge"), w.driver.specs("prepare")) {
			if other.Launch || other.Network.Socket != "" {
				w.Errorf("sandbox %s has a way to the gateway", other.Name)
			}
		}
		d := w.doors
		if len(d.open) > 0 || !slices.Contains(d.forgot, name) || d.where[name] != agent.AccessSocket || l.launch != 1 {
			w.Errorf("open %v, forgot %v, where %v, launched %d", d.open, d.forgot, d.where, l.launch)
		}
		data, err := w.store.Artifact(w.Context(), id, "run-1.traj.json")
		if err != nil || !strings.Contains(string(data), "its own") {
			w.Errorf("trajectory %q, %v", data, err)
		}
		data, err = w.store.Artifact(w.Context(), id, "run-1-call-"+w.doors.last.UTC().Format("20060102-150405.000000000")+".json")
		if err != nil || !strings.Contains(string(data), `"q": 1`) || !strings.Contains(string(data), `"response": "no json"`) {
			w.Errorf("recorded call %q, %v", data, err)
		}
	})
}

// TestCLIAgentGoesOn: a program that runs while yudai is stopped, or dies, is followed by
// the next process: it is not started again, its door was never shut, its calls count once.
func TestCLIAgentGoesOn(t *testing.T) {
	for name, end := range map[string]func(*process){
		"stopped": func(p *process) { _ = p.stop() },
		"killed":  func(p *process) { p.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.lodge(time.Minute)
				l.calls = 30
				w.writer()
				a := w.start("a")
				id := w.ask(lodgers)
				w.await(time.Hour, "some calls", func() bool { return len(w.runs(id)) > 0 && w.run1(id).Progress.Usage.Calls >= 5 })
				end(a)
				if len(w.doors.shut) > 0 {
					w.Errorf("shut %v while the program goes on", w.doors.shut)
				}
				for run, account := range w.doors.open { // as the gateway's last breath
					if err := account.Begin(w.Context(), 1); errors.Is(err, agent.ErrRunOver) {
						w.Errorf("run %s is told that it is over", run)
					}
				}
				w.start("b")
				w.final(id, solve.StateSolved)
				r := w.ends(id, solve.RunPassed)[0]
				if l.launch != 1 || r.Attempt != 1 || r.Progress.Usage.Calls < 28 || r.Progress.Usage.Calls > 30 {
					w.Errorf("launched %d times, attempt %d, %d calls", l.launch, r.Attempt, r.Progress.Usage.Calls)
				}
			})
		})
	}
}

// TestGatewayIsSwept: what it keeps for runs that nobody works on goes, and nothing else.
func TestGatewayIsSwept(t *testing.T) {
	require.Daily(t)
	bubble(t, func(w *world) {
		w.lodge(5 * time.Minute)
		w.cfg.SweepEvery = time.Minute
		w.writer()
		w.start("a")
		id := w.ask(lodgers)
		w.await(time.Hour, "a call", func() bool { return len(w.runs(id)) > 0 && w.run1(id).Progress.Usage.Calls > 0 })
		mine := "y-" + string(id) + "-1-1"
		w.doors.mu.Lock()
		w.doors.kept = []string{"y-old-1-1", mine}
		w.doors.mu.Unlock()
		forgotten := func(run string) func() bool {
			return func() bool { w.doors.mu.Lock(); defer w.doors.mu.Unlock(); return slices.Contains(w.doors.forgot, run) }
		}
		w.await(time.Hour, "the old one is forgotten", forgotten("y-old-1-1"))
		if forgotten(mine)() {
			w.Error("the way of a run at work was removed")
		}
		w.final(id, solve.StateSolved)
	})
}

// TestCLIAgentLost: a program that was lost with its machine begins anew, and what it had
// paid stays paid.
func TestCLIAgentLost(t *testing.T) {
	bubble(t, func(w *world) {
		l := w.lodge(time.Minute)
		l.calls = 0 // the lodger's own sign that its program was lost
		w.writer()
		w.start("a")
		id := w.ask(lodgers)
		w.final(id, solve.StateUnsolved)
		r := w.ends(id, solve.RunLost)[0]
		if l.launch != 2 || r.Attempt != 2 || !strings.Contains(r.Reason, "the agent's program was lost") {
			w.Errorf("launched %d times, attempt %d: %s", l.launch, r.Attempt, r.Reason)
		}
	})
}

// TestCLIAgentIsHeldToItsLimits at the gateway, whatever the program does.
func TestCLIAgentIsHeldToItsLimits(t *testing.T) {
	for exit, set := range map[string]func(*world, *lodger){
		agent.ExitLimits: func(w *world, _ *lodger) { w.cfg.Limits.RunSteps = 4 },
		agent.ExitBudget: func(w *world, _ *lodger) { w.cfg.Limits.SolveUSD = 0.04 },
	} {
		t.Run(exit, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.lodge(time.Hour)
				l.calls = 100
				set(w, l)
				w.writer()
				w.start("a")
				id := w.ask(lodgers)
				w.final(id, solve.StateUnsolved)
				if r := w.ends(id, solve.RunEmpty)[0]; r.Exit != exit || r.Progress.Steps != 4 {
					w.Errorf("ended %s after %d steps: %s", r.Exit, r.Progress.Steps, r.Reason)
				}
			})
		})
	}
}

// TestCLIAgentNeedsAPlace: what cannot be is said before anything is paid.
func TestCLIAgentNeedsAPlace(t *testing.T) {
	for want, set := range map[string]func(*world, *lodger){
		"The agent lodger speaks messages, and the model good offers chat. Choose another model or agent": func(_ *world, l *lodger) {
			l.needs.APIs = []string{agent.APIMessages}
		},
		"and the model good offers no API that agents can call. Choose another model or agent": func(w *world, _ *lodger) { w.models.silent = true },
		"keeps a program running in the sandbox, and the driver fake cannot do that. Choose another driver (sandbox=) or the agent mini.": func(w *world, _ *lodger) {
			w.driver.SetTraits(func(t *sandbox.Traits) { t.Launch = false })
		},
		"set server.public_url to an address of this server with a name and the usual port": func(w *world, _ *lodger) {
			w.driver.SetTraits(func(t *sandbox.Traits) { t.Socket = false })
		},
		"set swe_agent.command": func(_ *world, l *lodger) { l.unready = errors.New("the agent is not there: set swe_agent.command") },
		"The agent lodger could not be installed in the sandbox (exit 3). Choose another agent (agents=), or give the sandbox what it lacks (docs/agents.md). Its last line: `no python3`": func(w *world, l *lodger) {
			l.needs.Install = agent.Installation{Command: "pip install"}
			w.machine.on("mkdir", exit(3, "no python3\n"))
		},
	} {
		t.Run(want, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.lodge(time.Second)
				set(w, l)
				w.writer()
				w.start("a")
				s := w.final(w.ask(lodgers), solve.StateFailed)
				if !strings.Contains(s.Reason, want) || l.launch != 0 {
					w.Errorf("launched %d: %s", l.launch, s.Reason)
				}
			})
		})
	}
}

// TestCLIAgentElsewhere: a sandbox without a socket of ours may reach the gateway's public
// name and nothing else, and is prepared alone with that name, too, where there are no bases.
func TestCLIAgentElsewhere(t *testing.T) {
	for name, forks := range map[string]bool{"with bases": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.lodge(5 * time.Second)
				w.doors.public = "yudai.example.org"
				l.needs.Install = agent.Installation{Command: "pip install", Hosts: []string{"pypi.org"}}
				w.machine.on("mkdir", exit(0, ""))
				w.driver.SetTraits(func(t *sandbox.Traits) { t.Socket, t.Fork = false, forks })
				w.writer()
				w.start("a")
				id := w.ask(lodgers)
				w.final(id, solve.StateSolved)
				spec, allow := w.driver.specs("work")[0], []string{"yudai.example.org"}
				if !forks {
					allow = []string{"pypi.org"} // until it is installed
				}
				if !slices.Equal(spec.Network.Allow, allow) || spec.Network.Socket != "" || w.doors.where[spec.Name] != agent.AccessPublic {
					w.Errorf("opened with %+v, by %d", spec.Network, w.doors.where[spec.Name])
				}
				if last := w.driver.networks(spec.Name); !forks && (len(last) == 0 || !slices.Equal(last[len(last)-1].Allow, []string{"yudai.example.org"})) {
					w.Errorf("restricted to %v", last)
				}
			})
		})
	}
}

// TestAgentsAreInstalledOnce in the base, before the repository's own code runs; a
// repository that says what its install may reach gets no more for an agent's sake.
func TestAgentsAreInstalledOnce(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		hosts  [][]string // of the sandboxes of the preparation
	}{
		"together":    {"", [][]string{{"pypi.org", "proxy.golang.org"}, nil}},
		"own network": {"network: [proxy.golang.org]\n", [][]string{{"pypi.org"}, {"proxy.golang.org"}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				l := w.lodge(time.Second)
				l.needs.Install = agent.Installation{
					Command: "pip install", Hosts: []string{"pypi.org"}, Files: []agent.File{{Path: agent.InstallDir + "/lock", Data: []byte("x"), Mode: 0o600}},
				}
				w.cfg.Tests.Install, w.cfg.Tests.Hosts = installCommand, []string{"proxy.golang.org"}
				w.hub.config = c.config
				w.machine.on("mkdir", exit(0, "")) // the machine counts installs of both kinds
				w.writer()
				w.start("a")
				id := w.ask(lodgers, times(3))
				w.final(id, solve.StateSolved)
				if w.machine.count("mkdir") != 1 || w.machine.count(installCommand) != 1 {
					w.Errorf("installed %d and %d times", w.machine.count("mkdir"), w.machine.count(installCommand))
				}
				var hosts [][]string
				for _, s := range w.driver.specs("prepare") {
					hosts = append(hosts, s.Network.Allow)
				}
				if !slices.EqualFunc(hosts, c.hosts, slices.Equal[[]string]) {
					w.Errorf("opened for %v, want %v", hosts, c.hosts)
				}
			})
		})
	}
}
