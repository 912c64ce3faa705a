// Package solve holds the nouns of yudai, their states and the rules over
// them: the transition table, the matrix, the reducer. It is
// pure: no I/O, no clock, no randomness. Everything that has to be the same on
// every machine and after every restart is decided here.
package solve

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Errors that users of several packages must recognise.
var (
	// ErrTransition says that the table has no such step from the present state.
	ErrTransition = errors.New("no such transition")
	// ErrNotFound says that there is no record of that name.
	ErrNotFound = errors.New("not found")
	// ErrNoCommit says that a repository has no commit yet. It is also an ErrNotFound.
	ErrNoCommit = fmt.Errorf("the repository is empty: %w", ErrNotFound)
	// ErrTooLarge says that a file is larger than we read.
	ErrTooLarge = errors.New("too large")
	// ErrLeaseLost says that the writer's token is no longer the newest, or that
	// its node's lease has run out: somebody else owns the record now.
	ErrLeaseLost = errors.New("lease lost")
)

// ID names a solve: an xid, 20 lower-case characters, sortable by time.
type ID string

// Money is an amount in millionths of a US dollar.
type Money int64

// Repo is where a solve happens.
type Repo struct {
	Installation  int64  `json:"installation"`
	ID            int64  `json:"id"`
	Owner         string `json:"owner"`
	Name          string `json:"name"`
	DefaultBranch string `json:"default_branch"`
}

// String is owner/name.
func (r Repo) String() string { return r.Owner + "/" + r.Name }

// Issue is the text to solve, pinned when the trigger came.
type Issue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	Author string `json:"author"`
	// Chars is how many characters the body had before it was cut; 0 if it was not.
	Chars int `json:"chars,omitempty"`
}

// TriggerKind is how a solve was asked for.
type TriggerKind string

// The ways to ask.
const (
	TriggerLabel   TriggerKind = "label"
	TriggerCommand TriggerKind = "command"
	TriggerAPI     TriggerKind = "api"
	// TriggerAssigned is the assignment of the issue to the App.
	TriggerAssigned TriggerKind = "assigned"
	// TriggerButton is a button or the re-run of one of our check runs.
	TriggerButton TriggerKind = "button"
	// TriggerReview is a review of the champion's pull request that requests changes.
	TriggerReview TriggerKind = "review"
	// TriggerLocal is a person's own command on a repository of this machine: there is no GitHub.
	TriggerLocal TriggerKind = "local"
)

// Operator says whether who asks needs no right on GitHub: the API's token and
// this machine's own user are the operator's.
func (k TriggerKind) Operator() bool { return k == TriggerAPI || k == TriggerLocal }

// Trigger says who asked, how, and from which delivery.
type Trigger struct {
	Kind TriggerKind `json:"kind"`
	// Key is unique among all solves: a second trigger with the same key is the same wish.
	Key       string `json:"key"`
	Actor     string `json:"actor"`                // login; rights are looked up for it
	Stranger  bool   `json:"stranger,omitempty"`   // GitHub knows no tie of the actor to the repository
	CommentID int64  `json:"comment_id,omitempty"` // of a command
	Label     string `json:"label,omitempty"`      // of TriggerLabel
	Assignee  string `json:"assignee,omitempty"`   // of TriggerAssigned: the App's login
	// Thread is the number under which it was asked, where that is not the issue's: the
	// champion's pull request. Comments go there.
	Thread   int       `json:"thread,omitempty"`
	Delivery string    `json:"delivery,omitempty"` // GUID
	At       time.Time `json:"at"`
	// Late: the delivery came long after its event, so it is looked up whether the label is on, or the App assigned,
	// or the comment says what it said then.
	Late bool   `json:"late,omitempty"`
	Said string `json:"said,omitempty"` // digest of the comment
}

