package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// toolchain is a language's programs as people install them for themselves, out
// of a sandbox's sight: by rustup, nvm and the like. How Go is found is go_root's.
type toolchain struct {
	name, inside string
	ask          []string // prints a path; its first word is the program that people call
	up           int      // from that path to the toolchain's directory
}

func toolchains() []toolchain {
	return []toolchain{
		{name: "rust", inside: "/opt/rust", ask: []string{"rustc", "--print", "sysroot"}},
		{name: "node", inside: "/opt/node", ask: []string{"node", "-p", "process.execPath"}, up: 2},
	}
}

// findToolchains returns what is to be shown of the wanted ones: those that are
// here and lie outside /usr, which is visible anyway.
func findToolchains(wanted []string) []bind {
	var out []bind
	for _, t := range toolchains() {
		if !slices.Contains(wanted, t.name) {
			continue
		}
		if dir := t.find(); dir != "" {
			out = append(out, bind{host: dir, inside: t.inside, dir: true, masked: true})
		}
	}
	return out
}

// find is the toolchain's directory, empty if there is none to show.
func (t toolchain) find() string {
	program, err := exec.LookPath(t.ask[0])
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, t.ask[1:]...)
	cmd.Dir = "/" // no file of a directory we happen to be in chooses the version
	cmd.Env = askingEnv("NODE_OPTIONS=")
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	dir, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	for range t.up {
		dir = filepath.Dir(dir)
	}
	if err != nil || dir == "/" || dir == "/usr" || strings.HasPrefix(dir, "/usr/") {
		return ""
	}
	if st, err := os.Stat(filepath.Join(dir, "bin", t.ask[0])); err != nil || st.IsDir() {
		return "" // a wrapper that belongs to something else
	}
	if !unpacked(dir) {
		return ""
	}
	return dir
}

// unpacked says whether a directory holds what a toolchain's release holds, and
// no more: a program installed as ~/bin/node or ~/.local/bin/node must not show
// a home, or what other programs keep there.
func unpacked(dir string) bool {
	for _, held := range []string{os.Getenv("HOME"), "/root", "/home"} {
		if held = filepath.Clean(held); held == dir || strings.HasPrefix(held, dir+"/") {
			return false
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	known := []string{
		"bin", "lib", "libexec", "include", "etc", "share", "corepack",
		"CHANGELOG.md", "README.md", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT",
	}
	for _, e := range entries {
		if !slices.Contains(known, e.Name()) {
			return false
		}
	}
	if entries, err = os.ReadDir(filepath.Join(dir, "share")); err != nil {
		return os.IsNotExist(err)
	}
	for _, e := range entries {
		if !slices.Contains([]string{"doc", "man", "systemtap", "zsh", "bash-completion"}, e.Name()) {
			return false
		}
	}
	return true
}

// checkToolchain says what is wrong with an entry of Toolchains, or nothing.
func checkToolchain(name string) string {
	var known []string
	for _, t := range toolchains() {
		if t.name == name {
			return ""
		}
		known = append(known, t.name)
	}
	return fmt.Sprintf("%q is not one of %s", name, strings.Join(known, ", "))
}
