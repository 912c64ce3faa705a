package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
)

// callsFile is the socket in a sandbox's directory at which the next owner calls the
// stage. Only who may read the record may connect.
const callsFile = "stage.sock"

// launches reports whether the sandbox was opened with Spec.Launch: then its stage, its
// control group and its proxy's directory belong to the sandbox, and not to a handle.
func (r record) launches() bool { return r.Keep != "" }

// token names what belongs to one handle, or to all of them together.
func (r record) token() string {
	if r.launches() {
		return r.Keep
	}
	return r.Owner
}

// kept names the processes that outlive an owner.
func (b *box) kept() string { return b.driver.state.marker(b.record.Name) + b.record.Keep }

// rejoin returns a stage after the one of before left us: the same one, if only the
// connection broke.
func (b *box) rejoin(ctx context.Context) (*helper, error) {
	release, err := lockDir(ctx, b.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrGone, err)
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if err := b.owned(); err != nil {
		return nil, err
	}
	return b.join(ctx)
}

// join takes the living stage over from whoever had it, and starts one if there is none.
// When it returns no command of an earlier owner runs, and what was launched only in
// the stage that was taken over. The directory must be locked.
func (b *box) join(ctx context.Context) (*helper, error) {
	all := b.driver.state.marker(b.record.Name)
	h, err := b.call(ctx)
	if err == nil {
		if err := killMarked(ctx, all, b.kept()); err != nil {
			h.close()
			return nil, err
		}
		return h, nil
	}
	if ctx.Err() != nil {
		return nil, err
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
		b.driver.log.Warn().Str(logkey.SandboxID, b.record.Name).Err(err).Msg("what was launched is lost: its stage cannot be taken over")
	}
	if err := killMarked(ctx, all, ""); err != nil {
		return nil, err
	}
	return b.start(ctx)
}

// call connects to the living stage and makes this handle its owner.
func (b *box) call(ctx context.Context) (*helper, error) {
	conn, err := dialIn(b.dir)
	if err != nil {
		return nil, err
	}
	h := newHelper(conn, true)
	go h.receive()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	_, err = h.ask(ctx, request{Op: opHello, Hello: &hello{Protocol: stageProtocol, Keep: b.kept(), Marker: b.marker()}}, nil)
	if err != nil {
		h.close()
		return nil, fmt.Errorf("take over the stage: %w", err)
	}
	return h, nil
}

// dialIn connects to the stage's socket. The path of a socket is limited to 107 bytes, so
// it goes through a descriptor.
func dialIn(dir string) (*net.UnixConn, error) {
	at, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("call the stage: %w", err)
	}
	defer func() { _ = at.Close() }()
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Net: "unixpacket", Name: fmt.Sprintf("/proc/self/fd/%d/%s", at.Fd(), callsFile)})
	if err != nil {
		return nil, fmt.Errorf("call the stage: %w", err)
	}
	return conn, nil
}

// listenIn makes the socket at which a stage is called.
func listenIn(dir string) (*os.File, error) {
	if err := os.Remove(filepath.Join(dir, callsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of a dead stage: %w", err)
	}
	at, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("listen for the next owner: %w", err)
	}
	defer func() { _ = at.Close() }()
	name := fmt.Sprintf("/proc/self/fd/%d/%s", at.Fd(), callsFile)
	l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Net: "unixpacket", Name: name})
	if err != nil {
		return nil, fmt.Errorf("listen for the next owner: %w", err)
	}
	l.SetUnlinkOnClose(false)
	defer func() { _ = l.Close() }()
	if err := os.Chmod(filepath.Join(dir, callsFile), 0o600); err != nil {
		return nil, fmt.Errorf("listen for the next owner: %w", err)
	}
	f, err := l.File()
	if err != nil {
		return nil, fmt.Errorf("listen for the next owner: %w", err)
	}
	return f, nil
}

// extinguish ends the stage, what was launched, and their control group. The directory must
// be locked, and this handle its owner.
func (b *box) extinguish() error {
	if !b.record.launches() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	return errors.Join(killMarked(ctx, b.driver.state.marker(b.record.Name), ""), b.ungroup())
}
