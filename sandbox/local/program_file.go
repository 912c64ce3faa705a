package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// programPrefix starts the names of the guest programs of all versions.
const programPrefix = "guest-"

// programMode is the guest program's: the sandbox's uid executes it.
const programMode = 0o755

// program is the file of the guest program, which everybody inside executes. It is compared
// when a driver first needs it: a power cut may have left a part of it under its name.
func (s *state) program(p guest.Program) (string, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	file := filepath.Join(s.dir, filepath.Base(p.Path))
	if st, err := os.Stat(file); err == nil && st.Mode().Perm() == programMode && (s.sound || p.Matches(file)) {
		s.sound = true
		return file, nil
	}
	data, err := p.Data()
	if err != nil {
		return "", err
	}
	err = durable.Write(file, func(f *os.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Chmod(programMode)) // whatever the process's umask
	})
	if err != nil {
		return "", fmt.Errorf("write the guest program: %w", err)
	}
	s.sound = true
	return file, nil
}

// sweepPrograms removes the guest programs of other versions. Sandboxes that show one keep it.
func (d *Driver) sweepPrograms() error {
	d.state.writing.Lock()
	defer d.state.writing.Unlock()
	var problems []error
	names, err := d.state.names(".")
	for _, name := range names {
		if strings.HasPrefix(name, programPrefix) && name != filepath.Base(d.program.Path) {
			if err := os.Remove(d.state.path(".", name)); !errors.Is(err, fs.ErrNotExist) {
				problems = append(problems, err)
			}
		}
	}
	return errors.Join(append(problems, err, durable.Clean(d.state.dir))...)
}
