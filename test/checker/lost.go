package checker

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// lost names what was promised and is not there.
func lost(g *github, left final) []string {
	var f findings
	for _, t := range g.acknowledged {
		if !left.stored[t.guid] {
			f.add("delivery %s (%s) was acknowledged and is not stored", t.guid, t.what)
		} else if !left.answers(t.guid) {
			f.add("delivery %s (%s) was acknowledged and led to nothing", t.guid, t.what)
		}
	}
	for _, a := range left.asks {
		f.add("ask %s (%s) was never answered", a.ID, a.Kind)
	}
	for _, s := range left.solves {
		lostOf(&f, g, left, s)
	}
	for _, e := range left.effects {
		lostEffect(&f, g, e)
	}
	for _, c := range g.comments {
		if !c.deleted && c.owner != "" && !left.knows(c.owner) {
			f.add("comment %d belongs to %s, which the store does not know", c.id, c.owner)
		}
	}
	return f
}

// answers says whether a delivery became a solve or an ask that was answered.
func (f final) answers(guid string) bool {
	return slices.ContainsFunc(f.solves, func(s solve.Solve) bool { return s.Trigger.Delivery == guid }) ||
		slices.ContainsFunc(f.effects, func(e solve.Effect) bool { return strings.HasPrefix(e.Key, guid+"/") })
}

// knows says whether a marker's owner is a solve or an answered ask.
func (f final) knows(owner string) bool {
	return slices.ContainsFunc(f.solves, func(s solve.Solve) bool { return string(s.ID) == owner }) || f.answers(owner) ||
		slices.ContainsFunc(f.effects, func(e solve.Effect) bool { return e.Key == owner+"/"+string(solve.EffectReply) }) // a refusal
}

func lostOf(f *findings, g *github, left final, s solve.Solve) {
	for i, e := range left.events[s.ID] {
		if e.Seq != uint64(i+1) {
			f.add("solve %s: event %d stands in place %d", s.ID, e.Seq, i+1)
			break
		}
	}
	if !s.State.Final() {
		f.add("solve %s is still %s", s.ID, s.State)
		return
	}
	for _, r := range left.runs[s.ID] {
		if !r.State.Final() {
			f.add("run %d of solve %s is still %s, the solve is %s", r.N, s.ID, r.State, s.State)
		}
	}
	if s.State == solve.StateSolved {
		lostPull(f, g, left, s)
	}
	answer, owner := solve.EffectFinal, string(s.ID)
	if s.Refused && s.Started.IsZero() {
		answer = solve.EffectReply
	}
	if s.Denied {
		owner = solve.DeniedReplyID(s.Repo, s.Issue.Number, s.Trigger.Actor)
	}
	if !left.dead(s.ID, answer) && !g.says(owner, string(answer)) {
		f.add("solve %s is %s without a comment that says so", s.ID, s.State)
	}
	if !s.Started.IsZero() && !left.dead(s.ID, solve.EffectCheck) && !g.completed(solveCheck(s.ID)) {
		f.add("solve %s is %s without a completed check run", s.ID, s.State)
	}
}

func lostPull(f *findings, g *github, left final, s solve.Solve) {
	switch {
	case s.Pull == nil:
		f.add("solve %s is solved without a pull request", s.ID)
	case !slices.Contains(g.pulls, pull{s.Pull.Number, s.Branch}):
		f.add("solve %s names pull request %d from branch %s, which GitHub never opened", s.ID, s.Pull.Number, s.Branch)
	case !left.dead(s.ID, solve.EffectCheck) && !g.completed(solveCheck(s.ID)+"/head"):
		f.add("pull request %d of solve %s has no completed scorecard", s.Pull.Number, s.ID)
	}
}

// solveCheck is the external id of a solve's own check run.
func solveCheck(id solve.ID) string { return "yudai:" + string(id) }

// dead says that an effect was given up for a reason.
func (f final) dead(id solve.ID, kind solve.EffectKind) bool {
	e, ok := f.effect(id, kind)
	return ok && e.State == solve.EffectDead && e.Error != ""
}

func (g *github) says(owner, kind string) bool {
	return slices.ContainsFunc(g.comments, func(c *comment) bool { return !c.deleted && c.owner == owner && c.kind == kind })
}

func (g *github) completed(external string) bool {
	return slices.ContainsFunc(g.checks, func(c *check) bool { return c.external == external && c.status == "completed" })
}

// lostEffect looks at one effect: done, dead for a reason, and where its receipt says.
func lostEffect(f *findings, g *github, e solve.Effect) {
	switch {
	case e.State == solve.EffectDead && e.Error == "":
		f.add("effect %s was given up without a reason", e.Key)
	case e.State == solve.EffectDead:
	case e.State != solve.EffectApplied:
		f.add("effect %s is still %s%s", e.Key, e.State, because(e.Error))
	case e.Applied < e.Wanted:
		f.add("effect %s is at version %d, wanted is %d", e.Key, e.Applied, e.Wanted)
	case e.Kind == solve.EffectNotice || e.Kind == solve.EffectFinal || e.Kind == solve.EffectReply:
		if !slices.ContainsFunc(g.comments, func(c *comment) bool { return c.id == e.Receipt.ID && !c.deleted }) {
			f.add("effect %s names comment %d, which is not there", e.Key, e.Receipt.ID)
		}
	case e.Kind == solve.EffectCheck || e.Kind == solve.EffectRun:
		if !slices.ContainsFunc(g.checks, func(c *check) bool { return c.id == e.Receipt.ID && !c.superseded() }) {
			f.add("effect %s names check run %d, which is not there", e.Key, e.Receipt.ID)
		}
	}
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", reason)
}
