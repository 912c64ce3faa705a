package solve

// FollowKind is how a solve goes on from an earlier one.
type FollowKind string

// The kinds.
const (
	// FollowRetry carries the passed runs over and runs the other experiments again.
	FollowRetry FollowKind = "retry"
	// FollowPick carries all runs over and makes one the champion.
	FollowPick FollowKind = "pick"
	// FollowRevise starts from the head of the champion's pull request, with the
	// wish added to the task.
	FollowRevise FollowKind = "revise"
)

// Follow says from which solve one goes on, and how.
type Follow struct {
	Kind FollowKind `json:"kind"`
	Of   ID         `json:"of"`
	// N is the run that was picked.
	N int `json:"n,omitempty"`
	// Text is what the revision should do, as the person wrote it; what goes on with
	// the runs of a revision keeps it.
	Text string `json:"text,omitempty"`
	// Pull is the pull request that gets the champion; nil if the earlier solve has
	// none, and this one opens it. Its Commit is the head that the solve starts from:
	// a branch that somebody moved on is left alone.
	Pull *Pull `json:"pull,omitempty"`
}

// Origin names the run of an earlier solve.
type Origin struct {
	Solve ID  `json:"solve"`
	N     int `json:"n"`
}

// Picked says whether a person chose the champion.
func (s Solve) Picked() bool { return s.Follows != nil && s.Follows.Kind == FollowPick }

// Carries says whether runs of the earlier solve count in this one.
func (s Solve) Carries() bool { return s.Follows != nil && s.Follows.Kind != FollowRevise }

// Revises says whether the solve works on the champion's pull request.
func (s Solve) Revises() bool { return s.Follows != nil && s.Follows.Kind == FollowRevise }

// Revision says whether the runs were made on top of the champion's pull request: by
// a revision, or by what goes on with the runs of one.
func (s Solve) Revision() bool { return s.Follows != nil && s.Follows.Text != "" }

// Decide is the champion of a solve: the reducer's, or the run a person picked.
// A picked run that cannot win (its tests do not pass, or its patch is refused)
// makes no champion, and neither does one that is unproven where that is to be told only.
func Decide(s Solve, runs []Run, rule Rule) Decision {
	d := Reduce(runs, rule)
	if s.withholds(runs, d) {
		d.Withheld, d.Champion = d.Champion, 0
	}
	if !s.Picked() {
		return d
	}
	d.First, d.Champion = d.Champion, 0
	for i := range runs {
		if runs[i].N == s.Follows.N && eligible(&runs[i]) {
			d.Champion, d.PickedBy = runs[i].N, s.Trigger.Actor
		}
	}
	return d
}

// Eligible says whether a run may become a champion.
func Eligible(r Run) bool { return eligible(&r) }

// Target is the open pull request that the solve's champion goes to; nil if the
// solve opens one of its own.
func (s Solve) Target() *Pull {
	if s.Follows == nil {
		return nil
	}
	return s.Follows.Pull
}

// Task is what the agents read: the issue, and what a revision is asked to do,
// both without what a reader of the page does not see.
func (s Solve) Task() string {
	task := CleanIssue(s.Issue.Title, s.Issue.Body)
	if !s.Revision() {
		return task
	}
	return task + "\n\nThe repository already holds a proposed change for this issue. A reviewer asks for this on top of it:\n\n" +
		CleanIssue("", s.Follows.Text)
}