// The range of every value a request may hold; the operator's own limits narrow it further.
const (
	MaxTemp       = 2.0
	MaxEdits      = 1000
	MaxRepeat     = 20
	MaxParallel   = 64
	MaxValues     = 32 // of one key
	MinTimeBudget = time.Minute
	MaxTimeBudget = 24 * time.Hour
	MaxBudget     = Money(1_000_000_000) // 1000 dollars
)

// Request is what a person asked for; an empty field means the configured default.
type Request struct {
	// Profile names configured values that stand for the fields left empty.
	Profile    string        `json:"profile,omitempty"`
	Models     []string      `json:"models,omitempty"`
	Temps      []float64     `json:"temps,omitempty"`
	Edits      []int         `json:"edits,omitempty"`
	Strategies []string      `json:"strategies,omitempty"`
	Agents     []string      `json:"agents,omitempty"`
	Repeat     int           `json:"repeat,omitempty"`
	Parallel   int           `json:"parallel,omitempty"`
	Budget     Money         `json:"budget,omitempty"`      // of the whole solve
	TimeBudget time.Duration `json:"time_budget,omitempty"` // of the whole solve
	Base       string        `json:"base,omitempty"`        // branch
	Sandbox    string        `json:"sandbox,omitempty"`     // driver
	Stop       StopRule      `json:"stop,omitempty"`
	Reproduce  ReproduceRule `json:"reproduce,omitempty"`
}

// Limits of a run and of the whole solve; 0 means none.
type Limits struct {
	RunTime     time.Duration `json:"run_time" yaml:"run_time"`
	RunSteps    int           `json:"run_steps" yaml:"run_steps"`
	RunMoney    Money         `json:"run_money" yaml:"-"`
	RunOutput   int64         `json:"run_output" yaml:"run_output"` // bytes of command output over the whole run
	CommandTime time.Duration `json:"command_time" yaml:"command_time"`
	SolveTime   time.Duration `json:"solve_time" yaml:"solve_time"`
	SolveMoney  Money         `json:"solve_money" yaml:"-"`
	Parallel    int           `json:"parallel" yaml:"parallel"` // runs of one solve at a time
}

// Experiment is one cell of the matrix.
type Experiment struct {
	Agent string `json:"agent"`
	Model string `json:"model"`
	// Temperature is nil where the model takes none: nothing is sent then.
	Temperature *float64 `json:"temperature,omitempty"`
	MaxEdits    int      `json:"max_edits"` // 0: no limit
	Strategy    string   `json:"strategy"`
	Repeat      int      `json:"repeat"` // 1 for the first
	// Record is how many in a hundred candidates of its arm are right in this repository, as the track record had it when
	// the solve was planned; 0 where none was used. See [Plan.UseRecords].
	Record int `json:"record,omitempty"`
	// Wave is the wave it belongs to, from 1; 0 where a plan has no waves.
	Wave int `json:"wave,omitempty"`
	// Purpose is what it is for; "" is to solve the issue.
	Purpose Purpose `json:"purpose,omitempty"`
}

// Plan is the matrix as it will be run, fixed when the solve is claimed.
type Plan struct {
	Experiments []Experiment `json:"experiments"`
	// Reproducer writes tests beside the matrix, if the base is one that wants it; nil where none may run.
	Reproducer *Experiment `json:"reproducer,omitempty"`
	// Notes tell people what was changed ("model x takes no temperature: 3 cells became 1").
	Notes  []string `json:"notes,omitempty"`
	Limits Limits   `json:"limits"`
	// Unpriced are the models whose price is not known: what they cost is not, either, and no limit of money holds for them.
	Unpriced []string `json:"unpriced,omitempty"`
	// StrategyText holds the text of each strategy named by an experiment.
	StrategyText map[string]string `json:"strategy_text,omitempty"`
	Order        []string          `json:"order,omitempty"` // models in configured order, the last tie-break
	// Settings are those of installing, testing and judging; nil in records of old versions.
	Settings *Settings `json:"settings,omitempty"`
	// Sandbox names the driver of all its sandboxes; "" in records of old versions, and
	// then the configured one is meant.
	Sandbox string `json:"sandbox,omitempty"`
	// Stop says when there is enough; "" in records of old versions is StopAll.
	Stop StopRule `json:"stop,omitempty"`
	// Rates are those that the experiments' records come from, and Choice how models=auto chose; none where none was used.
	Rates  []Rate       `json:"rates,omitempty"`
	Choice *ModelChoice `json:"choice,omitempty"`
}

