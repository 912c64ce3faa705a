package guest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/require"
)

// requireMachines skips the test where machines cannot run, and fails it where they must.
func requireMachines(t *testing.T) {
	t.Helper()
	require.Machines(t, machine.Supported())
}

func TestRequiredMachineMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestConformance")
}

// far is a machine as a provider would offer it.
type far struct {
	m    *machine.Machine
	gone *atomic.Bool
	// cut, if set, is asked at every chunk of output how Run goes on; see faults_test.go.
	cut func(ctx context.Context, p guest.Process, chunk int) error
}

func (f *far) Run(ctx context.Context, p guest.Process, out func(stderr bool, data []byte)) (int, error) {
	if f.gone.Load() {
		return 0, sandbox.ErrGone
	}
	user := machine.User
	if p.Root {
		user = machine.Root
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	c := f.m.Command(context.WithoutCancel(ctx), user, []string{"PATH=" + machine.Path}, "/", p.Argv...)
	pipes := [2]io.Reader{}
	for i, pipe := range []func() (io.ReadCloser, error){c.StdoutPipe, c.StderrPipe} {
		r, err := pipe()
		if err != nil {
			return 0, err
		}
		pipes[i] = r
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	type chunk struct {
		stderr bool
		data   []byte
	}
	chunks := make(chan chunk)
	var both sync.WaitGroup
	for i, r := range pipes {
		both.Go(func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := r.Read(buf)
				if n > 0 {
					select {
					case chunks <- chunk{i == 1, append([]byte(nil), buf[:n]...)}:
					case <-running.Done(): // nobody listens: what comes is lost, as it is far away
					}
				}
				if err != nil {
					return
				}
			}
		})
	}
	ended := make(chan error, 1)
	go func() {
		both.Wait()
		ended <- c.Wait()
		close(chunks)
	}()
	n := 0
	for {
		if f.cut != nil {
			if err := f.cut(ctx, p, n); err != nil {
				return 0, err
			}
		}
		select {
		case ch, ok := <-chunks:
			if !ok && f.gone.Load() {
				return 0, sandbox.ErrGone
			}
			if !ok {
				return code(<-ended)
			}
			n++
			out(ch.stderr, ch.data)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func code(err error) (int, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() < 0 {
			return 0, sandbox.ErrGone
		}
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (f *far) Upload(ctx context.Context, path string, r io.Reader) error {
	c := f.m.Command(ctx, machine.User, []string{"PATH=" + machine.Path}, "/", "/bin/bash", "-c", `cat >"$1"`, "cat", path)
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	_, copied := io.Copy(in, r)
	return errors.Join(copied, in.Close(), c.Wait())
}

func (f *far) Download(_ context.Context, path string) (io.ReadCloser, error) { return f.m.Open(path) }

// provider is the simplest driver there can be, on machines of this host.
type provider struct {
	dir string
	cut func(ctx context.Context, p guest.Process, chunk int) error

	mu    sync.Mutex
	live  map[string]*held
	bases map[string]bool
	next  int
}

// held is a machine that somebody pays for.
type held struct {
	m    *machine.Machine
	gone atomic.Bool
	spec sandbox.Spec
	made time.Time
}

type box struct {
	*guest.Handle
	p *provider
	h *held
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	require.Daily(t)
	requireMachines(t)
	p := &provider{dir: t.TempDir(), live: map[string]*held{}, bases: map[string]bool{}}
	t.Cleanup(func() {
		for _, h := range p.live {
			if err := h.m.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

func (p *provider) Traits() sandbox.Traits {
	return sandbox.Traits{Name: "machines", Isolation: "none to speak of", Fork: true, ForkHow: "copy", Attach: true, Machine: true, BackgroundDies: true, Launch: true}
}

func (p *provider) Check(context.Context) error { return machine.Supported() }

func (p *provider) options(spec sandbox.Spec, token string) guest.Options {
	return guest.Options{Name: spec.Name, Token: token, User: machine.User, OOM: "vmstat", Launch: spec.Launch}
}

func (p *provider) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,79}$`).MatchString(spec.Name) {
		return nil, errors.New("bad name")
	}
	if spec.Limits.Memory < 0 {
		return nil, sandbox.ErrLimit
	}
	p.mu.Lock()
	p.next++
	token := fmt.Sprint("t", p.next)
	o := machine.Options{Dir: filepath.Join(p.dir, token)}
	_, taken := p.live[spec.Name]
	taken = taken || p.bases[spec.Name]
	if spec.From != "" && !p.bases[spec.From] {
		p.mu.Unlock()
		return nil, sandbox.ErrGone
	}
	if taken {
		p.mu.Unlock()
		return nil, errors.New("name is in use")
	}
	if spec.From != "" {
		o.From = filepath.Join(p.dir, "base-"+spec.From)
	}
	h := &held{spec: spec, made: time.Now()}
	p.live[spec.Name] = h
	p.mu.Unlock()
	var err error
	if h.m, err = machine.Start(o); err != nil {
		return nil, err
	}
	b, err := guest.Open(ctx, &far{h.m, &h.gone, p.cut}, p.options(spec, token))
	if err != nil {
		return nil, errors.Join(err, p.drop(spec.Name))
	}
	return &box{b, p, h}, nil
}

func (p *provider) drop(name string) error {
	p.mu.Lock()
	h := p.live[name]
	delete(p.live, name)
	p.mu.Unlock()
	if h == nil {
		return nil
	}
	h.gone.Store(true)
	return h.m.Close()
}

func (p *provider) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	p.mu.Lock()
	h := p.live[name]
	p.next++
	token := fmt.Sprint("t", p.next)
	p.mu.Unlock()
	if h == nil {
		return nil, sandbox.ErrGone
	}
	b, err := guest.Attach(ctx, &far{h.m, &h.gone, p.cut}, p.options(h.spec, token))
	if err != nil {
		return nil, err
	}
	return &box{b, p, h}, nil
}

func (p *provider) Sweep(_ context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	p.mu.Lock()
	var all []sandbox.Info
	for name, h := range p.live {
		all = append(all, sandbox.Info{Name: name, Labels: h.spec.Labels, Created: h.made})
	}
	for name := range p.bases {
		all = append(all, sandbox.Info{Name: name, Base: true})
	}
	p.mu.Unlock()
	var gone []string
	for _, i := range all {
		if keep(i) {
			continue
		}
		gone = append(gone, i.Name)
		p.mu.Lock()
		delete(p.bases, i.Name)
		p.mu.Unlock()
		if err := p.drop(i.Name); err != nil {
			return gone, err
		}
	}
	return gone, nil
}

func (p *provider) Freeze(_ context.Context, sb sandbox.Sandbox) (string, error) {
	if p.HasBase(context.Background(), sb.Name()) {
		return sb.Name(), nil
	}
	b := sb.(*box)
	b.End(nil)
	if err := errors.Join(b.h.m.Save(filepath.Join(p.dir, "base-"+sb.Name())), p.drop(sb.Name())); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bases[sb.Name()] = true
	return sb.Name(), nil
}

func (p *provider) Thaw(_ context.Context, base string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.bases, base)
	return nil
}

func (p *provider) HasBase(_ context.Context, base string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bases[base]
}

// Close ends the machine unless another handle has it, or it is gone.
func (b *box) Close(context.Context) error {
	b.End(nil)
	b.p.mu.Lock()
	mine := b.p.live[b.Name()] == b.h
	b.p.mu.Unlock()
	if !mine {
		return nil
	}
	return b.p.drop(b.Name())
}

var (
	_ sandbox.Driver = (*provider)(nil)
	_ sandbox.Forker = (*provider)(nil)
)

func TestConformance(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Harness{Driver: newProvider(t), Commands: true})
}
