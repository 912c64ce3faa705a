package e2bsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"connectrpc.com/connect"

	"github.com/yudai-dev/yudai/sandbox/e2b/envd"
	"github.com/yudai-dev/yudai/test/machine"
)

const (
	chunk         = 32 << 10 // of a stream's data
	terminalChunk = 16 << 10
	remembered    = 30 * time.Second // how long a process that ended can be attached to
)

// process is one process that a client started.
type process struct {
	pid    int
	config *envd.ProcessConfig
	tag    *string

	command  *exec.Cmd
	handle   *machine.Process
	input    *input
	terminal *os.File    // the client's side, nil without
	limit    *time.Timer // kills it, nil without

	drained chan struct{} // closed when the output has ended
	done    chan struct{} // closed when ended is set
	ended   *envd.ProcessEvent_EndEvent
	at      time.Time // when it ended

	mu   sync.Mutex
	subs map[*subscriber]bool
}

// subscriber is one client that reads the output. A client that stays and does
// not read holds up the process and the other clients, as in the real daemon.
type subscriber struct {
	events chan *envd.ProcessEvent
	gone   chan struct{}
}

// input is a process's standard input, nil for none.
type input struct {
	mu   sync.Mutex
	pipe io.WriteCloser
}

// subscribe registers a client for all output from now on.
func (p *process) subscribe() (*subscriber, func()) {
	sub := &subscriber{events: make(chan *envd.ProcessEvent), gone: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs[sub] = true
	return sub, func() {
		close(sub.gone)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.subs, sub)
	}
}

// publish hands an event to all who are attached; with nobody it is lost.
func (p *process) publish(e *envd.ProcessEvent) {
	p.mu.Lock()
	var all []*subscriber
	for sub := range p.subs {
		all = append(all, sub)
	}
	p.mu.Unlock()
	for _, sub := range all {
		select {
		case sub.events <- e:
		case <-sub.gone:
		}
	}
}

// pump publishes what a pipe says until everybody closed it.
func (p *process) pump(r io.Reader, size int, event func([]byte) *envd.ProcessEvent_DataEvent) {
	buf := make([]byte, size)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			p.publish(&envd.ProcessEvent{Event: &envd.ProcessEvent_Data{Data: event(append([]byte(nil), buf[:n]...))}})
		}
		if err != nil {
			return
		}
	}
}