// Models are those of the experiments, each once.
func (p Plan) Models() []string {
	var out []string
	for _, x := range p.Experiments {
		out = append(out, x.Model)
	}
	return distinct(out)
}

// Lease says who works on a record. The token grows with every new owner; a
// write with an old token changes nothing.
type Lease struct {
	Node  string `json:"node,omitempty"`
	Token uint64 `json:"token"`
}

// Next is the lease of a new owner.
func (l Lease) Next(node string) Lease { return Lease{Node: node, Token: l.Token + 1} }

// Base is the repository at the base commit and what its own tests said.
type Base struct {
	Branch string `json:"branch"`
	SHA    string `json:"sha,omitempty"`
	// Image is the frozen base in the sandbox driver, "" where the driver cannot fork.
	Image string `json:"image,omitempty"`
	// Install and Test are the commands used, with where they came from.
	Install string      `json:"install,omitempty"`
	Test    TestCommand `json:"test"`
	// Report counts the base's own results; the tests themselves are the artifact "base-report".
	Report   Counts        `json:"report"`
	Duration time.Duration `json:"duration"`
	// Notes say which lock files were not obeyed and which tests of the repository are not run.
	Notes []string `json:"notes,omitempty"`
	// SandboxUses are the sandboxes it was made in.
	SandboxUses []SandboxUse `json:"stays,omitempty"`
}

// TestCommand is how the repository's tests are run and read.
type TestCommand struct {
	Command string `json:"command"`          // for bash -c in the repository
	Plain   string `json:"plain,omitempty"`  // the same for people in a clone, without paths of ours; "" is Command
	Format  string `json:"format"`           // "go", "junit", "jest", "tap", "cargo" or "exit"
	Report  string `json:"report,omitempty"` // glob of report files, for "junit" and "jest"
	Source  string `json:"source"`           // "config", "go.mod", "package.json", ...
}

// ForPeople is the command that runs the same tests in a clone.
func (t TestCommand) ForPeople() string { return cmp.Or(t.Plain, t.Command) }

// Counts of tests in one report.
type Counts struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Flaky tests had different outcomes in several runs and count for nothing. Of
	// a command whose exit code is all that is known it is 1.
	Flaky int `json:"flaky,omitempty"`
	// Exit is the exit code of the test command.
	Exit int `json:"exit"`
}

// Failing is how many tests fail; 1 if nothing but a bad exit code is known.
func (c Counts) Failing() int {
	if c.Failed == 0 && c.Exit != 0 {
		return 1
	}
	return c.Failed
}

