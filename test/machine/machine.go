// Package machine is a stand-in for a virtual machine: a set of Linux namespaces
// that lives until it is closed, in which commands run as root or as a user. The
// stubs of remote providers run the commands of their sandboxes in it.
//
// It is made for the project's own tests, not for foreign code: a command of
// "root" is root of this host without the rights to leave its namespaces.
// It needs root and bubblewrap. The writable files lie below one directory, so
// that a machine can be copied; /usr is the host's, read-only; the only network is
// the loopback of its own, on which the hosts of Options are, if any.
package machine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Users of a machine, as Command takes them.
const (
	Root = "root"
	User = "user" // uid and gid 1000, home /home/user
)

// Path is PATH of a machine's commands where nothing else is asked for.
const Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/go/bin"

// ErrUnsupported says that machines cannot run on this host; the text says why.
var ErrUnsupported = errors.New("no stand-in for a machine here")

// ErrStopped says that the machine does not run any more.
var ErrStopped = errors.New("the machine has stopped")

// Options of one machine.
type Options struct {
	// Dir is the directory of this machine's writable files; it is made if it is
	// missing. Files that an earlier machine left there with Stop are kept.
	Dir string
	// From is a directory that Save wrote: its files are the first ones.
	From string
	// Hide are programs of /usr/bin that this machine lacks, "git" for instance.
	Hide []string
	// DiskBytes bounds the files, which are in memory then and do not outlive Stop.
	DiskBytes int64
	// Hostname is the name of the machine, "machine" if empty.
	Hostname string
	// Hosts are what a machine reaches beside itself: a connection inside to a
	// "name:port" is carried to this address of the host, while Allowed names it.
	Hosts map[string]string
	// Allowed returns the names, also as "*.domain", that may be reached now; it is asked
	// at every new connection. Without it none may.
	Allowed func() []string
}

// Machine is one running machine. All methods may be called concurrently.
type Machine struct {
	o      Options
	pid    int        // of the first process, on the host
	root   *os.File   // the root directory as processes inside see it
	spaces []*os.File // the namespaces, in the order of namespaces
	keeper *exec.Cmd
	hold   io.Closer // the first process ends with it
	cut    func()    // ends what leads out, nil if nothing does

	stop    sync.Once
	stopped atomic.Bool
	err     error
}

// Supported returns nil where machines can run, and what is missing otherwise.
func Supported() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("%w: it needs root", ErrUnsupported)
	}
	for _, program := range []string{"bwrap", "nsenter", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w: %s is not installed", ErrUnsupported, program)
		}
	}
	return nil
}

// startTimeout is how long the first process may take to be there.
const startTimeout = 30 * time.Second

// Start starts a machine.
func Start(o Options) (*Machine, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	if o.Hostname == "" {
		o.Hostname = "machine"
	}
	if err := prepare(o); err != nil {
		return nil, fmt.Errorf("make the files of a machine: %w", err)
	}
	m := &Machine{o: o}
	if err := m.boot(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a machine: %w", err), m.Stop())
	}
	if o.DiskBytes > 0 {
		if err := m.fill(); err != nil {
			return nil, errors.Join(fmt.Errorf("fill the disk of a machine: %w", err), m.Stop())
		}
	}
	if err := m.lead(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a machine: %w", err), m.Stop())
	}
	return m, nil
}

// boot starts bubblewrap and waits for the first process inside.
func (m *Machine) boot() error {
	info, infoW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer info.Close()
	defer infoW.Close()
	c := exec.CommandContext(context.Background(), "bwrap", m.o.bubblewrap()...)
	c.Env, c.Dir, c.ExtraFiles = []string{}, "/", []*os.File{infoW}
	c.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	hold, err := c.StdinPipe()
	if err != nil {
		return err
	}
	m.hold = hold
	said, saidW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer said.Close()
	defer saidW.Close()
	c.Stdout, c.Stderr = saidW, saidW
	if err := c.Start(); err != nil {
		return err
	}
	m.keeper = c
	_, _ = infoW.Close(), saidW.Close()
	deadline := time.Now().Add(startTimeout)
	_, _ = info.SetReadDeadline(deadline), said.SetReadDeadline(deadline)
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "up\n" {
		return fmt.Errorf("bubblewrap says %q (%w)", line, err)
	}
	var child struct {
		PID int `json:"child-pid"`
	}
	if err := json.NewDecoder(info).Decode(&child); err != nil {
		return fmt.Errorf("read the first process: %w", err)
	}
	m.pid = child.PID
	return m.grasp()
}

// grasp takes hold of the namespaces and of the root directory.
func (m *Machine) grasp() (err error) {
	for _, name := range namespaces() {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", m.pid, name))
		if err != nil {
			return err
		}
		m.spaces = append(m.spaces, f)
	}
	m.root, err = os.OpenFile(fmt.Sprintf("/proc/%d/root", m.pid), unix.O_PATH|unix.O_DIRECTORY, 0)
	return err
}

// namespaces are those of its own that a machine has.
func namespaces() []string { return []string{"mnt", "pid", "net", "ipc", "uts"} }

// Stop ends every process inside and keeps the files in Options.Dir, where Start
// finds them again.
func (m *Machine) Stop() error {
	m.stop.Do(func() {
		m.stopped.Store(true)
		if m.cut != nil {
			m.cut()
		}
		if m.hold != nil {
			_ = m.hold.Close()
		}
		if m.pid != 0 { // its end takes all processes of the namespace along
			_ = unix.Kill(m.pid, unix.SIGKILL)
		}
		if m.keeper != nil {
			if m.pid == 0 {
				_ = m.keeper.Process.Kill()
			}
			var exit *exec.ExitError
			if err := m.keeper.Wait(); err != nil && !errors.As(err, &exit) {
				m.err = fmt.Errorf("stop a machine: %w", err)
			}
		}
		for _, f := range append(m.spaces, m.root) {
			_ = f.Close()
		}
	})
	return m.err
}

// Close ends every process inside and removes the files. It is safe twice.
func (m *Machine) Close() error {
	err := m.Stop()
	if gone := os.RemoveAll(m.o.Dir); gone != nil {
		err = errors.Join(err, fmt.Errorf("remove the files of a machine: %w", gone))
	}
	return err
}

// Copy starts a machine with the same files and no processes. Options.From of o is
// not read.
func (m *Machine) Copy(o Options) (*Machine, error) {
	saved := filepath.Clean(o.Dir) + ".copy"
	defer func() { _ = os.RemoveAll(saved) }()
	if err := m.Save(saved); err != nil {
		return nil, err
	}
	o.From = saved
	return Start(o)
}
