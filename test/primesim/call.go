package primesim

import "strings"

// Call names an endpoint, for faults and counters.
type Call string

// All calls; the first three stand for many.
const (
	Any        Call = ""
	AnyControl Call = "control/"
	AnyGateway Call = "gateway/"

	CallCreate       Call = "control/create"
	CallList         Call = "control/list"
	CallGet          Call = "control/get"
	CallDelete       Call = "control/delete"
	CallBulkDelete   Call = "control/bulk delete"
	CallStatuses     Call = "control/statuses"
	CallAuth         Call = "control/auth"
	CallErrorContext Call = "control/error context"
	CallLogs         Call = "control/logs"
	CallEgressGet    Call = "control/egress get"
	CallEgressPut    Call = "control/egress put"
	CallJobs         Call = "control/background jobs"
	CallAccount      Call = "control/account"

	CallCheckpoint        Call = "control/checkpoint"
	CallCheckpoints       Call = "control/checkpoints" // listing, of one sandbox or by ids
	CallCheckpointGet     Call = "control/checkpoint get"
	CallCheckpointDelete  Call = "control/checkpoint delete"
	CallCheckpointsDelete Call = "control/checkpoints delete"

	CallUpload   Call = "gateway/upload"
	CallDownload Call = "gateway/download"
	CallReadFile Call = "gateway/read file"
	CallStart    Call = "gateway/command/Start"
	CallConnect  Call = "gateway/command/Connect"
	CallSessions Call = "gateway/command/List"
	CallInput    Call = "gateway/command/SendInput"
	CallSignal   Call = "gateway/command/SendSignal"

	callUnknown Call = "unknown"
)

// matches reports whether c is the call made, or stands for it.
func (c Call) matches(made Call) bool {
	return c == made || c == Any || strings.HasSuffix(string(c), "/") && strings.HasPrefix(string(made), string(c))
}

func (c Call) gateway() bool { return AnyGateway.matches(c) }

// command reports whether it is a call of the command transport.
func (c Call) command() bool { return strings.HasPrefix(string(c), "gateway/command/") }