// Solve is one request to solve one issue.
type Solve struct {
	V       int     `json:"v"` // record version
	ID      ID      `json:"id"`
	Repo    Repo    `json:"repo"`
	Issue   Issue   `json:"issue"`
	Trigger Trigger `json:"trigger"`
	Request Request `json:"request"`

	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"` // a short public sentence, for final states
	// Refused: failed before it was claimed, for a reason that is the asker's to mend;
	// people get the reason and nothing else.
	Refused bool `json:"refused,omitempty"`
	// Denied: refused because the actor may not ask at all. That is told once for
	// each person and issue, and not at all if Silent: too many were told.
	Denied bool  `json:"denied,omitempty"`
	Silent bool  `json:"silent,omitempty"`
	Lease  Lease `json:"lease"`

	Plan Plan `json:"plan"`
	Base Base `json:"base"`
	// Wave is the wave whose runs may start; the store sets it. 0 where the plan has no waves.
	Wave int `json:"wave,omitempty"`
	// Branch is the solve's branch on GitHub (claim, then champion).
	Branch string `json:"branch,omitempty"`

	CancelBy string `json:"cancel_by,omitempty"` // login; set once cancel was asked for
	// CancelWhy is what happened instead of a command, a public clause without a
	// full stop ("the issue was closed by alice"); "" if somebody asked for the cancel.
	CancelWhy string    `json:"cancel_why,omitempty"`
	CancelAt  time.Time `json:"cancel_at,omitzero"`

	// Follows says from which earlier solve this one goes on; nil for most.
	Follows *Follow `json:"follows,omitempty"`

	Decision *Decision `json:"decision,omitempty"`
	Pull     *Pull     `json:"pull,omitempty"`

	Created time.Time `json:"created"`
	// Greeted is when the actor's rights were looked up for the first time and were
	// enough: the trigger carries our reaction since.
	Greeted time.Time `json:"greeted,omitzero"`
	// Place is the place in the queue that people were told last, 1 for the next; 0 if none was.
	Place int `json:"place,omitempty"`
	// Queue is how many waited when Place was told.
	Queue    int       `json:"queue,omitempty"`
	Started  time.Time `json:"started,omitzero"`  // claimed for the first time
	Deadline time.Time `json:"deadline,omitzero"` // started + the time budget
	Ended    time.Time `json:"ended,omitzero"`
	Seq      uint64    `json:"seq"` // of the last event
}

// Pull is the pull request that carries the champion.
type Pull struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Commit string `json:"commit"`
}

// Usage is what a run's model calls used.
type Usage struct {
	Calls      int   `json:"calls"`
	Input      int64 `json:"input_tokens"`
	CachedRead int64 `json:"cached_tokens"`
	Output     int64 `json:"output_tokens"`
	Cost       Money `json:"cost"`
	// Estimated is how many calls are booked by an estimate: the provider's numbers never came, or cannot be true.
	Estimated int `json:"estimated_calls,omitempty"`
}

// Add adds what other calls used.
func (u *Usage) Add(o Usage) {
	u.Calls += o.Calls
	u.Input += o.Input
	u.CachedRead += o.CachedRead
	u.Output += o.Output
	u.Cost += o.Cost
	u.Estimated += o.Estimated
}

// Progress is what changes while a run works, without a change of state.
type Progress struct {
	Steps  int       `json:"steps"`
	Edits  int       `json:"edits"`
	Output int64     `json:"output"` // bytes of command output so far
	Usage  Usage     `json:"usage"`
	At     time.Time `json:"at,omitzero"`
	// Last is the last thing that the agent did, one line of foreign text of at most [MaxAction] runes: "$ " and its command, else
	// what it said.
	Last string `json:"last,omitempty"`
	// Waiting is why the last call of its model failed and when it is tried again, while it waits; else "".
	Waiting string `json:"waiting,omitempty"`
}

// MaxAction is how many runes [Progress.Last] has at most.
const MaxAction = 200

// Run is one experiment being executed. N counts from 1 within the solve.
type Run struct {
	V          int        `json:"v"`
	Solve      ID         `json:"solve"`
	N          int        `json:"n"`
	Repo       Repo       `json:"repo"`
	Experiment Experiment `json:"experiment"`
	// From is set on a run that was carried over, ended, from an earlier solve.
	From *Origin `json:"from,omitempty"`

	State  RunState `json:"state"`
	Reason string   `json:"reason,omitempty"`
	// NotNeeded says that the stop rule ended it: cancelled, but by nobody.
	NotNeeded bool   `json:"not_needed,omitempty"`
	Attempt   int    `json:"attempt"` // 1 for the first; 0 if it was never started
	Lease     Lease  `json:"lease"`
	Sandbox   string `json:"sandbox,omitempty"` // name of the working sandbox of this attempt
	// SandboxUses are the sandboxes of all its attempts, in the order in which they were opened.
	SandboxUses []SandboxUse `json:"stays,omitempty"`

	Progress Progress `json:"progress"`
	// Exit is the agent's own exit status (Submitted, LimitsExceeded, ...).
	Exit string `json:"exit,omitempty"`
	// Summary is what the agent says was wrong and what its change does: one line of foreign text, at most
	// [MaxSummary] runes; "" if it does not say.
	Summary   string     `json:"summary,omitempty"`
	Candidate *Candidate `json:"candidate,omitempty"`
	Verdict   *Verdict   `json:"verdict,omitempty"`

	Created   time.Time     `json:"created"`
	Started   time.Time     `json:"started,omitzero"`
	AgentTime time.Duration `json:"agent_time"` // the agent's work: the latency of the reducer
	Ended     time.Time     `json:"ended,omitzero"`
}

