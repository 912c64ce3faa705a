package solve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// CommandKind is what a command asks for: a question, or something about a solve
// that is there already.
type CommandKind string

// The kinds. CommandUnknown and CommandHelp carry the text of their reply.
const (
	CommandStatus  CommandKind = "status"
	CommandCancel  CommandKind = "cancel"
	CommandHelp    CommandKind = "help"
	CommandUnknown CommandKind = "unknown"
	// CommandRunning replaces a trigger that found a live solve of the issue.
	CommandRunning CommandKind = "running"
	// CommandWhy wants the decision explained.
	CommandWhy CommandKind = "why"
	// CommandRetry wants the experiments that did not pass to be run again.
	CommandRetry CommandKind = "retry"
	// CommandPick wants run N to be the champion.
	CommandPick CommandKind = "pick"
	// CommandRevise wants the champion's pull request changed as Text says.
	CommandRevise CommandKind = "revise"
	// CommandStop is an event that leaves nothing to solve. No permission is checked:
	// whoever can cause the event can stop the work. Issue 0 means every issue of the
	// repository, and Repo.ID 0 every repository of the installation.
	CommandStop CommandKind = "stop"
	// CommandRenew says that somebody deleted the progress comment of solve Solve: it is written again.
	CommandRenew CommandKind = "renew"
	// CommandPull says that somebody merged, closed or opened again pull request Issue of ours. It is looked up.
	CommandPull CommandKind = "pull"
	// CommandHindsight says that pull request N, which is not ours, was merged and closes Issue and no other one.
	CommandHindsight CommandKind = "hindsight"
)

// Event says whether the command is an event, so that nobody waits for an answer.
func (k CommandKind) Event() bool {
	return k == CommandStop || k == CommandRenew || k == CommandPull || k == CommandHindsight
}

// StopEvent is the event behind a CommandStop.
type StopEvent string

// The events. Issues, suspensions and removed repositories are looked at again before anything is
// stopped: the event is a hint, and somebody may have undone what it reported.
const (
	StopOnClosed      StopEvent = "closed"
	StopOnUnlabelled  StopEvent = "unlabelled"
	StopOnDeleted     StopEvent = "deleted"
	StopOnTransferred StopEvent = "transferred"
	StopOnSuspended   StopEvent = "suspended"   // the installation
	StopOnUninstalled StopEvent = "uninstalled" // the installation, or the repository taken out of it
)

// Command is what a person or an event asks for beside a new solve.
type Command struct {
	ID    string      `json:"id"` // the delivery's GUID
	Kind  CommandKind `json:"kind"`
	Repo  Repo        `json:"repo"`
	Issue int         `json:"issue"` // or the pull request's number
	Actor string      `json:"actor"`
	// Stranger: GitHub knows no tie of the actor to the repository. Others may have no rights either.
	Stranger  bool  `json:"stranger,omitempty"`
	CommentID int64 `json:"comment_id,omitempty"`
	// Solve is the solve that the event names; "" means the newest of the issue.
	Solve ID `json:"solve,omitempty"`
	// Button: it came from a check run, where no reaction can be left.
	Button bool `json:"button,omitempty"`
	// SHA is the commit whose check runs are all to run again: its branch names the first solve of several.
	SHA string `json:"sha,omitempty"`
	// N is the run of a CommandPick, 0 is the runner-up; or the pull request of a CommandHindsight.
	N int `json:"n,omitempty"`
	// Text is the reply of a CommandUnknown, and what a CommandRevise should change.
	Text string `json:"text,omitempty"`
	// Review: a CommandRevise that came as a review, which the configuration must allow.
	Review bool `json:"review,omitempty"`
	// Stop, Label and Repos belong to a CommandStop. Label is the one that was removed.
	// Repos, if any, limit it to these repositories of the installation.
	Stop  StopEvent `json:"stop,omitempty"`
	Label string    `json:"label,omitempty"`
	Repos []int64   `json:"repos,omitempty"`
	At    time.Time `json:"at"`
	// Late and Said are as in a Trigger.
	Late bool   `json:"late,omitempty"`
	Said string `json:"said,omitempty"`
}

// Intent is what a delivery asks for: at most one of the two is set.
type Intent struct {
	Solve   *Solve // to be queued, unless the issue has a live solve
	Command *Command
}

// IssueNow is an issue as GitHub has it at this moment.
type IssueNow struct {
	Issue
	Open   bool
	Pull   bool // the number is a pull request's
	Locked bool // comments may be refused
	Labels []string
	// Assignees are logins.
	Assignees []string
}

// Labelled says whether the issue has the label, in any case of its letters.
func (n IssueNow) Labelled(label string) bool {
	return slices.ContainsFunc(n.Labels, func(l string) bool { return strings.EqualFold(l, label) })
}

// Withdrawn says whether the label or the assignment that asked for a solve was taken back.
func (n IssueNow) Withdrawn(t Trigger) bool {
	switch t.Kind {
	case TriggerLabel:
		return !n.Labelled(t.Label)
	case TriggerAssigned:
		return !slices.ContainsFunc(n.Assignees, func(login string) bool { return strings.EqualFold(login, t.Assignee) })
	}
	return false
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
	Commit string // that merged it
}

// StrangersLast compares two who ask: strangers come after everybody else.
func StrangersLast(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// DeniedReplyID owns the reply and the reaction that tell a person once for each issue that they may
// not ask: engines write an effect's key only once.
func DeniedReplyID(repo Repo, issue int, actor string) string {
	return fmt.Sprintf("refusal-%d-%d-%s", repo.ID, issue, MarkerWord(actor))
}

// Digest stands for a comment's text.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
