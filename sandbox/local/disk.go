package local

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// How disk is limited, and why like this.
//
// The files of a sandbox must survive a crash of yudai, so they lie on a real
// file system and not on a tmpfs of limited size; project quotas need a mount
// option that hosts rarely have. What is left are three nets of different mesh:
//
//   - RLIMIT_FSIZE: the kernel stops any single file at the limit, at once;
//   - a watcher: it adds up what the sandbox wrote, again and again while a
//     command runs, and ends the command and the sandbox above the limit;
//   - a floor of free space on the host's file system, which also catches what
//     a walk cannot see (files that were removed but are still open).
//
// A command can therefore overshoot by what it writes between two looks.

const (
	// diskInterval is how often the disk is looked at while something runs.
	diskInterval = 100 * time.Millisecond
	// diskNoise is how much free space may change without another look at the
	// end of a short command.
	diskNoise = 8 << 20
)

// diskLimits are what a meter compares with, in bytes.
type diskLimits struct {
	Most  int64 `json:"most"`
	Start int64 `json:"start,omitempty"` // what was there when the sandbox was made
	Free  int64 `json:"free,omitempty"`  // floor of the host's free space
}

// diskMeter measures a sandbox. A slow walk is not repeated before it has taken a small
// share of the time.
type diskMeter struct {
	limits diskLimits
	dir    string        // on the file system whose free space counts
	share  time.Duration // one walk in so many times its duration
	walk   func(context.Context) (int64, error)

	mu   sync.Mutex
	size int64
	at   time.Time
	cost time.Duration
}

// used is what the sandbox wrote. A tree that is built to defeat the walk, and a host that
// has too little left, are errors that wrap sandbox.ErrDisk.
func (m *diskMeter) used(ctx context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if freeSpace(m.dir) < m.limits.Free {
		return 0, fmt.Errorf("%w: the host has less than %d MiB left (sandbox.local.free_disk_mib)", sandbox.ErrDisk, m.limits.Free>>20)
	}
	if time.Since(m.at) < m.share*m.cost {
		return m.size, nil
	}
	began := time.Now()
	size, err := m.walk(ctx)
	if err != nil && err.Error() == errDeep.Error() {
		return 0, fmt.Errorf("%w: %w", sandbox.ErrDisk, errDeep)
	}
	if err != nil {
		return 0, err
	}
	m.size, m.at, m.cost = size-m.limits.Start, time.Now(), time.Since(began)
	return m.size, nil
}

// renew makes the next look a new walk.
func (m *diskMeter) renew() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cost = 0
}

// checkDisk looks at the disk after something that may have written enough: bytes left the
// file system, it ran for a while, or it ended by the limit of one file. What an earlier look
// saw is not enough: no other may follow.
func (b *box) checkDisk(ctx context.Context, g *guest.Handle, disk *diskMeter, free int64, took time.Duration, code int) error {
	if free-freeSpace(b.dir) < diskNoise && took < diskInterval && code != 128+int(unix.SIGXFSZ) {
		return nil
	}
	disk.renew()
	return g.CheckDisk(ctx)
}

// freeSpace is what an ordinary user may still write below dir; a file system
// that does not say has plenty.
func freeSpace(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Blocks == 0 {
		return math.MaxInt64
	}
	return int64(st.Bavail) * st.Bsize //nolint:gosec // far below the limit of the type
}