// MaxSummary is how many runes [Run.Summary] has at most: a few sentences.
const MaxSummary = 600

// Candidate is the patch a run produced. The patch itself is an artifact.
type Candidate struct {
	Artifact string `json:"artifact"` // name of the patch among the solve's artifacts
	SHA256   string `json:"sha256"`   // of the patch, hex
	// Tree is the name of the tree that the patch makes of the base, "" in records of old versions.
	Tree    string       `json:"tree,omitempty"`
	Files   []FileChange `json:"files"`
	Added   int          `json:"added"`   // lines
	Deleted int          `json:"deleted"` // lines
	// Lines are the changed lines outside tests, each once, sorted by digest, at most [MaxLines]: "+" or "-", and the first
	// eight hex digits of the SHA-256 of the line without its white space.
	Lines []string `json:"lines,omitempty"`
	// Flags are what people should look at: "touches .github/workflows", "binary".
	Flags []string `json:"flags,omitempty"`
	// Refused is why the patch may not be published at all; "" if it may.
	Refused string `json:"refused,omitempty"`
}

// MaxLines is how many lines [Candidate.Lines] has at most.
const MaxLines = 1000

// Size is the size of the diff: lines added and deleted.
func (c *Candidate) Size() int { return c.Added + c.Deleted }

// FileChange is one file of a patch.
type FileChange struct {
	Path    string `json:"path"`
	OldPath string `json:"old_path,omitempty"` // of a rename
	Op      string `json:"op"`                 // "add", "modify", "delete", "rename"
	Mode    string `json:"mode,omitempty"`     // git's, of the new file
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
	Test    bool   `json:"test,omitempty"` // a test file by its path
}

// Outcome of a verdict.
type Outcome string

// The outcomes. NoVerdict is neither: the tests could not be run or read.
const (
	Passed    Outcome = "passed"
	Failed    Outcome = "failed"
	NoVerdict Outcome = "no_verdict"
)

