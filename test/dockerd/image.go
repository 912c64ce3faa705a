package dockerd

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// programs of this machine that the image has, where they are installed.
func programs() []string {
	return strings.Fields(`bash sh dash git python3 awk gawk mawk sed grep egrep find xargs tar gzip diff patch ps kill unshare mount setsid
fallocate flock setpriv getent which
[ base64 basename cat chgrp chmod chown cksum comm cp cut date dd df dirname du echo env expand expr false fold head id install join link ln
ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc od paste pathchk pr printenv printf pwd readlink realpath rm rmdir seq sha1sum sha256sum
shuf sleep sort split stat stdbuf sum sync tac tail tee test timeout touch tr true truncate tsort tty uname unexpand uniq unlink wc who whoami yes`)
}

// goHome is where the image has the Go toolchain.
const goHome = "/usr/local/go"

// importImage makes the image, by streaming it into the engine.
func (e *Engine) importImage(ctx context.Context, withGo bool) error {
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := writeImage(ctx, w, withGo)
		_ = w.CloseWithError(err)
		done <- err
	}()
	cli, err := e.Client()
	if err == nil {
		defer func() { _ = cli.Close() }()
		err = load(ctx, cli, r, e.Image)
	}
	_ = r.CloseWithError(errors.New("the engine takes no more"))
	if made := <-done; made != nil {
		err = errors.Join(err, made)
	}
	if err != nil {
		return fmt.Errorf("import the image: %w", err)
	}
	return nil
}

func load(ctx context.Context, cli *client.Client, r io.Reader, name string) error {
	res, err := cli.ImageImport(ctx, client.ImageImportSource{Source: r, SourceName: "-"}, name, client.ImageImportOptions{
		Changes: []string{"ENV PATH=" + goHome + "/bin:/usr/local/bin:/usr/bin:/bin GOTOOLCHAIN=local LANG=C.UTF-8"},
	})
	if err != nil {
		return err
	}
	defer func() { _ = res.Close() }()
	for lines := json.NewDecoder(res); ; {
		var line struct{ Error string }
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if line.Error != "" {
			return errors.New(line.Error)
		}
	}
}

// rootfs is an image's files being written.
type rootfs struct {
	out  *tar.Writer
	seen map[string]bool
	elf  []string // what may need libraries
}

func writeImage(ctx context.Context, to io.Writer, withGo bool) error {
	r := &rootfs{out: tar.NewWriter(to), seen: make(map[string]bool)}
	if err := r.skeleton(); err != nil {
		return err
	}
	for _, name := range programs() {
		if at, err := exec.LookPath(filepath.Join("/usr/bin", name)); err == nil {
			if err := r.file("/usr/bin/"+name, at); err != nil {
				return err
			}
		}
	}
	for _, tree := range trees(ctx) {
		if err := r.tree(tree, tree); err != nil {
			return err
		}
	}
	for _, at := range installing() {
		if err := r.file(at, at); err != nil {
			return err
		}
	}
	if withGo {
		home, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
		if err != nil {
			return fmt.Errorf("ask for the Go toolchain: %w", err)
		}
		if err := r.tree(goHome, strings.TrimSpace(string(home))); err != nil {
			return err
		}
	}
	if err := r.libraries(ctx); err != nil {
		return err
	}
	return r.out.Close()
}

// installing are single files without which nothing that pip installs works: whom this
// machine trusts, its mirrors included, and the libraries that wheels expect of every machine.
func installing() []string {
	var out []string
	for _, pattern := range []string{
		"/etc/ssl/certs/ca-certificates.crt", "/usr/lib/*/libstdc++.so.6", "/usr/lib/*/libgcc_s.so.1", "/usr/lib/*/libm.so.6",
		"/usr/lib/*/libpthread.so.0", "/usr/lib/*/libdl.so.2", "/usr/lib/*/librt.so.1",
	} {
		found, _ := filepath.Glob(pattern) // the pattern is right
		out = append(out, found...)
	}
	return out
}

// trees are directories that programs need beside themselves.
func trees(ctx context.Context) []string {
	var out []string
	for _, ask := range [][]string{{"git", "--exec-path"}, {"/usr/bin/python3", "-Sc", "import os; print(os.path.dirname(os.__file__))"}} {
		if at, err := exec.CommandContext(ctx, ask[0], ask[1:]...).Output(); err == nil {
			out = append(out, strings.TrimSpace(string(at)))
		}
	}
	return append(out, "/usr/share/git-core/templates", "/usr/lib/locale/C.utf8", "/usr/share/python-wheels")
}

