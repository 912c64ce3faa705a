package inside

import _ "embed" // the scripts

// Our scripts for bash inside the sandbox, each with its arguments described at its head.
//
//nolint:gochecknoglobals // embedded files, never changed
var (
	//go:embed common.sh
	commonScript string
	//go:embed launch.sh
	launchScript string
	//go:embed kill.sh
	killScript string
	//go:embed take.sh
	takeScript string
	//go:embed start.sh
	startScript string
	//go:embed halt.sh
	haltScript string
	//go:embed running.sh
	runningScript string
	//go:embed open.sh
	openScript string
	//go:embed put.sh
	putScript string
	//go:embed get.sh
	getScript string
)

// dir holds our own files inside: those of commands, the owner's token.
const dir = "/workspace/.yudai"

// Exit codes by which the scripts speak.
const (
	codeLacking = 90 // programs are missing
	codeNoPlace = 91 // our places cannot be made
	codeMissing = 92 // no such file
	codePath    = 93 // not inside, or not a regular file
	codeRuns    = 94 // something that was launched runs

	codeLook  = 250 // the file rc says more
	codeOwner = 251 // another owner
	codeFull  = 252 // the disk is full
	codeLost  = 253 // never started, or its keeper was killed
)

// bash is a process that runs one of our scripts.
func bash(text string, args ...string) Process {
	return Process{Argv: append([]string{"/bin/bash", "-c", text, "yudai"}, args...)}
}
