package local

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/sandbox"
)

// The state directory:
//
//	sandboxes/<name>/record.json, data/ (what it wrote), work/ (the overlay's),
//	                 helper.sock, calls.sock, proxy/ (where it is called, its allow-list)
//	bases/<name>/                 the same, frozen: only read
//	making/<pid>-<start>-<n>/     being made; appears by one rename
//	trash/<n>/                    being removed; disappears by one rename
//	guest-<sum>                   the guest program, shown inside
//
// So a name either exists whole or not at all, whenever a process dies.
const (
	sandboxesDir = "sandboxes"
	basesDir     = "bases"
	makingDir    = "making"
	trashDir     = "trash"
	recordFile   = "record.json"
)

// record is what a sandbox or base remembers about itself.
type record struct {
	Name    string            `json:"name"`
	Labels  map[string]string `json:"labels,omitempty"`
	Created time.Time         `json:"created"`
	ID      string            `json:"id,omitempty"`    // names its processes and its control group
	Owner   string            `json:"owner"`           // of the handle that may use it; changes with Attach
	Boot    string            `json:"boot"`            // the files are not synced, so they belong to one boot
	Lower   []string          `json:"lower,omitempty"` // bases below, newest first
	Limits  sandbox.Limits    `json:"limits"`
	Allow   []string          `json:"allow,omitempty"`
	Socket  string            `json:"socket,omitempty"`
	Keep    string            `json:"keep,omitempty"`  // opened with Spec.Launch: then it is the ID
	Floor   int64             `json:"floor,omitempty"` // bytes that were there at the start (copied base)
}

// state is the state directory.
type state struct {
	dir  string // absolute
	boot string
	uid  int // owner of what the sandboxes write; -1: ourselves

	writing sync.Mutex // held while the guest program is looked at
	sound   bool       // it is what it should be
}

// openState makes the directories.
func openState(dir string, uid int) (*state, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open state directory: %w", err)
	}
	if strings.ContainsAny(abs, ":,\\\n") {
		return nil, fmt.Errorf("open state directory %q: set sandbox.local.dir to a path without colon, comma, backslash", abs)
	}
	for _, sub := range []string{sandboxesDir, basesDir, makingDir, trashDir} {
		if err := os.MkdirAll(filepath.Join(abs, sub), 0o700); err != nil {
			return nil, fmt.Errorf("open state directory (sandbox.local.dir): %w", err)
		}
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, fmt.Errorf("read boot id: %w", err)
	}
	return &state{dir: abs, boot: strings.TrimSpace(string(boot)), uid: uid}, nil
}

// marker starts the name by which the processes of one sandbox are found; the sandbox's ID
// follows.
func (s *state) marker(name string) string {
	return "yudai-sandbox:" + s.id() + ":" + name + ":"
}

// id tells state directories of one machine apart.
func (s *state) id() string {
	sum := sha256.Sum256([]byte(s.dir))
	return hex.EncodeToString(sum[:6])
}

func (s *state) sandbox(name string) string { return filepath.Join(s.dir, sandboxesDir, name) }
func (s *state) base(name string) string    { return filepath.Join(s.dir, basesDir, name) }

// read returns the record in a directory, or sandbox.ErrGone if there is none, or if it
// belongs to an earlier boot.
func (s *state) read(dir string) (record, error) {
	r, err := readRecord(dir)
	if err != nil {
		return record{}, goneIfMissing(err)
	}
	if r.Boot != s.boot {
		return record{}, fmt.Errorf("files of %s are from before the machine restarted: %w", r.Name, sandbox.ErrGone)
	}
	return r, nil
}

func readRecord(dir string) (record, error) {
	data, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return record{}, fmt.Errorf("read record: %w", err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("decode record: %w", err)
	}
	r.ID = cmp.Or(r.ID, r.Keep, r.Owner) // records of an older yudai have none
	return r, nil
}

// launches reports whether the sandbox was opened with Spec.Launch.
func (r record) launches() bool { return r.Keep != "" }

// write stores a record in a directory.
func (r record) write(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	file := filepath.Join(dir, recordFile)
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

// make lays out a new sandbox directory that is not visible yet.
func (s *state) make(r record) (string, error) {
	dir, err := os.MkdirTemp(filepath.Join(s.dir, makingDir), selfPrefix()+"*")
	if err != nil {
		return "", fmt.Errorf("make sandbox directory: %w", err)
	}
	err = s.layOut(dir, r)
	if err != nil {
		_ = removeTree(dir)
		return "", err
	}
	return dir, nil
}

func (s *state) layOut(dir string, r record) error {
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // lies below a private directory; the mapped uid passes through
		return fmt.Errorf("make sandbox directory: %w", err)
	}
	own := []string{"data", "work"}
	if len(r.Lower) == 0 {
		own = append(own, "data/workspace", "data/workspace/repo", "data/workspace/home", "data/workspace/keep", "data/tmp")
	}
	for _, sub := range own {
		p := filepath.Join(dir, sub)
		if err := os.Mkdir(p, 0o755); err != nil { //nolint:gosec // as above
			return fmt.Errorf("make sandbox directory: %w", err)
		}
		if s.uid >= 0 {
			if err := os.Chown(p, s.uid, s.uid); err != nil {
				return fmt.Errorf("hand directory to uid %d: %w", s.uid, err)
			}
		}
	}
	if len(r.Lower) == 0 {
		if err := os.Chmod(filepath.Join(dir, "data/tmp"), 0o1777|fs.ModeSticky); err != nil { //nolint:gosec // a /tmp
			return fmt.Errorf("make sandbox directory: %w", err)
		}
	}
	return r.write(dir)
}

// rename moves a directory to a name that must be free.
func rename(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // a file system without the flag
		if _, e := os.Lstat(to); e == nil {
			err = unix.EEXIST
		} else {
			err = unix.Rename(from, to)
		}
	}
	if err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	return nil
}

// remove takes a directory out of sight and then removes it. One that is not there is no error.
func (s *state) remove(dir string) error {
	hole, err := s.hide(dir)
	if err != nil {
		return fmt.Errorf("remove sandbox: %w", err)
	}
	failpoint.Hit("sandbox", "remove", "hidden")
	return removeTree(hole)
}

// hide renames a directory into a new one of the trash, which it returns. A Sweep empties
// the trash: it may remove the new one before the rename, which then says that something
// does not exist although the directory is still there.
func (s *state) hide(dir string) (hole string, err error) {
	for {
		if hole, err = os.MkdirTemp(filepath.Join(s.dir, trashDir), ""); err != nil {
			return "", err
		}
		err = os.Rename(dir, filepath.Join(hole, "x"))
		if err == nil {
			return hole, nil
		}
		_ = os.Remove(hole)
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return hole, nil
		}
	}
}

// removeTree removes everything, directories without permissions included.
// Nothing runs in the tree any more.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	for range 2 {
		if err == nil || !errors.Is(err, fs.ErrPermission) {
			break
		}
		_ = openUp(dir)
		err = os.RemoveAll(dir)
	}
	if err != nil {
		return fmt.Errorf("remove files: %w", err)
	}
	return nil
}

// openUp gives the owner all rights on every directory, from the top down.
func openUp(dir string) error {
	return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			return os.Chmod(p, 0o700) //nolint:gosec // the owner's own directory, about to be removed
		}
		return nil
	})
}

// names lists the directories of one kind.
func (s *state) names(kind string) ([]string, error) {
	list, err := os.ReadDir(filepath.Join(s.dir, kind))
	if err != nil {
		return nil, fmt.Errorf("list sandboxes: %w", err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out, nil
}
