package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// marker names the processes of the sandbox for later owners.
func (b *box) marker() string { return b.driver.state.marker(b.record.Name) + b.record.ID }

// inside returns the hold of the sandbox's inside, which begins anew if the helper ended.
func (b *box) inside(ctx context.Context) (*guest.Handle, *helper, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, fmt.Errorf("sandbox %s is closed: %w", b.record.Name, sandbox.ErrGone)
	}
	if b.helper.alive() {
		return b.guest, b.helper, nil
	}
	b.guest.End(b.helper.gone())
	b.helper.close()
	release, err := lockDir(ctx, b.dir)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	if err := b.owned(); err != nil {
		return nil, nil, err
	}
	if err := b.join(ctx); err != nil {
		return nil, nil, err
	}
	return b.guest, b.helper, nil
}

// errRestarted is the cause seen by commands that Restart ends.
var errRestarted = errors.New("sandbox restarted")

// Restart ends the inside with its namespaces, of which no process can get out, and starts
// another over the same files.
func (b *box) Restart(ctx context.Context) error {
	failpoint.Hit("sandbox", "restart", "before")
	defer failpoint.Hit("sandbox", "restart", "after")
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.restart(ctx); err != nil {
		return fmt.Errorf("restart sandbox %s: %w", b.record.Name, err)
	}
	return nil
}

func (b *box) restart(ctx context.Context) error {
	if b.closed {
		return errClosed
	}
	b.guest.End(errRestarted)
	b.helper.close()
	release, err := lockDir(ctx, b.dir)
	if err != nil {
		return err
	}
	defer release()
	if err := b.owned(); err != nil {
		return err
	}
	if err := b.killInside(ctx); err != nil {
		return err
	}
	return b.start(ctx)
}

// join takes the inside over from whoever had it, and starts it if there is none. When it
// returns no command of an earlier owner runs, and what was launched only in the inside
// that was taken over. The directory must be locked.
func (b *box) join(ctx context.Context) error {
	err := b.takeOver(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	found, failed := killMarked(ctx, b.driver.state.marker(b.record.Name))
	if found && b.record.launches() {
		b.driver.log.Warn().Str(logkey.SandboxID, b.record.Name).Err(err).Msg("what was launched is lost: its helper cannot be taken over")
	}
	if failed != nil {
		return failed
	}
	return b.start(ctx)
}

// takeOver makes this handle the owner of a living helper, and of the inside.
func (b *box) takeOver(ctx context.Context) error {
	conn, err := dialIn(b.dir, helperSocket)
	if err != nil {
		return err
	}
	h := newHelper(conn)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	a, err := h.ask(ctx, request{Op: opHello, Hello: &hello{Protocol: helperProtocol, Marker: b.marker()}}, nil)
	if err == nil {
		err = b.limit(a) // the old owner may have died before it did
	}
	if err != nil {
		h.close()
		return fmt.Errorf("take over the helper: %w", err)
	}
	return b.enter(ctx, h, guest.Attach)
}

// enter takes the inside of a helper's namespaces.
func (b *box) enter(
	ctx context.Context, h *helper, take func(context.Context, guest.Remote, guest.Options) (*guest.Handle, error),
) error {
	d := b.driver
	env := d.root.environment(b.proxy != nil)
	h.disk = &diskMeter{limits: b.diskLimits(), dir: b.dir, share: 10, walk: func(ctx context.Context) (int64, error) {
		a, err := h.ask(ctx, request{Op: opUsage}, nil)
		return a.Number, err
	}}
	g, err := take(ctx, &firstProcess{dir: b.dir, left: h.left}, guest.Options{
		Name: b.record.Name, Token: strings.ToLower(b.record.Owner), Env: env, Path: env["PATH"],
		Program: d.program.Path, Ways: b.ways(), Launch: b.record.launches(),
		Disk: h.disk.used, DiskLimit: h.disk.limits.Most, DiskEvery: diskInterval,
	})
	if err != nil {
		h.close()
		return err
	}
	b.helper, b.guest = h, g
	return nil
}

// ways are the sockets that commands reach, as the guest program wants them.
func (b *box) ways() []string {
	var all []string
	if b.proxy != nil {
		all = append(all, egress.Address+" "+egress.SocketInside)
	}
	if b.record.Socket != "" {
		all = append(all, sandbox.SocketAddress+" "+socketInside+"/"+sandbox.SocketName)
	}
	return all
}

// errStart is the cause seen where the inside does not begin in time.
var errStart = fmt.Errorf("its inside did not begin within %v: %w", startTimeout, sandbox.ErrUnavailable)

// start starts the helper with everything the sandbox needs.
func (b *box) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errStart)
	defer cancel()
	h, gate, err := b.startHelper(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = gate.Close() }()
	if _, err := gate.Write([]byte{1}); err != nil {
		h.close()
		return fmt.Errorf("start the first process inside: %w", err)
	}
	return b.enter(ctx, h, guest.Open)
}

