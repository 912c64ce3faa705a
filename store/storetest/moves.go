package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/solve"
)

// pair is the model and the engine under test, which get the same operations.
type pair struct {
	a, b   Store
	ctx    context.Context
	now    time.Time // the clock of both
	Helper func()
	Fatalf func(format string, args ...any)
}

// nothing is the answer of operations that return only an error.
type nothing struct{}

// do performs an operation that returns only an error on both.
func (p *pair) do(what string, op func(s Store) error) {
	p.Helper()
	_, _ = ask(p, what, func(s Store) (nothing, error) { return nothing{}, op(s) })
}

func (p *pair) ids() []solve.ID {
	return []solve.ID{"s1", "s2", "s3", "s4", "s5", "s6"}
}

func artifactNames() []string { return []string{"a.patch", "b", "No"} }

func pick[T any](t *rapid.T, name string, list ...T) T { return rapid.SampledFrom(list).Draw(t, name) }

func (p *pair) node(t *rapid.T) string { return pick(t, "node", "n1", "n2", "n1", "n3", "", "../n") }

func (p *pair) id(t *rapid.T) solve.ID { return pick(t, "solve", p.ids()...) }

// wish is a solve as somebody asks for it; most names are used more than once.
func (p *pair) wish(t *rapid.T) solve.Solve {
	s := solve.Solve{ID: p.id(t), Issue: solve.Issue{Number: pick(t, "issue", 1, 2, 3), Title: "title"}}
	s.Repo = solve.Repo{ID: pick(t, "repo", int64(1), 2), Owner: "owner", Name: "name"}
	// An App that is installed again has another number for the same repository.
	s.Repo.Installation = pick(t, "installation", int64(1), 1, 2)
	s.Trigger = solve.Trigger{Key: pick(t, "trigger", string(s.ID), string(s.ID), "k1", "k2", ""), Actor: "me", CommentID: 7}
	s.Created = pick(t, "created", time.Time{}, p.now, p.now.Add(-time.Second))
	return s
}

// moves are the operations, by name.
func (p *pair) moves() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"tick":  func(t *rapid.T) { p.now = p.now.Add(time.Duration(pick(t, "seconds", 1, 1, 3, 8)) * time.Second) },
		"":      func(*rapid.T) {},
		"beat1": p.heartbeat, "beat2": p.heartbeat, "leave": p.leave,
		"accept": p.accept, "create1": p.create, "create2": p.create, "answer": p.answerAsk,
		"ready1": p.ready, "ready2": p.ready,
		"claim1": p.claim, "claim2": p.claim, "admit1": p.admit, "admit2": p.admit, "rescue": p.rescue,
		"solve1": p.applySolve, "solve2": p.applySolve, "solve3": p.applySolve,
		"run1": p.applyRun, "run2": p.applyRun, "run3": p.applyRun,
		"pull": p.endPull, "test": p.test, "cancel": p.cancel, "step": p.step, "artifact": p.artifact,
		"write1": p.write, "write2": p.write, "write3": p.write, "write4": p.write,
	}
}

func (p *pair) heartbeat(t *rapid.T) {
	node, ttl := p.node(t), pick(t, "ttl", 5*time.Second, time.Minute)
	p.do("heartbeat", func(s Store) error { return s.Heartbeat(p.ctx, node, ttl) })
}

func (p *pair) endPull(t *rapid.T) {
	id, outcome := p.id(t), pick(t, "outcome", solve.PullOpen, solve.PullMerged, solve.PullClosed)
	p.do("end pull", func(s Store) error { return s.Learn(p.ctx, id, solve.Fate{Pull: outcome}) })
}

func (p *pair) test(t *rapid.T) {
	id, passes := p.id(t), map[int]bool{pick(t, "run", 1, 2): rapid.Bool().Draw(t, "passes")}
	p.do("test", func(s Store) error { return s.Learn(p.ctx, id, solve.Fate{Tests: passes}) })
}

func (p *pair) leave(t *rapid.T) {
	if node := p.node(t); rapid.Bool().Draw(t, "leave") {
		p.do("leave", func(s Store) error { return s.Leave(p.ctx, node) })
	}
}

func (p *pair) accept(t *rapid.T) {
	d := solve.Delivery{GUID: pick(t, "guid", "g1", "g2", "g3", "g4", "g5", ""), Payload: []byte("{}")}
	var w solve.Intent
	switch pick(t, "wish", "solve", "solve", "ask", "none") {
	case "solve":
		one := p.wish(t)
		w.Solve = &one
	case "ask":
		w.Command = &solve.Command{ID: pick(t, "ask", "", "g1", "g9"), Kind: solve.CommandHelp, Issue: 1, At: pick(t, "at", p.now, p.now.Add(-time.Second))}
	}
	_, _ = ask(p, "accept", func(s Store) (bool, error) { return s.Accept(p.ctx, d, w) })
}

func (p *pair) create(t *rapid.T) {
	wish := p.wish(t)
	type made struct {
		solve.Solve
		Made bool
	}
	_, _ = ask(p, "create", func(s Store) (made, error) {
		got, created, err := s.Create(p.ctx, wish)
		return made{got, created}, err
	})
}

