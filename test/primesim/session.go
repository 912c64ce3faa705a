package primesim

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/sandbox/prime/command"
	"github.com/yudai-dev/yudai/test/machine"
)

// session is one command of a sandbox. It runs on when nobody looks; what it
// prints while nobody looks is lost, its end is kept for a while.
type session struct {
	uuid  string
	spec  *command.StartRequest
	ready chan struct{} // closed when it was started, or could not be
	err   error         // why it could not be started
	pid   uint32
	proc  *machine.Process
	done  chan struct{} // closed with its end
	end   *command.CommandSessionEvent
	until time.Time // when the end is forgotten

	mu       sync.Mutex
	viewers  map[*viewer]bool
	stdin    *os.File
	controls map[string]bool // inputs and signals that were done
}

// viewer is one stream that shows a session.
type viewer struct {
	events chan *command.CommandSessionEvent
	left   chan struct{}
}

func (c *session) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// view begins to show a session; what is printed from now on reaches the viewer.
func (c *session) view() *viewer {
	v := &viewer{events: make(chan *command.CommandSessionEvent), left: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.viewers[v] = true
	return v
}

// leave ends a view.
func (c *session) leave(v *viewer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.viewers, v)
	close(v.left)
}

// printed passes output on to whoever looks; a slow viewer holds the command up.
type printed struct {
	c     *session
	event func([]byte) *command.CommandSessionEvent
}

// Write is part of [io.Writer].
func (p printed) Write(data []byte) (int, error) {
	p.c.mu.Lock()
	viewers := slices.Collect(maps.Keys(p.c.viewers))
	p.c.mu.Unlock()
	if len(viewers) == 0 {
		return len(data), nil
	}
	event := p.event(slices.Clone(data))
	for _, v := range viewers {
		select {
		case v.events <- event:
		case <-v.left:
		}
	}
	return len(data), nil
}

func stdout(data []byte) *command.CommandSessionEvent {
	return &command.CommandSessionEvent{Event: &command.CommandSessionEvent_Data{Data: &command.CommandSessionEvent_DataEvent{
		Output: &command.CommandSessionEvent_DataEvent_Stdout{Stdout: data}}}}
}

func stderr(data []byte) *command.CommandSessionEvent {
	return &command.CommandSessionEvent{Event: &command.CommandSessionEvent_Data{Data: &command.CommandSessionEvent_DataEvent{
		Output: &command.CommandSessionEvent_DataEvent_Stderr{Stderr: data}}}}
}

// start starts the command of a session.
func (s *Server) start(b *box, m *machine.Machine, c *session) {
	defer close(c.ready)
	spec := c.spec.GetCommand()
	if err := startable(m, spec); err != nil {
		s.failed(c, err)
		return
	}
	user := spec.GetUser()
	if user == "" {
		user = machine.Root
	}
	home := map[string]string{machine.Root: "/root", machine.User: "/home/user"}[user]
	env := map[string]string{"PATH": machine.Path, "HOME": home, "USER": user, "LOGNAME": user, "SHELL": "/bin/bash"}
	maps.Copy(env, b.req.EnvironmentVars)
	maps.Copy(env, b.req.Secrets)
	maps.Copy(env, spec.GetEnvs())
	var list []string
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	job := machine.Job{
		User: user, Env: list, Dir: spec.GetCwd(), Argv: append([]string{spec.GetCmd()}, spec.GetArgs()...),
		Stdout: printed{c, stdout}, Stderr: printed{c, stderr},
	}
	if c.spec.GetStdin() {
		r, w, err := os.Pipe()
		if err != nil {
			s.failed(c, err)
			return
		}
		c.stdin, job.Stdin = w, r
		defer r.Close()
	}
	cmd, proc, err := m.Spawn(context.Background(), job)
	if err != nil {
		s.failed(c, err)
		return
	}
	c.proc, c.pid = proc, uint32(proc.PID)
	s.work.Go(func() { s.await(b, c, cmd) })
}

// failed notes that a command could not be started.
func (s *Server) failed(c *session, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.err, c.until = err, s.now().Add(s.o.Retain)
	close(c.done)
}

// await waits for the end of a command, and for its output to end.
func (s *Server) await(b *box, c *session, cmd *exec.Cmd) {
	err := cmd.Wait()
	c.mu.Lock()
	c.proc.Release()
	if c.stdin != nil {
		_ = c.stdin.Close()
	}
	c.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	c.end, c.until, b.used = ended(cmd, err), s.now().Add(s.o.Retain), s.now()
	close(c.done)
	s.wake()
}

// ended is the last event of a command.
func ended(cmd *exec.Cmd, err error) *command.CommandSessionEvent {
	end := &command.CommandSessionEvent_EndEvent{ExitCode: -1}
	var exit *exec.ExitError
	switch status, isStatus := cmd.ProcessState.Sys().(syscall.WaitStatus); {
	case err != nil && !errors.As(err, &exit):
		end.Error = proto.String(err.Error())
	case isStatus && status.Exited():
		end.ExitCode, end.Exited = int32(status.ExitStatus()), true
	}
	end.Status = strings.TrimSuffix(cmd.ProcessState.String(), " (core dumped)")
	return &command.CommandSessionEvent{Event: &command.CommandSessionEvent_End{End: end}}
}
