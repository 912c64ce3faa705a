package machine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Terminal opens a pair of a terminal and its other side in the machine's own set.
func (m *Machine) Terminal(cols, rows uint16) (master, slave *os.File, err error) {
	master, err = m.openIn("/dev/pts/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	err = control(master, func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return fmt.Errorf("unlock a terminal: %w", err)
		}
		other, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if errno != 0 {
			return fmt.Errorf("open the other side of a terminal: %w", errno)
		}
		slave = os.NewFile(other, "tty")
		return nil
	})
	if err == nil {
		err = Resize(master, cols, rows)
	}
	if err != nil {
		master.Close()
		if slave != nil {
			slave.Close()
		}
		return nil, nil, err
	}
	return master, slave, nil
}

// control calls do with the descriptor of an open file.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	err = raw.Control(func(fd uintptr) { done = do(int(fd)) })
	return errors.Join(err, done)
}

// Resize sets the size of a terminal.
func Resize(terminal *os.File, cols, rows uint16) error {
	err := control(terminal, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
	if err != nil {
		return fmt.Errorf("resize a terminal: %w", err)
	}
	return nil
}
