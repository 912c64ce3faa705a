package local

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
)

// TestBadProgramIsReplaced: a power cut may leave the guest program's file empty, and a
// process with a strict umask may have made it for itself alone. Both are put right.
func TestBadProgramIsReplaced(t *testing.T) {
	t.Parallel()
	p, err := guest.ProgramFor(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := p.Data()
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(file string) error{
		"missing":    func(string) error { return nil },
		"empty":      func(file string) error { return os.WriteFile(file, nil, 0o755) },
		"private":    func(file string) error { return os.WriteFile(file, whole, 0o700) },
		"as it is":   func(file string) error { return os.WriteFile(file, whole, 0o755) },
		"of another": func(file string) error { return os.WriteFile(file, append([]byte("x"), whole[1:]...), 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := openState(t.TempDir(), -1)
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(s.dir, filepath.Base(p.Path))); err != nil {
				t.Fatal(err)
			}
			file, err := s.program(p)
			if err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(file)
			if err != nil || st.Mode().Perm() != programMode || !p.Matches(file) {
				t.Errorf("the program is %v, %v", st, err)
			}
		})
	}
}

// TestProgramIgnoresTheUmask runs alone: the umask is the whole process's.
func TestProgramIgnoresTheUmask(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	p, err := guest.ProgramFor(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	s, err := openState(t.TempDir(), -1)
	if err != nil {
		t.Fatal(err)
	}
	file, err := s.program(p)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != programMode {
		t.Errorf("%v, %v", st, err)
	}
}

// TestSweepRemovesOldPrograms: what another version needed goes, and a sandbox that still
// runs on it goes on.
func TestSweepRemovesOldPrograms(t *testing.T) {
	t.Parallel()
	b := opened(t)
	old := filepath.Join(b.driver.state.dir, programPrefix+"0123456789abcdef")
	if err := os.WriteFile(old, nil, programMode); err != nil {
		t.Fatal(err)
	}
	ours := b.driver.program
	for what, program := range map[string]string{"old": old, "ours": filepath.Join(b.driver.state.dir, filepath.Base(ours.Path))} {
		if _, err := b.driver.Sweep(t.Context(), func(sandbox.Info) bool { return true }); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(program); (err == nil) != (what == "ours") {
			t.Errorf("%s after a sweep: %v", what, err)
		}
	}
	b.driver.program.Path += "0" // a newer version's
	if _, err := b.driver.Sweep(t.Context(), func(sandbox.Info) bool { return true }); err != nil {
		t.Fatal(err)
	}
	b.driver.program = ours
	if res, err := b.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil || res.ExitCode != 0 {
		t.Errorf("exec after its program was swept: %+v, %v", res, err)
	}
	if out, _, err := sandbox.Output(t.Context(), b, sandbox.Command{Shell: "sleep 300 & setsid sleep 300 & echo over"}); err != nil || out != "over\n" {
		t.Errorf("a command with children after its program was swept: %q, %v", out, err)
	}
}
