package local

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
)

// How disk is limited, and why like this.
//
// The files of a sandbox must survive a crash of yudai, so they lie on a real
// file system and not on a tmpfs of limited size; project quotas need a mount
// option that hosts rarely have. What is left are three nets of different mesh:
//
//   - RLIMIT_FSIZE: the kernel stops any single file at the limit, at once;
//   - this watcher: it adds up what the sandbox wrote, again and again while a
//     command runs, and ends the command and the sandbox above the limit;
//   - a floor of free space on the host's file system, which also catches what
//     a walk cannot see (files that were removed but are still open).
//
// A command can therefore overshoot by what it writes between two looks.
type diskWatch struct {
	box   *box
	fail  context.CancelCauseFunc
	stop  context.CancelFunc
	done  sync.WaitGroup
	free  int64 // at the start
	last  time.Time
	spent time.Duration // of the last walk
}

const (
	// diskInterval is how often a running command is looked at; a slow walk
	// stretches it so that walking takes at most a tenth of the time.
	diskInterval = 100 * time.Millisecond
	// diskNoise is how much free space may change without another look at the
	// end of a short command.
	diskNoise = 8 << 20
)

// watchDisk starts looking.
func (b *box) watchDisk(ctx context.Context, h *helper, fail context.CancelCauseFunc) *diskWatch {
	w := &diskWatch{box: b, fail: fail, free: freeSpace(b.dir), last: time.Now()}
	ctx, w.stop = context.WithCancel(ctx)
	w.done.Go(func() { w.watch(ctx, h) })
	return w
}

func (w *diskWatch) watch(ctx context.Context, h *helper) {
	timer := time.NewTimer(diskInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := w.look(ctx, h); err != nil {
			w.fail(err)
			return
		}
		timer.Reset(max(diskInterval, 10*w.spent))
	}
}

// look compares once. A failing walk is no reason to end anything, except one
// that says that the tree is built to defeat it.
func (w *diskWatch) look(ctx context.Context, h *helper) error {
	begin := time.Now()
	defer func() { w.last, w.spent = time.Now(), time.Since(begin) }()
	limits := w.box.diskLimits()
	if text := limits.scarce(freeSpace(w.box.dir)); text != "" {
		return w.box.exceed(text)
	}
	r, err := h.ask(ctx, request{Op: opUsage}, nil)
	if text := limits.excess(r.Number, err); text != "" {
		return w.box.exceed(text)
	}
	return nil // an error: the helper died or the command ended, and others say so
}

// diskLimits are what a watcher compares with, in bytes.
type diskLimits struct {
	Most  int64 `json:"most"`
	Start int64 `json:"start,omitempty"` // what was there when the sandbox was made
	Free  int64 `json:"free,omitempty"`  // floor of the host's free space
}

func (b *box) diskLimits() diskLimits {
	return diskLimits{Most: b.record.Limits.Disk, Start: b.record.Floor, Free: b.driver.config.FreeDiskMiB << 20}
}

// scarce says that the host has too little left, or nothing.
func (l diskLimits) scarce(free int64) string {
	if free >= l.Free {
		return ""
	}
	return fmt.Sprintf("the host has less than %d MiB left (sandbox.local.free_disk_mib)", l.Free>>20)
}

// excess says why a walk with that outcome is too much, or nothing.
func (l diskLimits) excess(used int64, err error) string {
	switch {
	case err != nil && err.Error() == errDeep.Error():
		return errDeep.Error()
	case err == nil && used-l.Start > l.Most:
		return fmt.Sprintf("more than %d MiB", l.Most>>20)
	}
	return ""
}

// end stops looking and looks a last time if the command may have written
// enough: bytes left the file system, it ran long since the last look, or it
// ended by the limit of one file.
func (w *diskWatch) end(h *helper, took time.Duration, code int) error {
	w.stop()
	w.done.Wait()
	wrote := w.free - freeSpace(w.box.dir)
	if wrote < diskNoise && code != 128+int(unix.SIGXFSZ) && (took < diskInterval || time.Since(w.last) < 10*w.spent) {
		return nil
	}
	if !h.alive() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	return w.look(ctx, h)
}

// exceed marks the sandbox as dead.
func (b *box) exceed(text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full == nil {
		b.full = fmt.Errorf("%w: %s", sandbox.ErrDisk, text)
	}
	return b.full
}

// freeSpace is what an ordinary user may still write below dir; a file system
// that does not say has plenty.
func freeSpace(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Blocks == 0 {
		return noLimit
	}
	return int64(st.Bavail) * st.Bsize //nolint:gosec // far below the limit of the type
}