func (p *pair) answerAsk(t *rapid.T) {
	id := pick(t, "ask", "g1", "g2", "g3", "g9")
	kind := pick(t, "kind", solve.EffectReply, solve.EffectNotice)
	e := solve.Effect{Key: pick(t, "owner", id, "s1") + "/" + string(kind), Kind: kind, Priority: solve.Priority(kind), Text: "text"}
	p.do("answer", func(s Store) error { return s.Answer(p.ctx, id, []solve.Effect{e, e}) })
}

// ready takes a new solve to where its runs are admitted, as workers do.
func (p *pair) ready(t *rapid.T) {
	p.do("heartbeat", func(s Store) error { return s.Heartbeat(p.ctx, "n1", time.Minute) })
	p.create(t)
	rule := pick(t, "rule", "", solve.StopAll, solve.StopFirstGreen, solve.StopWaves, solve.StopWaves)
	parallel, budget := pick(t, "parallel", 0, 1, 2), pick(t, "budget", 0, 0, 10*time.Second)
	for range 2 {
		s, err := ask(p, "claim", func(s Store) (solve.Solve, error) { return s.ClaimSolve(p.ctx, "n1") })
		if err != nil || s.State != solve.StateQueued {
			return
		}
		plan := solve.Plan{Limits: solve.Limits{Parallel: parallel, SolveTime: budget}, Stop: rule}
		p.apply(solve.Change{Solve: s.ID, Token: s.Lease.Token, Event: solve.Claimed{Plan: plan}})
		p.apply(solve.Change{Solve: s.ID, Token: s.Lease.Token, Event: solve.BaseReady{Runs: waved(t, 1, 3)}})
	}
}

// waved are runs from a number on, each in a wave.
func waved(t *rapid.T, from, n int) (out []solve.Run) {
	for i := range n {
		wave := pick(t, "wave", 0, 1, 1, 2, 2, 3)
		out = append(out, solve.Run{N: from + i, Experiment: solve.Experiment{Wave: wave}})
	}
	return out
}

func (p *pair) claim(t *rapid.T) {
	node := p.node(t)
	_, _ = ask(p, "claim", func(s Store) (solve.Solve, error) { return s.ClaimSolve(p.ctx, node) })
}

func (p *pair) admit(t *rapid.T) {
	node, few := p.node(t), rapid.SampledFrom([]int{0, 1, 2, 3})
	caps := solve.Caps{Process: few.Draw(t, "process"), Installation: few.Draw(t, "installation"), Repository: few.Draw(t, "repository")}
	p.admitWith(node, caps)
}

func (p *pair) admitWith(node string, caps solve.Caps) {
	_, _ = ask(p, "admit", func(s Store) ([]solve.Run, error) {
		list, err := s.Admit(p.ctx, node, caps)
		return append([]solve.Run{}, list...), err
	})
}

func (p *pair) rescue(t *rapid.T) { p.rescueAs(p.node(t)) }

// rescueAs compares what was rescued, in whatever order.
func (p *pair) rescueAs(node string) {
	_, _ = ask(p, "rescue", func(s Store) ([]solve.Run, error) {
		list, err := s.Rescue(p.ctx, node)
		slices.SortFunc(list, func(a, b solve.Run) int { return cmp.Or(cmp.Compare(a.Solve, b.Solve), cmp.Compare(a.N, b.N)) })
		return append([]solve.Run{}, list...), err
	})
}

// token is mostly the record's own.
func token(t *rapid.T, own uint64) uint64 {
	return pick(t, "token", own, own, own, own, own, 0, own+1, own-1)
}

// apply does a change on both.
func (p *pair) apply(ch solve.Change) {
	type after struct {
		S solve.Solve
		R solve.Run
	}
	_, _ = ask(p, fmt.Sprintf("%s of %s/%d", solve.NameOf(ch.Event), ch.Solve, ch.Run), func(s Store) (after, error) {
		one, run, err := s.Apply(p.ctx, ch)
		return after{one, run}, err
	})
}

func (p *pair) applySolve(t *rapid.T) {
	id := p.id(t)
	now, _ := p.a.Solve(p.ctx, id)
	ch := solve.Change{Solve: id, Token: token(t, now.Lease.Token), Reason: "reason"}
	var likely []solve.Event
	for _, ev := range Events() {
		to, err := solve.NextSolve(now.State, solve.NameOf(ev))
		if err == nil && (!to.Final() || pick(t, "end", false, false, true)) {
			likely = append(likely, ev)
		}
	}
	if rapid.IntRange(0, 15).Draw(t, "any") == 0 || len(likely) == 0 {
		likely = Events()
	}
	ch.Event = pick(t, "event", likely...)
	switch ch.Event.(type) {
	case solve.Claimed:
		limits := solve.Limits{Parallel: pick(t, "parallel", 0, 1, 2), SolveTime: pick(t, "budget", 0, 4*time.Second, 30*time.Second)}
		plan := solve.Plan{Limits: limits, Stop: pick(t, "rule", "", solve.StopFirstGreen, solve.StopWaves)}
		plan.Experiments = make([]solve.Experiment, 3)
		ch.Event = solve.Claimed{Plan: plan}
	case solve.BaseReady:
		ch.Event = solve.BaseReady{Runs: waved(t, pick(t, "from", 1, 1, 1, 0), pick(t, "runs", 3, 2, 0))}
	}
	p.apply(ch)
}

