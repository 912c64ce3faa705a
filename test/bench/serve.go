package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// process is the real program at work as `yudai serve`.
type process struct {
	cmd *exec.Cmd
	log *listenLog
}

// listenLog keeps what a process writes and tells when it listens.
type listenLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ready chan struct{}
	once  sync.Once
}

// Write never fails.
func (l *listenLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if bytes.Contains(l.text.Bytes(), []byte("listens on ")) {
		l.once.Do(func() { close(l.ready) })
	}
	return len(p), nil
}

func (l *listenLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// start starts `yudai serve` for the rig and returns when it listens.
func (b *bench) startServe(ctx context.Context, r *rig, env ...string) (*process, error) {
	data, err := yaml.Marshal(r.cfg)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(r.dir, "config.yml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return nil, err
	}
	p := &process{cmd: exec.CommandContext(ctx, b.yudai, "serve", "--config", path), log: &listenLog{ready: make(chan struct{})}}
	p.cmd.Env = append(os.Environ(), env...)
	for k, v := range r.env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s (make build makes it): %w", b.yudai, err)
	}
	late := time.NewTimer(2 * time.Minute)
	defer late.Stop()
	select {
	case <-p.log.ready:
		return p, nil
	case <-late.C:
	case <-ctx.Done():
	}
	return nil, fmt.Errorf("yudai does not listen: %w: %s", p.stop(), p.log)
}

// stop ends it as an operator does.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(unix.SIGTERM); err != nil {
		return err
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("stop yudai: %w: %s", err, p.log)
	}
	return nil
}

// idleTime is how long an idle process is left alone before it is measured.
const idleTime = 10 * time.Second

// idle is the size of `yudai serve` when nobody asks it for anything.
func (b *bench) idle(ctx context.Context, dir string) (result, error) {
	var sizes, own []float64
	for i := range b.repeats(2) {
		size, anonymous, err := b.idleOnce(ctx, filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			return result{}, err
		}
		sizes, own = append(sizes, size), append(own, anonymous)
	}
	return result{
		checks: []check{{values: sizes, unit: " MB", bound: 40}},
		facts: []string{fmt.Sprintf("resident size %s after it listens; %s MB of it are its own, the rest are pages of the program's file and can be dropped at any time",
			idleTime, number(median(own)))},
	}, nil
}

func (b *bench) idleOnce(ctx context.Context, dir string) (size, own float64, err error) {
	r, err := newRig(ctx, dir)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	var env []string
	if b.profile != "" {
		env = append(env, "GODEBUG=inittrace=1")
	}
	p, err := b.startServe(ctx, r, env...)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if b.profile != "" {
		path := filepath.Join(b.profile, "idle.inittrace.txt")
		if err := os.WriteFile(path, []byte(p.log.String()), 0o644); err != nil { //nolint:gosec // figures, nothing secret
			return 0, 0, err
		}
	}
	rest := time.NewTimer(idleTime)
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
	size, err = status(p.cmd.Process.Pid, "VmRSS")
	if err == nil {
		own, err = status(p.cmd.Process.Pid, "RssAnon")
	}
	return size, own, err
}

// finishedSolves is how many are in the full store.
const finishedSolves = 100_000

// start is how long `yudai serve` takes until it listens.
func (b *bench) start(ctx context.Context, dir string) (result, error) {
	empty, err := newRig(ctx, filepath.Join(dir, "empty"))
	if err != nil {
		return result{}, err
	}
	full, err := newRig(ctx, filepath.Join(dir, "full"))
	if err != nil {
		return result{}, errors.Join(err, empty.close())
	}
	defer func() { err = errors.Join(err, empty.close(), full.close()) }()
	if err := fill(ctx, full.cfg.Store.Config); err != nil {
		return result{}, err
	}
	once := func(r *rig) func() (float64, error) {
		return func() (float64, error) { return b.startOnce(ctx, r) }
	}
	slow, quick, err := pairs(ctx, b.repeats(5), once(full), once(empty))
	more := make([]float64, len(slow))
	for i := range more {
		more[i] = slow[i] - quick[i]
	}
	return result{
		checks: []check{{values: more, unit: " s more", bound: 1}},
		facts: []string{fmt.Sprintf("from the start of the process until it listens %s with %d finished solves (a file of %s MB), %s with none",
			took(median(slow)), finishedSolves, number(fileSize(full.cfg.Store.Path)/1e6), took(median(quick)))},
	}, err
}

func fileSize(path string) float64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return float64(st.Size())
}

func (b *bench) startOnce(ctx context.Context, r *rig) (float64, error) {
	var p *process
	s, err := timed(func() (err error) {
		p, err = b.startServe(ctx, r)
		return err
	})
	if err != nil {
		return 0, err
	}
	return s, p.stop()
}

// fill makes finished solves: labelled, cancelled by a person before anybody
// claimed them, their answers written.
func fill(ctx context.Context, c bolt.Config) error {
	s, err := bolt.Open(c)
	if err != nil {
		return err
	}
	now := time.Now()
	err = many(ctx, finishedSolves, func(ctx context.Context, i int) error {
		one := solve.Solve{ID: solve.ID(fmt.Sprintf("over%06d", i)), Repo: solve.Repo{ID: int64(i % 500), Owner: owner, Name: "project"}, Created: now}
		one.Issue.Number, one.Trigger.Key = i, fmt.Sprint("over", i)
		one.Issue.Title, one.Issue.Body = "It does not work", strings.Repeat("There is more to say. ", 20)
		if _, _, err := s.Create(ctx, one); err != nil {
			return err
		}
		_, err := s.RequestCancel(ctx, one.ID, user, "")
		return err
	})
	return errors.Join(err, s.Close())
}