// environment returns what a command of the user gets.
func (d *daemon) environment(user string, extra map[string]string) []string {
	all := map[string]string{"PATH": machine.Path, "HOME": homeOf(user), "USER": user, "LOGNAME": user}
	for _, more := range []map[string]string{d.envs, extra} {
		for k, v := range more {
			all[k] = v
		}
	}
	var env []string
	for k, v := range all {
		if !strings.ContainsAny(k, "=\x00") && k != "" {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// start starts a process for a user. Its output waits until run.
func (d *daemon) start(r *envd.StartRequest, user string) (*process, []io.Closer, []func(), error) {
	c := r.GetProcess()
	if c.GetCmd() == "" {
		return nil, nil, nil, connect.NewError(connect.CodeInvalidArgument, errors.New("no command"))
	}
	dir := d.workdir
	if c.GetCwd() != "" || dir == "" {
		dir = absolute(c.GetCwd(), user)
	}
	if !d.isDir(dir) {
		return nil, nil, nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("cwd '%s' does not exist", dir))
	}
	p := &process{
		config: c, tag: r.Tag, subs: map[*subscriber]bool{}, drained: make(chan struct{}), done: make(chan struct{}),
	}
	// The real one lowers itself by a program of its own first, whose complaint about
	// a command that does not exist can be seen.
	argv := append([]string{"/usr/bin/nice", "-n", "0", c.GetCmd()}, c.GetArgs()...)
	job := machine.Job{User: user, Env: d.environment(user, c.GetEnvs()), Dir: dir, Argv: argv}
	var closers []io.Closer // our copies of the process's side
	var pumps []func()
	var err error
	if r.GetPty() != nil {
		closers, pumps, err = p.onTerminal(d.machine, r.GetPty(), &job)
	} else {
		closers, pumps, err = p.onPipes(r.Stdin == nil || r.GetStdin(), &job)
	}
	if err != nil {
		return nil, nil, nil, connect.NewError(connect.CodeInternal, err)
	}
	p.command, p.handle, err = d.machine.Spawn(context.WithoutCancel(d.life), job)
	if err != nil {
		for _, c := range closers {
			_ = c.Close()
		}
		for _, pump := range pumps { // which close the other sides
			pump()
		}
		return nil, nil, nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	p.pid = p.handle.PID
	return p, closers, pumps, nil
}

// onPipes gives a process two pipes for output, and one for input or nothing.
func (p *process) onPipes(open bool, job *machine.Job) ([]io.Closer, []func(), error) {
	out, outW, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	errs, errsW, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, out.Close(), outW.Close())
	}
	job.Stdout, job.Stderr = outW, errsW
	closers := []io.Closer{outW, errsW}
	if open {
		in, inW, err := os.Pipe()
		if err != nil {
			return nil, nil, errors.Join(err, out.Close(), outW.Close(), errs.Close(), errsW.Close())
		}
		job.Stdin, p.input = in, &input{pipe: inW}
		closers = append(closers, in)
	}
	return closers, []func(){
		func() {
			defer out.Close()
			p.pump(out, chunk, func(b []byte) *envd.ProcessEvent_DataEvent {
				return &envd.ProcessEvent_DataEvent{Output: &envd.ProcessEvent_DataEvent_Stdout{Stdout: b}}
			})
		},
		func() {
			defer errs.Close()
			p.pump(errs, chunk, func(b []byte) *envd.ProcessEvent_DataEvent {
				return &envd.ProcessEvent_DataEvent{Output: &envd.ProcessEvent_DataEvent_Stderr{Stderr: b}}
			})
		},
	}, nil
}

// onTerminal gives a process a terminal.
func (p *process) onTerminal(m *machine.Machine, pty *envd.PTY, job *machine.Job) ([]io.Closer, []func(), error) {
	master, slave, err := m.Terminal(uint16(pty.GetSize().GetCols()), uint16(pty.GetSize().GetRows()))
	if err != nil {
		return nil, nil, err
	}
	job.Terminal, p.terminal = slave, master
	return []io.Closer{slave}, []func(){func() {
		defer master.Close()
		p.pump(master, terminalChunk, func(b []byte) *envd.ProcessEvent_DataEvent {
			return &envd.ProcessEvent_DataEvent{Output: &envd.ProcessEvent_DataEvent_Pty{Pty: b}}
		})
	}}, nil
}

// run passes the output on and notes the end, which comes when everybody closed the
// output, a grandchild included.
func (d *daemon) run(p *process, closers []io.Closer, pumps []func()) {
	for _, c := range closers {
		_ = c.Close()
	}
	d.mu.Lock()
	d.processes[p.pid] = p
	counted := d.life.Err() == nil // else close waits already, and the process ends by itself
	if counted {
		d.work.Add(1)
	}
	d.mu.Unlock()
	var output sync.WaitGroup
	for _, pump := range pumps {
		output.Go(pump)
	}
	go func() {
		if counted {
			defer d.work.Done()
		}
		output.Wait()
		close(p.drained)
		_ = p.command.Wait()
		p.ended, p.at = endEvent(p.command.ProcessState), d.now()
		close(p.done)
		if p.limit != nil {
			p.limit.Stop()
		}
		p.handle.Release()
		if p.input != nil {
			p.input.close()
		}
	}()
}

// endEvent tells how a process ended.
func endEvent(s *os.ProcessState) *envd.ProcessEvent_EndEvent {
	e := &envd.ProcessEvent_EndEvent{ExitCode: int32(s.ExitCode()), Exited: s.Exited(), Status: s.String()}
	if !s.Success() {
		e.Error = &e.Status
	}
	return e
}

func (in *input) write(data []byte) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.pipe == nil {
		return errors.New("stdin is closed")
	}
	_, err := in.pipe.Write(data)
	return err
}

func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.pipe != nil {
		_ = in.pipe.Close()
		in.pipe = nil
	}
}

// alive reports whether a process has not ended yet.
func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// find selects a process; ended ones only where a client attaches.
func (d *daemon) find(sel *envd.ProcessSelector, ended bool) (*process, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch s := sel.GetSelector().(type) {
	case *envd.ProcessSelector_Pid:
		if p := d.processes[int(s.Pid)]; p != nil && (p.alive() || ended && d.recent(p)) {
			return p, nil
		}
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("process with pid %d not found", s.Pid))
	case *envd.ProcessSelector_Tag:
		// The real one gives up at the first process with another tag that it meets.
		for _, p := range d.processes {
			if !p.alive() || p.tag == nil {
				continue
			}
			if *p.tag == s.Tag {
				return p, nil
			}
			break
		}
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("process with tag %s not found", s.Tag))
	}
	return nil, connect.NewError(connect.CodeUnimplemented, errors.New("invalid process selector"))
}

// recent reports whether a process ended a short while ago. d.mu is held, so the
// clock must not need it.
func (d *daemon) recent(p *process) bool {
	return d.now().Sub(p.at) < remembered && !older(d.version, "0.6.0")
}

// signal signals the leader, not what it started.
func (p *process) signal(sig syscall.Signal) error {
	err := p.handle.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("process with pid %d not found", p.pid))
	}
	if err != nil {
		return connect.NewError(connect.CodeInternal, err)
	}
	return nil
}
