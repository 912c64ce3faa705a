//go:build linux

// Command program is what yudai puts into a container or a virtual machine. It starts
// commands, writes their output to files, shows the files to whoever asks, and ends
// process trees. The drivers run it through their provider: one call for each request,
// see package protocol.
//
// A command runs under a supervisor, a process of this program in a session of its own.
// It outlives the call that started it, so a call whose connection broke can be repeated.
//
// The program is built small and static; see the Makefile's target guest. It imports
// neither fmt nor net.
package main

import (
	"os"
	"syscall"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// Verbs of the program's own: it starts itself with them.
const (
	verbSupervise = "supervise" // be the supervisor of a command
	verbOutlive   = "outlive"   // be the supervisor of a launched program
	verbForward   = "forward"   // offer sockets at addresses
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	r := protocol.Request{Verb: os.Args[1]}
	if err := read(&r, os.Args[2:]); err != nil {
		answer(protocol.Answer{Result: protocol.Failed, Detail: err.Error()})
	}
	switch r.Verb {
	case protocol.VerbInit:
		initContainer(r)
	case verbForward:
		forward(r)
	case verbSupervise:
		supervise(r)
	case verbOutlive:
		outlive(r)
	case protocol.VerbWrite:
		exitWith(writeFile(r))
	case protocol.VerbRead:
		exitWith(readFile(r))
	default:
		answer(serve(r, func() {}))
	}
}

// read takes the request from the arguments, and from the files that they name.
func read(r *protocol.Request, items []string) error {
	for {
		if err := r.Read(items); err != nil || r.RequestFile == "" {
			return err
		}
		data, err := os.ReadFile(r.RequestFile)
		if err != nil {
			return err
		}
		if r.RequestFile == requestItem(requestFd) {
			syscall.CloseOnExec(requestFd)
		}
		items, r.RequestFile = splitZero(string(data)), ""
	}
}

// serve does what is asked for, and shows output on the way. Where it waits it calls
// meanwhile, for a process that has more to do.
func serve(r protocol.Request, meanwhile func()) protocol.Answer {
	switch r.Verb {
	case protocol.VerbOpen:
		return openMachine(r, meanwhile)
	case protocol.VerbAttach:
		return attachMachine(r, meanwhile)
	case protocol.VerbExec:
		return execCommand(r)
	case protocol.VerbKill:
		return killCommand(r, meanwhile)
	case protocol.VerbLaunch:
		return launch(r)
	case protocol.VerbLaunched:
		return launched(r)
	case protocol.VerbHalt:
		return halt(r, meanwhile)
	case protocol.VerbPut:
		return put(r)
	case protocol.VerbFind:
		return find(r)
	case protocol.VerbRemove:
		return remove(r)
	case protocol.VerbDial:
		return dial(r)
	}
	return failed("unknown verb " + r.Verb)
}

// answer writes the last frame and ends the program.
func answer(a protocol.Answer) {
	show(protocol.FrameEnd, []byte(a.String()))
	if a.Result != protocol.OK {
		os.Exit(1)
	}
	os.Exit(0)
}

// show writes one frame. Where nobody reads it the program has nothing more to do.
func show(kind byte, data []byte) {
	if _, err := os.Stdout.Write(append(protocol.Head(kind, len(data)), data...)); err != nil {
		os.Exit(1)
	}
}

// exitWith ends the program of a verb that has no answer.
func exitWith(err error) {
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

func failed(why string) protocol.Answer {
	return protocol.Answer{Result: protocol.Failed, Detail: why}
}
