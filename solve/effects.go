package solve

import (
	"cmp"
	"strconv"
)

// MaxRunChecks is how many runs of a solve get a check run of their own; the
// others are rows of the solve's check run. A commit page with more is unreadable.
const MaxRunChecks = 12

// The names GitHub gives the reactions we use.
const (
	ReactionSeen   = "eyes"
	ReactionRefuse = "-1"
	ReactionSolved = "hooray"
	ReactionSorry  = "confused"
)

// Level says whether effects of the kind are level-triggered: asking again for a
// known key asks for a newer version. Of the other kinds, a known key is left alone.
func (k EffectKind) Level() bool {
	return k == EffectNotice || k == EffectCheck || k == EffectRun
}

// EffectsOf names the visible writes that an event makes necessary; s and run
// are the records after the change, and run is nil for a change of the solve.
//
// It may name an effect that was named before: engines merge by key, see
// [EffectKind.Level]. Texts of level-triggered effects, pull requests, final comments
// and refusals are rendered when they are written, so they are not here. A solve
// that nobody ever claimed (Started is zero) has no commit to carry checks and no comment
// to edit: it gets only its answer, and one whose Refused is set gets the reason and
// nothing else. A comment that told its place in the queue is brought to its end, too.
func EffectsOf(s Solve, run *Run, ev EventName) []Effect {
	if run != nil {
		return runEffects(s, *run, ev)
	}
	claimed := !s.Started.IsZero()
	switch {
	case ev == EventGreeted:
		out := []Effect{s.reaction(EffectReact, ReactionSeen)}
		if s.Place > 0 {
			out = append(out, s.effect(EffectNotice))
		}
		return out
	case ev == EventClaimed:
		return []Effect{
			s.reaction(EffectReact, ReactionSeen),
			s.effect(EffectClaim),
			s.effect(EffectNotice),
			s.effect(EffectCheck),
		}
	case s.State.Final() && s.Refused && !claimed:
		out := refusalEffects(s)
		if s.Place > 0 { // a comment says that it waits
			out = append(out, s.effect(EffectNotice))
		}
		return out
	case s.State.Final():
		return finalEffects(s, claimed)
	case ev == EventChampion:
		return []Effect{s.effect(EffectPull), s.effect(EffectNotice), s.effect(EffectCheck)}
	default:
		return []Effect{s.effect(EffectNotice), s.effect(EffectCheck)}
	}
}

// refusalEffects tell why nothing was done, and those who may not ask after everybody else.
func refusalEffects(s Solve) []Effect {
	reply, refuse := s.effect(EffectReply), s.reaction(EffectReact, ReactionRefuse)
	switch {
	case s.Denied && s.Silent:
		return nil
	case s.Denied:
		reply, refuse = s.denied(reply), s.denied(refuse)
	case !s.Greeted.IsZero():
		refuse = s.reaction(EffectDone, ReactionRefuse) // the first reaction is there already
	}
	return []Effect{refuse, reply}
}

// denied is an effect for somebody who may not ask, once for each person and issue.
func (s Solve) denied(e Effect) Effect {
	e.Key = DeniedReplyID(s.Repo, s.Issue.Number, s.Trigger.Actor) + "/" + string(e.Kind)
	e.Priority = PriorityDenied
	return e
}

func finalEffects(s Solve, claimed bool) []Effect {
	name := ReactionSorry
	if s.State == StateSolved {
		name = ReactionSolved
	}
	out := []Effect{s.effect(EffectFinal), s.reaction(EffectDone, name)}
	if !claimed && s.Place > 0 {
		out = append(out, s.effect(EffectNotice))
	}
	if !claimed {
		return out
	}
	if s.State != StateSolved && s.Target() == nil {
		out = append(out, s.effect(EffectRelease))
	}
	out = append(out, s.effect(EffectNotice), s.effect(EffectCheck))
	if s.Decision == nil {
		return out // runs that this change ended bring their own
	}
	for n := 1; n <= min(len(s.Plan.Experiments), MaxRunChecks); n++ {
		out = append(out, s.runCheck(n))
	}
	return out
}

// runEffects leaves out the changes that no text shows.
func runEffects(s Solve, run Run, ev EventName) []Effect {
	switch ev {
	case EventAdmitted, EventAdopted, EventAgentEnded:
		return nil
	}
	out := []Effect{s.effect(EffectNotice), s.effect(EffectCheck)}
	if run.N <= MaxRunChecks {
		out = append(out, s.runCheck(run.N))
	}
	return out
}

func (s Solve) effect(kind EffectKind) Effect {
	return Effect{
		V:        1,
		Key:      string(s.ID) + "/" + string(kind),
		Kind:     kind,
		Repo:     s.Repo,
		Issue:    cmp.Or(s.Trigger.Thread, s.Issue.Number),
		Solve:    s.ID,
		Priority: Priority(kind),
		State:    EffectPending,
		Wanted:   1,
	}
}

func (s Solve) reaction(kind EffectKind, name string) Effect {
	e := s.effect(kind)
	e.CommentID, e.Text = s.Trigger.CommentID, name
	return e
}

func (s Solve) runCheck(n int) Effect {
	e := s.effect(EffectRun)
	e.Key += "/" + strconv.Itoa(n)
	e.Run = n
	return e
}
