// Package protocol is how yudai and its program inside a sandbox talk: the request is
// the program's arguments, the answer is a stream of frames on its standard output.
//
// Both sides import it. It imports little, because the program must stay small.
package protocol

import (
	"errors"
	"strconv"
	"strings"
)

const (
	// StateDir holds the program's files: those of commands, the owner's token.
	StateDir = "/workspace/.yudai"
	// ProgramDir holds the program itself. Only root can write there.
	ProgramDir = "/.yudai"
)

// Verbs are the program's first argument.
const (
	VerbOpen     = "open"     // make the state directory of a new machine, or of a copy
	VerbAttach   = "attach"   // take the machine over from a dead owner
	VerbExec     = "exec"     // start a command, unless it was started, and show its output
	VerbKill     = "kill"     // end a command, or see to it that it never starts
	VerbLaunch   = "launch"   // start a program that outlives its owner
	VerbLaunched = "launched" // does something that was launched run?
	VerbHalt     = "halt"     // end what was launched
	VerbPut      = "put"      // move an uploaded file to its place
	VerbFind     = "find"     // the real path of a regular file
	VerbRemove   = "remove"   // remove an uploaded file
	VerbDial     = "dial"     // does somebody listen at a socket?
	VerbWrite    = "write"    // write the standard input to a file
	VerbRead     = "read"     // write a file to the standard output, without frames
	VerbInit     = "init"     // be the first process of a container, or of namespaces
)

// Request is what a verb needs. Each verb reads some of the fields.
type Request struct {
	Verb  string
	Token string // of the owner
	User  string // of the commands, where the program itself runs as root
	OOM   string // where the kernel counts what it kills: "cgroup" or "vmstat"

	ID    string   // of the command
	Shell string   // text for bash
	Argv  []string // the program and its arguments, where Shell is empty
	Env   []string // NAME=value, added to the machine's own environment
	Path  []string // directories that are searched before PATH
	Dir   string

	Keep      string // the streams that are kept: "none", "out", "err", "both", or "one" for both as one
	Max       int64  // how many bytes of each stream are kept
	TimeoutMS int64  // 0 is none
	SeenOut   int64  // bytes of the output that the reader has already
	SeenErr   int64
	Old       []string // commands whose files can be removed

	File   string // a path inside
	Target string // where a file goes
	Mode   string // of the file, octal
	// OnlyOwner: attach only if the token is the owner's already.
	OnlyOwner bool
	// RequestFile holds more of the request, because it is too long for arguments.
	RequestFile string
	// Life is how many seconds a container lives, 0 for ever.
	Life int64
	// Ways are what a container's first process offers at addresses of the loopback:
	// each is an address and the path of a unix socket, with a space between.
	Ways []string
	// Listen is the descriptor of a socket at which the first process takes calls, 0 for none.
	Listen int64
	// Name is for whoever lists processes.
	Name string
}

// A call to the first process is one packet on a connection of its own. It holds one of
// these bytes and a verb, and four descriptors: a file with the items of the request, each
// ended by a zero byte, and the standard streams. The answer is the exit code, in digits.
const (
	CallStart = 's' // start the program once more for the verb
	CallServe = 'v' // the first process serves the verb itself, which needs no new process
)

// CallFiles is how many descriptors a call carries.
const CallFiles = 4

func (r *Request) texts() map[string]*string {
	return map[string]*string{
		"token": &r.Token, "user": &r.User, "oom": &r.OOM, "id": &r.ID, "shell": &r.Shell, "dir": &r.Dir, "keep": &r.Keep,
		"file": &r.File, "target": &r.Target, "mode": &r.Mode, "request": &r.RequestFile, "name": &r.Name,
	}
}

func (r *Request) numbers() map[string]*int64 {
	return map[string]*int64{
		"max": &r.Max, "timeout": &r.TimeoutMS, "seen-out": &r.SeenOut, "seen-err": &r.SeenErr, "life": &r.Life, "listen": &r.Listen,
	}
}

func (r *Request) lists() map[string]*[]string {
	return map[string]*[]string{"arg": &r.Argv, "env": &r.Env, "path": &r.Path, "old": &r.Old, "way": &r.Ways}
}

// Items are the request as arguments, each "key=value", without the verb.
func (r *Request) Items() []string {
	var items []string
	for key, p := range r.texts() {
		if *p != "" {
			items = append(items, key+"="+*p)
		}
	}
	for key, p := range r.numbers() {
		if *p != 0 {
			items = append(items, key+"="+strconv.FormatInt(*p, 10))
		}
	}
	for key, p := range r.lists() {
		for _, v := range *p {
			items = append(items, key+"="+v)
		}
	}
	if r.OnlyOwner {
		items = append(items, "only-owner=1")
	}
	return items
}

// Read adds items to the request.
func (r *Request) Read(items []string) error {
	texts, numbers, lists := r.texts(), r.numbers(), r.lists()
	for _, item := range items {
		key, value, ok := strings.Cut(item, "=")
		switch {
		case ok && texts[key] != nil:
			*texts[key] = value
		case ok && lists[key] != nil:
			*lists[key] = append(*lists[key], value)
		case ok && numbers[key] != nil:
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return errors.New("bad number in the item " + strconv.Quote(item))
			}
			*numbers[key] = n
		case ok && key == "only-owner":
			r.OnlyOwner = true
		case ok && key == "marks": // for the program's own use
		default:
			return errors.New("unknown item " + strconv.Quote(item))
		}
	}
	return nil
}
