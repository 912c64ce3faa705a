package solve

import (
	"fmt"
	"time"
)

// AskKind is a wish that is not a solve of its own: a question, or something
// about a solve that is there already.
type AskKind string

// The kinds of asks. AskUnknown and AskHelp carry the reply's text already (nearest
// word, usage, the labels that are configured).
const (
	AskStatus  AskKind = "status"
	AskCancel  AskKind = "cancel"
	AskHelp    AskKind = "help"
	AskUnknown AskKind = "unknown"
	// AskRunning stands for a solve trigger that found a live solve of the issue.
	AskRunning AskKind = "running"
	// AskWhy wants the decision explained.
	AskWhy AskKind = "why"
	// AskRetry wants the experiments that did not pass to be run again.
	AskRetry AskKind = "retry"
	// AskPick wants run N to be the champion.
	AskPick AskKind = "pick"
	// AskRevise wants the champion's pull request changed as Text says.
	AskRevise AskKind = "revise"
	// AskStop is an event that leaves nothing to solve. Nobody's rights are looked up:
	// whoever can cause the event can stop the work. Issue 0 stands for every issue of
	// the repository, and Repo.ID 0 for every repository of the installation.
	AskStop AskKind = "stop"
	// AskRenew is a deleted comment of ours: the progress comment of solve Solve is
	// to be written anew.
	AskRenew AskKind = "renew"
)

// Event says whether such an ask is an event, and nobody waits for an answer.
func (k AskKind) Event() bool { return k == AskStop || k == AskRenew }

// Stop says which event an AskStop stands for.
type Stop string

// The events. Closed, unlabelled and deleted issues are read again before anything is
// stopped: the event is a hint, and what it told may have been undone.
const (
	StopClosed      Stop = "closed"
	StopUnlabelled  Stop = "unlabelled"
	StopDeleted     Stop = "deleted"
	StopTransferred Stop = "transferred"
	StopSuspended   Stop = "suspended"   // the installation
	StopUninstalled Stop = "uninstalled" // the installation, or the repository taken out of it
)

// Ask is one wish of a person about a solve, answered by the solver's clerk.
type Ask struct {
	ID        string  `json:"id"` // the delivery's GUID
	Kind      AskKind `json:"kind"`
	Repo      Repo    `json:"repo"`
	Issue     int     `json:"issue"` // or the pull request's number
	Actor     string  `json:"actor"`
	CommentID int64   `json:"comment_id,omitempty"`
	// Solve names the solve that is meant, where the event does; "" is the newest of the issue.
	Solve ID `json:"solve,omitempty"`
	// Button says that one of our check runs was the place, where no reaction can be left.
	Button bool `json:"button,omitempty"`
	// N is the run of an AskPick; 0 is the runner-up.
	N int `json:"n,omitempty"`
	// Text is the reply of an AskUnknown, the wish of an AskRevise.
	Text string `json:"text,omitempty"`
	// Review says that an AskRevise is a review, which needs the configuration's leave.
	Review bool `json:"review,omitempty"`
	// Stop, Label and Repos are of an AskStop. Label is the one that was taken off.
	// Repos, if there are any, are the only repositories of the installation that are meant.
	Stop  Stop      `json:"stop,omitempty"`
	Label string    `json:"label,omitempty"`
	Repos []int64   `json:"repos,omitempty"`
	At    time.Time `json:"at"`
}

// Wish is what a delivery asks for: at most one of the two is set.
type Wish struct {
	Solve *Solve // to be queued, unless the issue has a live solve
	Ask   *Ask
}

// IssueNow is an issue as GitHub has it at this moment.
type IssueNow struct {
	Issue
	Open   bool
	Pull   bool // the number is a pull request's
	Locked bool // comments may be refused
	Labels []string
}

// PullNow is a pull request as GitHub has it at this moment.
type PullNow struct {
	Number int
	Open   bool
	Merged bool
	Fork   bool   // the head is in another repository
	Branch string // of the head
	SHA    string // of the head
	Base   string // branch
}

// RefusalID owns the reply that tells a person once for each issue that they may
// not ask: engines write an effect's key only once.
func RefusalID(repo Repo, issue int, actor string) string {
	return fmt.Sprintf("refusal-%d-%d-%s", repo.ID, issue, MarkerWord(actor))
}