// limit puts the first process inside, of which a helper told, into the control group.
func (b *box) limit(a answer) error {
	if b.group == nil || a.Number == 0 { // a helper of an older yudai does not tell
		return nil
	}
	return b.group.add(int(a.Number))
}

// startHelper starts a helper, and prepares the first process inside with its limits. It
// runs when something is written to the gate, and also when the gate is closed: after an
// error it is ended first.
func (b *box) startHelper(ctx context.Context) (h *helper, gate *os.File, err error) {
	var files []*os.File
	defer func() { closeAll(files...) }()
	open := func(f *os.File, e error) {
		files, err = append(files, f), errors.Join(err, e)
	}
	d := b.driver
	args, err := d.root.args(b.proxy != nil, b.record.Socket != "", d.bwrap.newer, d.program.Path)
	if err != nil {
		return nil, nil, err
	}
	open(memFile("arguments", args))
	open(memFile("filter", d.filter))
	block, hold, e := os.Pipe()
	open(block, e)
	open(listenIn(b.dir, callsSocket, d.state.uid)) // the helper calls, too, when there is no owner
	open(listenIn(b.dir, helperSocket, -1))
	defer func() {
		if err != nil {
			closeAll(hold)
		}
	}()
	first := protocol.Request{Listen: callsFD, Name: b.marker(), Ways: b.ways()}
	c := setup{Marker: b.marker(), Files: etcFiles(), Etc: d.root.etc, Start: &startup{
		Bwrap: d.bwrap.path, Rlimits: rlimits(b.record.Limits, d.facts().grouped), Launch: b.record.launches(), Disk: b.diskLimits(),
		Argv: append([]string{d.program.Path, protocol.VerbInit}, first.Items()...),
	}}
	if err == nil {
		err = b.sources(&c, &files)
	}
	if err != nil {
		return nil, nil, err
	}
	h, a, err := startHelper(ctx, d.state.uid, c, files)
	if err == nil {
		if err = b.limit(a); err != nil {
			h.close()
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, b.killInside(ctx))
	}
	return h, hold, nil
}

// killInside ends the processes of the sandbox, also for who has no time left.
func (b *box) killInside(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	_, err := killMarked(ctx, b.driver.state.marker(b.record.Name))
	return err
}

// sources names what the helper shows.
func (b *box) sources(c *setup, files *[]*os.File) error {
	d := b.driver
	add := func(name, path string, dir bool) {
		c.Sources = append(c.Sources, hostSource(name, path, dir, name != boxName, files))
	}
	add(boxName, b.dir, true)
	for i, base := range b.record.Lower {
		name := fmt.Sprintf("base%d", i)
		add(name, d.state.base(base), true)
		c.Lower = append(c.Lower, name)
	}
	c.Overlay = len(c.Lower) > 0
	d.root.sources(add)
	program, err := d.state.program(d.program)
	if err != nil {
		return err
	}
	add("program", program, false)
	if b.proxy != nil {
		add("proxy", b.proxyDir(), true)
	}
	if b.record.Socket == "" {
		return nil
	}
	add("socket", b.record.Socket, true)
	return checkSocket(b.record.Socket)
}

// checkSocket refuses what is no directory.
func checkSocket(dir string) error {
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	if err != nil {
		return fmt.Errorf("show the network's socket: %w", err)
	}
	return nil
}

// startProxy serves the allow-list in a directory that the sandbox sees, whoever owns it:
// there the next owner's socket appears.
func (b *box) startProxy() error {
	private, err := egress.Ranges(b.driver.config.AllowPrivate)
	if err != nil {
		return fmt.Errorf("sandbox.local.allow_private: %w", err)
	}
	if err := os.MkdirAll(b.proxyDir(), 0o755); err != nil { //nolint:gosec // its parent is private
		return fmt.Errorf("make proxy directory: %w", err)
	}
	b.proxy, err = egress.Listen(b.proxyDir(), egress.Options{
		Allow: b.record.Allow, AllowPrivate: private, Resolver: b.driver.resolver, Dial: b.driver.dial,
	})
	return err
}

func (b *box) proxyDir() string { return filepath.Join(b.dir, "proxy") }
