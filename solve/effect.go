package solve

import "time"

// EffectKind is one kind of visible write to GitHub.
type EffectKind string

// The kinds. Comment, check and run check are level-triggered: a new version
// is wanted whenever the solve changes, and only the newest text is written.
const (
	EffectReact  EffectKind = "react"     // reaction on the trigger
	EffectClaim  EffectKind = "claim"     // the solve's branch on an empty commit
	EffectNotice EffectKind = "comment"   // the one progress comment
	EffectCheck  EffectKind = "check"     // the solve's check run
	EffectRun    EffectKind = "run_check" // one run's check run
	EffectPull   EffectKind = "pull"      // commit, branch, pull request
	EffectFinal  EffectKind = "result"    // the final comment
	EffectReply  EffectKind = "reply"     // the answer to an ask, or a refusal
	EffectDone   EffectKind = "outcome"   // the closing reaction on the trigger
	// EffectRelease deletes the solve's branch where the reservation's commit is all that is on it.
	EffectRelease EffectKind = "release"
)

// EffectState is where a write stands.
type EffectState string

// The states of an effect.
const (
	EffectPending EffectState = "pending"
	EffectSending EffectState = "sending" // claimed; SentAt says whether the call may have been made
	EffectApplied EffectState = "applied"
	EffectDead    EffectState = "dead" // GitHub refused for good
)

// Effect is one visible write, recorded before it is made. Key is
// "<solve or ask id>/<kind>[/<n>]" and is unique.
type Effect struct {
	V     int        `json:"v"`
	Key   string     `json:"key"`
	Kind  EffectKind `json:"kind"`
	Repo  Repo       `json:"repo"`
	Issue int        `json:"issue,omitempty"`
	Solve ID         `json:"solve,omitempty"`
	Run   int        `json:"run,omitempty"`
	// Priority: the lower is written first. See [Priority].
	Priority  int    `json:"priority"`
	CommentID int64  `json:"comment_id,omitempty"` // target of a reaction; 0 is the issue
	Text      string `json:"text,omitempty"`       // of a reply, "" for its solve's refusal; a reaction's name

	State   EffectState `json:"state"`
	Wanted  uint64      `json:"wanted"`  // version asked for
	Applied uint64      `json:"applied"` // version written
	Token   uint64      `json:"token"`
	Node    string      `json:"node,omitempty"`
	Due     time.Time   `json:"due,omitzero"`     // zero: at once
	Until   time.Time   `json:"until,omitzero"`   // the claim's end; zero: its process is gone
	SentAt  time.Time   `json:"sent_at,omitzero"` // committed before the call; cleared when the outcome is known
	Tries   int         `json:"tries"`
	Error   string      `json:"error,omitempty"`
	Done    time.Time   `json:"done,omitzero"`

	Receipt Receipt `json:"receipt"`
}

// Receipt is what GitHub answered.
type Receipt struct {
	ID     int64  `json:"id,omitempty"`  // comment, check run, reaction
	SHA    string `json:"sha,omitempty"` // commit of the branch reservation, champion commit
	Number int    `json:"number,omitempty"`
	URL    string `json:"url,omitempty"`
}

// PriorityDenied is that of answers to people without rights: after all others.
const PriorityDenied = 60

// Priority of a kind: the sign that somebody was heard, which costs no time, before
// result before pull request before first answer before progress; what tidies up is last.
func Priority(k EffectKind) int {
	switch k {
	case EffectReact:
		return 5
	case EffectFinal, EffectDone:
		return 10
	case EffectPull:
		return 20
	case EffectReply, EffectClaim:
		return 30
	case EffectRelease:
		return 50
	default:
		return 40
	}
}
