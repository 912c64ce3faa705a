package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// call is one request to the program inside.
type call struct {
	protocol.Request
	root    bool     // ask for the machine's administrator
	command []string // instead of the program's path
	output  func(stderr bool, data []byte)
}

// endedEarly says that a program ended without an answer.
type endedEarly struct {
	code           int
	stdout, stderr string // what it said instead, the beginning
}

func (e *endedEarly) Error() string {
	return fmt.Sprintf("exit %d: %s", e.code, strings.TrimSpace(e.stdout+e.stderr))
}

// longRequest is where the items of a request go through a file instead of arguments.
const longRequest = 48 << 10

// process is what the provider starts. What is too long for arguments is uploaded.
func (h *Handle) process(ctx context.Context, c call) (Process, error) {
	command := c.command
	if command == nil {
		command = []string{h.program}
	}
	items, size := c.Items(), 0
	for _, item := range items {
		if strings.Contains(item, "\x00") {
			return Process{}, errors.New("a command contains a zero byte")
		}
		size += len(item) + 1
	}
	if size > longRequest {
		file := protocol.StateDir + "/" + c.ID + ".req"
		if err := h.remote.Upload(ctx, file, strings.NewReader(strings.Join(items, "\x00"))); err != nil {
			return Process{}, fmt.Errorf("send command: %w", err)
		}
		items = []string{"request=" + file}
	}
	return Process{Argv: append(append(command[:len(command):len(command)], c.Verb), items...), Root: c.root}, nil
}

// callOnce starts a process of ours and reads its answer.
func (h *Handle) callOnce(ctx context.Context, p Process, output func(stderr bool, data []byte)) (protocol.Answer, error) {
	d := decoder{output: output}
	var early endedEarly
	var broken error
	code, err := h.remote.Run(ctx, p, func(stderr bool, data []byte) {
		keep := string(data[:min(len(data), 1000)])
		if stderr {
			early.stderr = (early.stderr + keep)[:min(len(early.stderr)+len(keep), 1000)]
			return
		}
		if early.stdout == "" {
			early.stdout = keep
		}
		if broken == nil {
			_, broken = d.Write(data)
		}
	})
	switch {
	case d.answer != nil && broken == nil:
		return *d.answer, nil // whatever became of the connection afterwards
	case err != nil:
		return protocol.Answer{}, err
	}
	early.code = code
	return protocol.Answer{}, fmt.Errorf("%w: %w", ErrCut, &early)
}

// tries is how often a request is made whose answer is lost. All of them may be repeated.
const tries = 4

// call makes a request, again where the answer is lost.
func (h *Handle) call(ctx context.Context, c call) (protocol.Answer, error) {
	p, err := h.process(ctx, c)
	if err != nil {
		return protocol.Answer{}, err
	}
	for try := 1; ; try++ {
		a, err := h.callOnce(ctx, p, c.output)
		if !errors.Is(err, ErrCut) || try == tries || ctx.Err() != nil || c.command != nil && !lostConnection(err) {
			return a, err
		}
		if err := clock.Sleep(ctx, time.Duration(try)*200*time.Millisecond); err != nil {
			return a, err
		}
	}
}

// lostConnection reports whether it is unknown how a program ended.
func lostConnection(err error) bool {
	var early *endedEarly
	return !errors.As(err, &early)
}

// errLost says that nobody inside will say how a command ended.
var errLost = fmt.Errorf("the command never started, or its supervisor was killed: %w", sandbox.ErrUnavailable)

// refused is the error of an answer that is not what was asked for; err is the call's own.
func refused(a protocol.Answer, err error) error {
	switch {
	case err != nil:
		return err
	case a.Result == protocol.OK:
		return nil
	case a.Result == protocol.Gone:
		return fmt.Errorf("it has another owner: %w", sandbox.ErrGone)
	case a.Result == protocol.DiskFull:
		return fmt.Errorf("its disk is full: %w", sandbox.ErrDisk)
	case a.Result == protocol.Unavailable:
		return fmt.Errorf("%s: %w", a.Detail, sandbox.ErrUnavailable)
	case a.Result == protocol.Lost:
		return fmt.Errorf("%s: %w", a.Detail, errLost)
	case a.Result == protocol.Lacking:
		return fmt.Errorf("it lacks %s: %w", strings.Join(strings.Fields(a.Detail), ", "), sandbox.ErrSetting)
	case a.Result == protocol.NoPlace:
		return fmt.Errorf("its user cannot write /workspace: %s: %w", a.Detail, sandbox.ErrSetting)
	}
	return fmt.Errorf("%s %s", a.Result, a.Detail)
}
