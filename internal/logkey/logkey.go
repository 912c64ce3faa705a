// Package logkey holds the keys of log lines. No other keys are used, so that one search
// finds every line about a solve, a sandbox or a delivery. zerolog's own keys are level, time,
// message and error; go-githubapp adds keys that begin with github_.
package logkey

// The keys.
const (
	DeliveryID     = "delivery_id"     // GUID of a webhook delivery
	InstallationID = "installation_id" // of the GitHub App
	Repo           = "repo"            // owner/name
	PR             = "pr"              // number of a pull request
	SHA            = "sha"             // commit
	SolveID        = "solve_id"
	Run            = "run" // number of a run in its solve
	Driver         = "driver"
	SandboxID      = "sandbox_id"
	Attempt        = "attempt" // number of a try, from 1
	State          = "state"
	Event          = "event"    // of a webhook, or what happened
	Cost           = "cost"     // money
	Duration       = "duration" // how long something took or will wait
	Created        = "created"  // whether it is new
	Reason         = "reason"   // why, where it is no error
	Error          = "error"    // the text of an error from which secrets were removed
)
