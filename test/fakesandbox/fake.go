// Package fakesandbox is a sandbox driver in memory, for tests that need thousands of
// sandboxes or a sandbox that fails when told to.
//
// It keeps the promises about names, life, files, forks and sweeping; commands
// are answered by a function of the test's, which sees the files and may change
// them. There is no isolation: nothing is executed.
package fakesandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// Call is one Exec as the answering function sees it.
type Call struct {
	Sandbox string
	Labels  map[string]string
	Command sandbox.Command
	// Network is what the sandbox may reach now.
	Network sandbox.Network
	// Files are the sandbox's files. The function may change them; it runs
	// alone in its sandbox. nil for a launched program, which runs beside commands.
	Files Files
	// Edit lets a launched program see and change the files, alone for that moment; nil
	// for commands.
	Edit func(func(Files))
	// Stdout and Stderr are never nil; MaxOutput is applied behind them.
	Stdout, Stderr io.Writer
}

// Func answers an Exec. It must return soon after the context ends.
type Func func(ctx context.Context, c Call) (sandbox.Result, error)

// Op names an operation for Fault.
type Op string

// Operations that Fault can break.
const (
	OpOpen     Op = "open"
	OpAttach   Op = "attach"
	OpExec     Op = "exec"
	OpPut      Op = "put"
	OpGet      Op = "get"
	OpClose    Op = "close"
	OpFreeze   Op = "freeze" // with errors.ErrUnsupported: this provider does not offer it
	OpThaw     Op = "thaw"
	OpRestrict Op = "restrict"
	OpLaunch   Op = "launch"
	OpLaunched Op = "launched"
	OpHalt     Op = "halt"
	OpSweep    Op = "sweep"
	OpCheck    Op = "check"
)

// Driver is the fake. Make it with New.
type Driver struct {
	mu      sync.Mutex
	answer  Func
	program Func
	fault   func(op Op, name string) error
	traits  sandbox.Traits
	hourly  float64
	boxes   map[string]*Sandbox
	bases   map[string]*base
	counts  map[Op]int
	most    int
}

// base is a frozen tree.
type base struct {
	files Files
	info  sandbox.Info
}

// New returns a driver whose commands are answered by f; nil answers all with
// success and no output.
func New(f Func) *Driver {
	if f == nil {
		f = func(context.Context, Call) (sandbox.Result, error) { return sandbox.Result{}, nil }
	}
	return &Driver{
		answer: f, boxes: make(map[string]*Sandbox), bases: make(map[string]*base), counts: make(map[Op]int),
		traits: sandbox.Traits{
			Name: "fake", Isolation: "none: nothing runs", Fork: true, ForkHow: "memory", Egress: true, Socket: true, Launch: true, Attach: true, BackgroundDies: true,
			MemoryKey: "sandbox.fake.memory", Limits: "none", Start: "none", Cost: "nothing",
		},
	}
}

// Table answers commands by what their text contains: the first entry, in
// order of the slice, whose Match is in the shell text or the joined argv.
// Anything else is "command not found".
func Table(entries ...Entry) Func {
	return func(_ context.Context, c Call) (sandbox.Result, error) {
		text := c.Command.Shell + strings.Join(c.Command.Argv, " ")
		for _, e := range entries {
			if !strings.Contains(text, e.Match) {
				continue
			}
			_, _ = io.WriteString(c.Stdout, e.Stdout)
			_, _ = io.WriteString(c.Stderr, e.Stderr)
			maps.Copy(c.Files, e.Write)
			return e.Result, e.Err
		}
		_, _ = io.WriteString(c.Stderr, "not found: "+text+"\n")
		return sandbox.Result{ExitCode: 127}, nil
	}
}

// Entry is one line of a Table.
type Entry struct {
	Match          string
	Stdout, Stderr string
	Write          Files // files the command leaves behind
	Result         sandbox.Result
	Err            error
}

// SetFault installs a function that may make an operation fail, before it does
// anything; nil removes it.
func (d *Driver) SetFault(f func(op Op, name string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = f
}

// SetProgram installs what a launched program is, from the next launch on; nil is one that
// runs until it is ended. It runs in a goroutine of its own, must return soon after its
// context ends (by Halt, the timeout, or with the sandbox), and is not bothered by Attach.
func (d *Driver) SetProgram(f Func) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.program = f
}

// SetTraits changes what the driver says of itself. Without Egress its sandboxes refuse
// to restrict their network, without Launch to launch; without Fork it is still a Forker, which nobody should use.
func (d *Driver) SetTraits(change func(*sandbox.Traits)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.traits)
}

// SetHourly changes what its sandboxes say they cost, in US dollars for an hour.
func (d *Driver) SetHourly(usd float64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hourly = usd
}

// Count returns how often an operation was asked for.
func (d *Driver) Count(op Op) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts[op]
}

// OpenNames returns the names of the sandboxes that are open now, sorted.
func (d *Driver) OpenNames() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.boxes))
}

// MostOpen is the highest number of sandboxes that were open at one time.
func (d *Driver) MostOpen() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.most
}

