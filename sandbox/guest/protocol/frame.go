package protocol

import (
	"errors"
	"strconv"
	"strings"
)

// Kinds of frames. A frame is its kind, the length of its data in four bytes, the
// most significant first, and the data. The last one of every answer is an end: an
// answer without it was cut.
const (
	FrameOut = 'o' // a piece of the command's stdout
	FrameErr = 'e' // a piece of the command's stderr
	FrameEnd = '.' // an Answer
)

// HeadSize is the size of what precedes a frame's data.
const HeadSize = 5

// MaxData is the most data of one frame.
const MaxData = 1 << 20

// Head precedes n bytes of data.
func Head(kind byte, n int) []byte {
	return []byte{kind, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

// Results of a request.
const (
	OK       = "ok"
	Gone     = "gone"    // another owner has the sandbox, or nobody opened it
	DiskFull = "full"    // no room on the disk
	Lost     = "lost"    // the command never started, or its supervisor was killed
	Busy     = "busy"    // something that was launched runs
	Lacking  = "lacking" // programs are missing; Detail names them
	NoPlace  = "noplace" // the state directory cannot be made
	Missing  = "missing" // no such file
	BadPath  = "path"    // outside, or not a regular file
	Failed   = "failed"  // Detail says why
	// Unavailable says that something of the machine is not there; Detail says what.
	Unavailable = "unavailable"

	exited   = "exited"   // a command ended
	timedOut = "timeout"  // ... by its timeout
	oom      = "oom"      // ... and the kernel killed a process for want of memory
	unkept   = "diskfull" // ... and its output found no room
)

// Answer is how a request ended.
type Answer struct {
	Result string
	Detail string

	Exited   bool // a command ended, with this code
	Code     int
	TimedOut bool
	OOM      bool
}

// String is the answer as a frame's data, and as the supervisor writes it into a file.
func (a Answer) String() string {
	if !a.Exited {
		return a.Result + " " + a.Detail
	}
	words := []string{exited, strconv.Itoa(a.Code)}
	for word, is := range map[string]bool{timedOut: a.TimedOut, oom: a.OOM, unkept: a.Result == DiskFull} {
		if is {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// ParseAnswer reads what String wrote.
func ParseAnswer(text string) (Answer, error) {
	result, detail, _ := strings.Cut(text, " ")
	if result != exited {
		return Answer{Result: result, Detail: detail}, nil
	}
	words := strings.Fields(detail)
	if len(words) == 0 {
		return Answer{}, errors.New("an end without an exit code")
	}
	a := Answer{Result: OK, Exited: true}
	var err error
	if a.Code, err = strconv.Atoi(words[0]); err != nil {
		return Answer{}, errors.New("bad exit code " + strconv.Quote(words[0]))
	}
	for _, word := range words[1:] {
		switch word {
		case timedOut:
			a.TimedOut = true
		case oom:
			a.OOM = true
		case unkept:
			a.Result = DiskFull
		}
	}
	return a, nil
}