func (p *pair) applyRun(t *rapid.T) {
	id, n := p.id(t), pick(t, "run", 1, 2, 3, 1, 2, 4)
	now, _ := p.a.Run(p.ctx, id, n)
	ch := solve.Change{Solve: id, Run: n, Token: token(t, now.Lease.Token), Reason: "reason"}
	var likely []solve.Event
	for _, ev := range Events() {
		if _, err := solve.NextRun(now.State, solve.NameOf(ev)); err == nil {
			likely = append(likely, ev)
		}
	}
	if rapid.IntRange(0, 15).Draw(t, "any") == 0 || len(likely) == 0 {
		likely = Events()
	}
	ch.Event = pick(t, "event", likely...)
	if _, harvested := ch.Event.(solve.Harvested); harvested {
		ch.Event = solve.Harvested{Candidate: solve.Candidate{Refused: pick(t, "refused", "", "", "refused")}}
	}
	p.apply(ch)
}

func (p *pair) cancel(t *rapid.T) {
	id := p.id(t)
	if pick(t, "cancel", true, false, false) {
		_, _ = ask(p, "cancel", func(s Store) (solve.Solve, error) { return s.RequestCancel(p.ctx, id, "me", "") })
	}
}

func (p *pair) step(t *rapid.T) {
	id, n := p.id(t), pick(t, "run", 1, 2, 3)
	now, _ := p.a.Run(p.ctx, id, n)
	k, line := token(t, now.Lease.Token), pick(t, "line", "one\n", "", "two\nthree\n")
	p.do("step", func(s Store) error {
		return s.Step(p.ctx, id, n, k, []byte(line), solve.Progress{Steps: 1, At: p.now})
	})
}

func (p *pair) artifact(t *rapid.T) {
	id, name, text := p.id(t), pick(t, "name", artifactNames()...), pick(t, "text", "", "one", "two")
	p.do("artifact", func(s Store) error { return s.PutArtifact(p.ctx, id, name, []byte(text)) })
}

// write does one step of the life of an effect: mostly of one that is due.
func (p *pair) write(t *rapid.T) {
	keys := []string{"none/comment", "s1/comment", "s2/check"}
	due, _ := p.a.DueEffects(p.ctx)
	for _, e := range due {
		keys = append(keys, e.Key, e.Key)
	}
	k := pick(t, "effect", keys...)
	now, _ := p.a.Effect(p.ctx, k)
	tok, later := token(t, now.Token), time.Duration(pick(t, "later", 0, 2, 5))*time.Second
	switch pick(t, "write", "claim", "claim", "send", "finish", "retry", "kill", "withdraw", "renew") {
	case "claim":
		node := p.node(t)
		_, _ = ask(p, "claim effect", func(s Store) (solve.Effect, error) { return s.ClaimEffect(p.ctx, k, node, later) })
	case "send":
		p.do("send effect", func(s Store) error { return s.SendingEffect(p.ctx, k, tok) })
	case "finish":
		version := now.Wanted - uint64(pick(t, "behind", 0, 0, 1))
		p.do("finish effect", func(s Store) error {
			return s.FinishEffect(p.ctx, k, tok, version, solve.Receipt{ID: 5})
		})
	case "retry":
		unknown := rapid.Bool().Draw(t, "unknown")
		p.do("retry effect", func(s Store) error { return s.RetryEffect(p.ctx, k, tok, later, "again", unknown) })
	case "kill":
		p.do("kill effect", func(s Store) error { return s.KillEffect(p.ctx, k, tok, "refused") })
	case "renew":
		p.do("renew effect", func(s Store) error { return s.RenewEffect(p.ctx, k) })
	default:
		_, _ = ask(p, "withdraw effect", func(s Store) (bool, error) { return s.WithdrawEffect(p.ctx, k, "stop") })
	}
}

// drain lets a new node do all that is left, so that what only an index knows shows.
func (p *pair) drain() {
	p.now = p.now.Add(time.Minute)
	p.do("heartbeat", func(s Store) error { return s.Heartbeat(p.ctx, "last", time.Hour) })
	for range 8 {
		p.rescueAs("last")
		p.admitWith("last", solve.Caps{Process: 3, Installation: 2})
		for _, id := range p.ids() {
			runs, _ := p.a.Runs(p.ctx, id)
			for _, r := range runs {
				if r.State.Active() {
					p.apply(solve.Change{Solve: id, Run: r.N, Token: r.Lease.Token, Event: solve.Aborted{}})
					break
				}
			}
		}
		claimed, err := ask(p, "claim", func(s Store) (solve.Solve, error) { return s.ClaimSolve(p.ctx, "last") })
		if err == nil {
			p.apply(solve.Change{Solve: claimed.ID, Token: claimed.Lease.Token, Event: solve.Aborted{}})
		}
	}
}
