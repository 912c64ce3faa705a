package local

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// launched is the program that was launched: a bubblewrap that ends with the stage and not with the
// owner.
type launched struct {
	wrapped
	what   *launchReq
	held   *session // who prepared it and has not let it run yet; the stage's lock guards it
	gate   *os.File // one byte lets it run
	done   chan struct{}
	stderr *tail
	timer  *time.Timer // of its timeout; the stage's lock guards it

	said   sync.Mutex
	excess string // why the stage ended it for the disk it used
}

// runs reports whether any of it runs.
func (p *launched) runs() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// end kills it and waits until nothing of it runs.
func (p *launched) end() error {
	p.kill()
	late := time.NewTimer(killPatience)
	defer late.Stop()
	select {
	case <-p.done:
		return nil
	case <-late.C:
		return errors.New("the launched program does not end")
	}
}

// launch prepares a program, reports its first process, which the owner puts into
// its control group and then releases, and its end to whoever launched it.
func (s *stage) launch(o *session, id uint64, c *launchReq, files []*os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	p := &launched{wrapped: wrapped{pidfd: -1}, what: c, held: o, done: make(chan struct{}), stderr: &tail{}}
	last := reply{ID: id, Kind: kindExited}
	err := s.reserve(p, len(files))
	if err == nil {
		last, err = s.run(p, o, id, files)
		close(p.done)
	}
	closeAll(files...)
	if err != nil {
		last.Err = err.Error()
	}
	o.reply(last)
	s.settle()
}

// reserve makes it the stage's program, if there is none.
func (s *stage) reserve(p *launched, files int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.what == nil || files < 2 || !s.stays:
		return errors.New("incomplete launch request")
	case s.owner != p.held:
		return errReplaced
	case s.program.runs():
		return errors.New("a launched program runs already; halt it first")
	}
	s.program = p
	return nil
}

// run stays with the program from its preparation to its end.
func (s *stage) run(p *launched, o *session, id uint64, files []*os.File) (reply, error) {
	last := reply{ID: id, Kind: kindExited}
	defer p.forget()
	streams, err := openStreams(files)
	if err != nil {
		return last, err
	}
	s.mu.Lock()
	p.gate = streams.gate
	s.mu.Unlock()
	defer closeAll(streams.gate, streams.stderr)
	err = p.start(s.setup.Bwrap, s.setup.Keep, p.what.Argv, streams.files)
	closeAll(streams.own...)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(p.stderr, streams.stderr)
	}()
	if err != nil {
		return last, err
	}
	last = p.wait(id, func(child int, err error) {
		r := reply{ID: id, Kind: kindStarted, Child: child}
		if err == nil {
			err = limitProcess(child, p.what.Rlimits)
		}
		if err != nil {
			r.Err = err.Error()
		}
		o.reply(r)
	})
	err = p.bury()
	s.mu.Lock()
	if p.timer != nil {
		p.timer.Stop()
	}
	s.mu.Unlock()
	select {
	case <-drained:
	case <-time.After(pipeGrace):
	}
	last.Text = strings.TrimSpace(p.stderr.String())
	return last, err
}

// streams are the descriptors of a program: as an exec request has them, those of
// them that are ours to close, and our ends.
type streams struct {
	files, own   []*os.File
	gate, stderr *os.File
}

// openStreams makes the descriptors that the owner does not send: its streams must not end
// with the owner. What is written to stderr is read and forgotten, but for the end,
// which says why bubblewrap could not start it.
func openStreams(files []*os.File) (streams, error) {
	block, gate, err := os.Pipe()
	if err != nil {
		return streams{}, fmt.Errorf("make pipe: %w", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		closeAll(block, gate)
		return streams{}, fmt.Errorf("make pipe: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		closeAll(block, gate, r, w)
		return streams{}, fmt.Errorf("open empty input: %w", err)
	}
	return streams{
		files: slices.Concat([]*os.File{files[0], files[1], block, null, null, w}, files[2:]),
		own:   []*os.File{block, null, w}, gate: gate, stderr: r,
	}, nil
}

// release lets the program run that this owner prepared. From now on it is nobody's.
func (s *stage) release(o *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.program
	if p == nil || p.held != o || s.owner != o {
		return errors.New("nothing was prepared to be launched")
	}
	if _, err := p.gate.Write([]byte{1}); err != nil {
		return fmt.Errorf("let the program run: %w", err)
	}
	p.held = nil
	if t := p.what.Timeout; t > 0 {
		p.timer = time.AfterFunc(t, p.kill)
	}
	go s.watch(p)
	return nil
}

// launched reports whether something launched runs, and what disk it used too much.
func (s *stage) launched() (runs int64, excess string) {
	s.mu.Lock()
	p := s.program
	s.mu.Unlock()
	if p == nil {
		return 0, ""
	}
	if p.runs() {
		runs = 1
	}
	p.said.Lock()
	defer p.said.Unlock()
	return runs, p.excess
}

// halt ends what was launched.
func (s *stage) halt() error {
	s.mu.Lock()
	p := s.program
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.end()
}

// programInterval is how often the disk use of a program is looked at. It is no command
// that somebody waits for, and may run for hours: a walk takes a twentieth of the time.
const programInterval = 2 * diskInterval

// watch ends the program when it used more disk than it may, with or without an owner.
func (s *stage) watch(p *launched) {
	timer := time.NewTimer(programInterval)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
		begin := time.Now()
		text := p.what.Disk.scarce(freeSpace(private + "/" + boxName))
		if text == "" {
			text = p.what.Disk.excess(treeUsage(s.upper()))
		}
		if text != "" {
			p.said.Lock()
			p.excess = text
			p.said.Unlock()
			p.kill()
			return
		}
		timer.Reset(max(programInterval, 20*time.Since(begin)))
	}
}
