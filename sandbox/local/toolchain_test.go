package local_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

// TestToolchainsOfThePerson: what rustup and its kind install in a home is there
// in sandboxes, first in PATH, unless it is switched off or is a mere wrapper.
func TestToolchainsOfThePerson(t *testing.T) {
	home := t.TempDir()
	program := func(name, text string) {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program("bin/rustc", "env > "+home+"/asked; echo "+home+"/toolchain")
	program("toolchain/bin/rustc", "echo my rustc")
	program("toolchain/bin/cargo", "echo my cargo")
	program("bin/node", "echo "+home+"/elsewhere/bin/wrapper") // no bin/node beside it
	t.Setenv("PATH", filepath.Join(home, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("OPENAI_API_KEY", "secret")
	t.Setenv("RUSTUP_TOOLCHAIN", "chosen")
	for name, c := range map[string]struct {
		toolchains []string
		want       string
	}{
		"by default": {local.DefaultConfig().Toolchains, "my rustc\nmy cargo\n/opt/rust/bin/cargo\n"},
		"none":       {[]string{}, ""},
	} {
		d := setup(t, func(cfg *local.Config) { cfg.Toolchains = c.toolchains })
		sb, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "{ rustc; cargo; command -v cargo; touch /opt/rust/x && echo writable; ls -d /opt/node; } 2>/dev/null; true"})
		if err != nil || out != c.want {
			t.Errorf("%s: %q, %v, want %q", name, out, err, c.want)
		}
	}
	if asked, err := os.ReadFile(filepath.Join(home, "asked")); err != nil || strings.Contains(string(asked), "secret") ||
		!strings.Contains(string(asked), "RUSTUP_TOOLCHAIN=chosen") {
		t.Errorf("a program that is asked where it is gets yudai's environment: %s, %v", asked, err)
	}
}

// TestToolchainShowsNoHome: a program that lies in a home, or beside what other
// programs keep, is not reason to show all of that to a sandbox.
func TestToolchainShowsNoHome(t *testing.T) {
	for name, where := range map[string]struct{ program, secret string }{
		"bin of the home":    {"bin/node", ".netrc"},
		"another bin":        {"tools/bin/node", "tools/tokens.txt"},
		"the user's .local":  {".local/bin/node", ".local/share/keyrings/login"},
		"beside the configs": {".local/bin/node", ".local/state/history"},
	} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		write := func(file, text string) string {
			file = filepath.Join(home, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			return file
		}
		node := write(where.program, "")
		write(where.program, "#!/bin/sh\necho "+node+"\n")
		write(where.secret, "secret")
		t.Setenv("PATH", filepath.Dir(node)+":"+os.Getenv("PATH"))
		d := setup(t, func(cfg *local.Config) { cfg.Toolchains = []string{"node"} })
		sb, err := d.Open(t.Context(), sandbox.Spec{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "ls -a /opt/node 2>/dev/null; true"})
		if err != nil || out != "" {
			t.Errorf("%s: a sandbox sees %q, %v", name, out, err)
		}
	}
}
