package local

import (
	"context"
	"fmt"
	"os"

	"github.com/yudai-dev/yudai/sandbox"
)

// stage returns the helper process, started again if it died.
func (b *box) stage(ctx context.Context) (*helper, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.helper != nil && b.helper.alive() {
		return b.helper, nil
	}
	b.helper = nil
	if b.closed {
		return nil, fmt.Errorf("sandbox %s is closed: %w", b.record.Name, sandbox.ErrGone)
	}
	h, err := b.again(ctx)
	if err != nil {
		return nil, err
	}
	b.helper = h
	return h, nil
}

// again returns a helper after one that died. So did its commands, but it makes sure.
func (b *box) again(ctx context.Context) (*helper, error) {
	if b.record.launches() {
		return b.rejoin(ctx)
	}
	if err := killMarked(ctx, b.marker(), ""); err != nil {
		return nil, err
	}
	if err := b.owned(); err != nil {
		return nil, err
	}
	return b.start(ctx)
}

// start starts the helper process with everything the sandbox needs.
func (b *box) start(ctx context.Context) (*helper, error) {
	d := b.driver
	var files []*os.File
	defer func() { closeAll(files...) }()
	c := setup{Bwrap: d.bwrap.path, Marker: b.marker(), Files: etcFiles(), Etc: d.root.etc}
	add := func(name, path string, dir bool) {
		c.Sources = append(c.Sources, hostSource(name, path, dir, name != boxName, &files))
	}
	add(boxName, b.dir, true)
	for i, base := range b.record.Lower {
		name := fmt.Sprintf("base%d", i)
		add(name, d.state.base(base), true)
		c.Lower = append(c.Lower, name)
	}
	c.Overlay = len(c.Lower) > 0
	d.root.sources(add)
	if err := b.network(add); err != nil {
		return nil, err
	}
	if !b.record.launches() {
		return startHelper(ctx, d.state.uid, c, files, nil)
	}
	calls, err := listenIn(b.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = calls.Close() }()
	c.Keep = b.kept()
	return startHelper(ctx, d.state.uid, c, files, calls)
}

// network adds what the forwarder needs, if there is something to forward.
func (b *box) network(add func(name, path string, dir bool)) error {
	if b.egress != nil {
		add("proxy", b.egress.dir, true)
	}
	if dir := b.record.Socket; dir != "" {
		if err := checkSocket(dir); err != nil {
			return err
		}
		add("socket", dir, true)
	}
	if len(b.forwards()) == 0 {
		return nil
	}
	self, err := ownProgram(b.driver.state.uid >= 0)
	if err != nil {
		return err
	}
	add("forward", self, false)
	return nil
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

// ownProgram is the path of this binary. Root opens it by what the kernel
// remembers, which no permission on the way can spoil; a user's stage must
// find it in its own mount namespace.
func ownProgram(root bool) (string, error) {
	if root {
		return "/proc/self/exe", nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own program: %w", err)
	}
	return self, nil
}