// skeleton writes the directories and the small files of /etc.
func (r *rootfs) skeleton() error {
	for _, d := range []struct {
		name string
		mode int64
	}{
		{"/usr", 0o755}, {"/usr/bin", 0o755}, {"/usr/lib", 0o755}, {"/usr/lib64", 0o755}, {"/usr/local", 0o755}, {"/usr/local/bin", 0o755}, {"/etc", 0o755},
		{"/var", 0o755}, {"/var/lib", 0o755}, {"/var/tmp", 0o1777}, {"/tmp", 0o1777}, {"/root", 0o700}, {"/run", 0o755}, {"/proc", 0o755}, {"/sys", 0o755},
		{"/dev", 0o755}, {"/srv", 0o777}, // one that everybody may write, to see that nobody can
	} {
		if err := r.head(&tar.Header{Typeflag: tar.TypeDir, Name: d.name, Mode: d.mode}); err != nil {
			return err
		}
	}
	for _, l := range []string{"bin", "lib", "lib64"} {
		if err := r.head(&tar.Header{Typeflag: tar.TypeSymlink, Name: "/" + l, Linkname: "usr/" + l, Mode: 0o777}); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"/etc/passwd":        "root:x:0:0:root:/root:/bin/bash\nyudai:x:1000:1000::/workspace/home:/bin/bash\nnobody:x:65534:65534::/nonexistent:/bin/false\n",
		"/etc/group":         "root:x:0:\nyudai:x:1000:\nnogroup:x:65534:\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		if err := r.head(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			return err
		}
		if _, err := io.WriteString(r.out, text); err != nil {
			return err
		}
	}
	return nil
}

func (r *rootfs) head(h *tar.Header) error {
	r.seen[h.Name] = true
	h.Name = strings.TrimPrefix(h.Name, "/")
	return r.out.WriteHeader(h)
}

// parents writes the directories above a file that are not there yet.
func (r *rootfs) parents(name string) error {
	dir := filepath.Dir(name)
	if dir == "/" || r.seen[dir] {
		return nil
	}
	if err := r.parents(dir); err != nil {
		return err
	}
	return r.head(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755})
}

// file writes one regular file of the machine, whatever links lead to it.
func (r *rootfs) file(name, from string) error {
	if r.seen[name] {
		return nil
	}
	if err := r.parents(name); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("read a file of the machine: %w", err)
	}
	defer func() { _ = in.Close() }()
	st, err := in.Stat()
	if err != nil {
		return fmt.Errorf("read a file of the machine: %w", err)
	}
	if err := r.head(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(st.Mode().Perm()) | 0o444, Size: st.Size(), ModTime: st.ModTime()}); err != nil {
		return err
	}
	if _, err := io.CopyN(r.out, in, st.Size()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if st.Mode().Perm()&0o111 != 0 || strings.HasSuffix(name, ".so") {
		r.elf = append(r.elf, from)
	}
	return nil
}

// unneeded are parts of the trees that no sandbox of a test uses.
func unneeded() *regexp.Regexp {
	return regexp.MustCompile(`/python3[^/]*/(test|idlelib|tkinter|lib2to3|config-[^/]*)$|/__pycache__$|^/usr/local/go/(test|api|doc|misc)$|^/usr/local/go/src/cmd$|/testdata$|_test\.go$`)
}

// tree writes a directory with everything below it.
func (r *rootfs) tree(name, from string) error {
	skip := unneeded()
	return filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && at == from {
			return nil
		}
		if err != nil {
			return err
		}
		inside := name + strings.TrimPrefix(at, from)
		switch {
		case skip.MatchString(inside) && d.IsDir():
			return filepath.SkipDir
		case skip.MatchString(inside) || d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if err := r.parents(inside); err != nil {
				return err
			}
			return r.head(&tar.Header{Typeflag: tar.TypeSymlink, Name: inside, Linkname: to, Mode: 0o777})
		case d.Type().IsRegular():
			return r.file(inside, at)
		}
		return nil
	})
}

// libraries writes what the programs are linked with, under the names they ask for.
func (r *rootfs) libraries(ctx context.Context) error {
	out, _ := exec.CommandContext(ctx, "ldd", r.elf...).Output() // fails where one is a script
	wanted := regexp.MustCompile(`(?m)^\s+(?:\S+ => )?(/\S+) \(0x`).FindAllStringSubmatch(string(out), -1)
	var names []string
	for _, m := range wanted {
		names = append(names, m[1])
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		inside := name
		if rest, ok := strings.CutPrefix(name, "/lib"); ok { // a link to /usr/lib in the image
			inside = "/usr/lib" + rest
		}
		if err := r.file(inside, name); err != nil {
			return err
		}
	}
	return nil
}