// Verdict is what the tests said of a candidate, in a clean box, against the
// base's own results. The lists hold at most 50 names each, sorted; the counts are whole.
type Verdict struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason"` // one public sentence
	Counts  Counts  `json:"counts"` // of the regression run
	// Per test against the base. For format "exit" all are zero, but Fixed is 1 where the command failed on the base and succeeds now.
	Fixed   int `json:"fixed"`    // failed on the base, pass now
	Kept    int `json:"kept"`     // passed on the base, pass now
	Broken  int `json:"broken"`   // passed on the base, fail or are gone now
	Still   int `json:"still"`    // failed on the base, fail or are gone now
	NewPass int `json:"new_pass"` // unknown to the base, pass
	NewFail int `json:"new_fail"` // unknown to the base, fail
	// Flaky tests are left out of all of these: their outcomes differ between
	// runs on one tree, the base's or the candidate's.
	Flaky int `json:"flaky,omitempty"`
	// NoCode: the candidate changes nothing but tests, documents, comments and white space.
	NoCode bool `json:"no_code,omitempty"`
	// Proofs counts its own new and changed tests that fail on the base's source and pass with the candidate, each time.
	// Unready are those that do not compile or import on the base's source: they use names that the candidate adds.
	Proofs  int `json:"proofs,omitempty"`
	Unready int `json:"unready,omitempty"`
	// Unsteady counts tests that had one result on the base each time, and several with the candidate.
	Unsteady int `json:"unsteady,omitempty"`
	// Tampering says how the candidate steers the tests, in a public clause; "" if nothing was found. Its outcome is failed.
	Tampering string `json:"tampering,omitempty"`

	ProofTests []string `json:"proof_tests,omitempty"`
	// ProofCommand runs only the ProofTests; "" where only the whole test command does.
	ProofCommand string   `json:"proof_command,omitempty"`
	FixedTests   []string `json:"fixed_tests,omitempty"`
	BrokenTests  []string `json:"broken_tests,omitempty"`
	StillTests   []string `json:"still_tests,omitempty"`
	NewFailTests []string `json:"new_fail_tests,omitempty"`
	FlakyTests   []string `json:"flaky_tests,omitempty"`
	// Weakens lists existing test files that the candidate deletes or changes so
	// that fewer tests run; the verdict itself used the base's versions.
	Weakens []string `json:"weakens,omitempty"`
	// Restored lists files of the candidate that steer tests and are no tests themselves: the regression ran with the base's.
	Restored []string `json:"restored,omitempty"`
	Log      string   `json:"log,omitempty"` // artifact with the tests' output
	// Results is the artifact with the result of each test; "" where none was read, and in records of old versions.
	Results  string        `json:"results,omitempty"`
	Duration time.Duration `json:"duration"`
}

// Entry is one line of a solve's event log. Seq is gapless per solve, from 1.
type Entry struct {
	Solve  ID        `json:"solve"`
	Seq    uint64    `json:"seq"`
	At     time.Time `json:"at"`
	Run    int       `json:"run,omitempty"` // 0: the solve itself
	Event  EventName `json:"event"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Reason string    `json:"reason,omitempty"`
}

// Change is one event that happened to a solve or to one of its runs, with what an
// engine needs to apply it; see [Apply].
type Change struct {
	Solve ID
	Run   int // 0: the solve itself
	// Token must equal the record's newest token. 0 skips the check and is for
	// causes outside the owner (a person's cancel).
	Token uint64
	Event Event
	// Reason is kept with the event, and as the record's reason if the new state is final.
	Reason string
	// SandboxUses are the sandboxes of a run so far; nil leaves those that are stored.
	SandboxUses []SandboxUse
}

// Caps bound how many runs are admitted at a time; 0 means no bound.
type Caps struct {
	// Runs of this process, 1 or more.
	Process int `json:"process" yaml:"process"`
	// Runs of one installation of the App.
	Installation int `json:"installation" yaml:"installation"`
	// Runs of one repository.
	Repository int `json:"repository" yaml:"repository"`
}

// Delivery is one webhook as GitHub sent it.
type Delivery struct {
	GUID     string    `json:"guid"`
	Event    string    `json:"event"`
	Action   string    `json:"action"`
	Payload  []byte    `json:"payload"`
	Received time.Time `json:"received"`
	// About names what the delivery asks for. A second delivery about the same is stored, and
	// asks for nothing; "" is about nothing else.
	About string `json:"about,omitempty"`
}

// Check says whether engines can keep a delivery under its GUID.
func (d Delivery) Check() error {
	if d.GUID == "" || len(d.GUID) > 200 || strings.Contains(d.GUID, "\x00") || !utf8.ValidString(d.GUID) {
		return fmt.Errorf("accept delivery %q: not a usable GUID", d.GUID)
	}
	return nil
}

// AboutKey is the key under which engines keep [Delivery.About] among the GUIDs, "" if there
// is none. No GUID looks like one.
func (d Delivery) AboutKey() string {
	if d.About == "" {
		return ""
	}
	return "about " + d.About
}