// begin counts an operation and asks for its fault. The lock must be held.
func (d *Driver) begin(op Op, name string) error {
	d.counts[op]++
	if d.fault == nil {
		return nil
	}
	if err := d.fault(op, name); err != nil {
		return fmt.Errorf("%s sandbox %s: %w", op, name, err)
	}
	return nil
}

// Open makes a sandbox, as the contract says.
func (d *Driver) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open sandbox %s: %w", spec.Name, err)
	}
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,79}$`).MatchString(spec.Name) {
		return nil, fmt.Errorf("open sandbox: bad name %q", spec.Name)
	}
	if l := spec.Limits; l.Memory < 0 || l.CPUs < 0 || l.Processes < 0 || l.Disk < 0 {
		return nil, fmt.Errorf("open sandbox %s: %w: negative", spec.Name, sandbox.ErrLimit)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin(OpOpen, spec.Name); err != nil {
		return nil, err
	}
	if d.boxes[spec.Name] != nil || d.bases[spec.Name] != nil {
		return nil, fmt.Errorf("open sandbox %s: name is in use", spec.Name)
	}
	files := Files{}
	if spec.From != "" {
		from := d.bases[spec.From]
		if from == nil {
			return nil, fmt.Errorf("open sandbox %s: base %s: %w", spec.Name, spec.From, sandbox.ErrGone)
		}
		files = from.files.clone()
	}
	if !d.traits.Socket && spec.Network.Socket != "" {
		return nil, fmt.Errorf("open sandbox %s: a socket: %w", spec.Name, errors.ErrUnsupported)
	}
	info := sandbox.Info{Name: spec.Name, Labels: maps.Clone(spec.Labels), Created: time.Now()}
	s := newSandbox(d, info, &machine{files: files, launches: spec.Launch})
	s.network = spec.Network
	d.boxes[spec.Name] = s
	d.most = max(d.most, len(d.boxes))
	return s, nil
}

// Attach returns a new handle; the old one's commands end, and what was launched runs on.
func (d *Driver) Attach(_ context.Context, name string) (sandbox.Sandbox, error) {
	d.mu.Lock()
	old := d.boxes[name]
	err := d.begin(OpAttach, name)
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if old == nil {
		return nil, fmt.Errorf("attach sandbox %s: %w", name, sandbox.ErrGone)
	}
	old.end()
	s := newSandbox(d, old.info, old.machine)
	s.network = old.reach()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.boxes[name] = s
	return s, nil
}

// Kill ends a sandbox as a provider does that loses a machine: nobody closed it, and
// what runs in it or comes later is answered with sandbox.ErrGone. It may be called by
// a command that runs in it.
func (d *Driver) Kill(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.boxes[name]; s != nil {
		delete(d.boxes, name)
		s.die()
		s.machine.halt()
	}
}

// Sweep lists first and asks afterwards, without the lock: keep may call back.
func (d *Driver) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	d.mu.Lock()
	if err := d.begin(OpSweep, ""); err != nil {
		d.mu.Unlock()
		return nil, err
	}
	boxes, bases := maps.Clone(d.boxes), maps.Clone(d.bases)
	d.mu.Unlock()
	var gone []string
	for _, name := range slices.Sorted(maps.Keys(boxes)) {
		if !keep(boxes[name].info) {
			gone = append(gone, name)
			if err := boxes[name].Close(ctx); err != nil {
				return gone, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bases)) {
		if !keep(bases[name].info) {
			gone = append(gone, name)
			_ = d.Thaw(ctx, name)
		}
	}
	return gone, nil
}

// Traits says what SetTraits made of it.
func (d *Driver) Traits() sandbox.Traits {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.traits
}

// Check succeeds unless a fault says otherwise.
func (d *Driver) Check(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begin(OpCheck, "")
}

// Freeze makes a base of a sandbox.
func (d *Driver) Freeze(_ context.Context, sb sandbox.Sandbox) (string, error) {
	s, ok := sb.(*Sandbox)
	if !ok {
		return "", errors.New("freeze sandbox: not of this driver")
	}
	d.mu.Lock()
	err := d.begin(OpFreeze, s.info.Name)
	frozen := d.bases[s.info.Name] != nil
	d.mu.Unlock()
	if err != nil || frozen {
		return s.info.Name, err
	}
	if !s.end() {
		return "", fmt.Errorf("freeze sandbox %s: %w", s.info.Name, sandbox.ErrGone)
	}
	s.machine.halt().wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.boxes, s.info.Name)
	info := s.info
	info.Base = true
	d.bases[info.Name] = &base{files: s.machine.files, info: info}
	return info.Name, nil
}

// Thaw removes a base.
func (d *Driver) Thaw(_ context.Context, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin(OpThaw, name); err != nil {
		return err
	}
	delete(d.bases, name)
	return nil
}

// HasBase reports whether a base exists.
func (d *Driver) HasBase(_ context.Context, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bases[name] != nil
}

// reader makes a ReadCloser of a string.
func reader(s string) io.ReadCloser { return io.NopCloser(bytes.NewReader([]byte(s))) }
