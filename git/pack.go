package git

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// PackBranch is the branch that a packed repository has, at its only tip.
const PackBranch = "main"

// packConfig is the whole configuration of a packed repository.
const packConfig = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"

// Pack writes a tar of a bare repository that holds the history of one commit
// and nothing else: no other branch, tag, remote, hook, credential or link to
// this host. depth bounds the history in commits from the tip, as a shallow
// clone does; 0 is all of it. HEAD is [PackBranch], at the commit.
func (m *Mirror) Pack(ctx context.Context, sha string, depth int, w io.Writer) error {
	if err := m.need(ctx, sha); err != nil {
		return fmt.Errorf("pack: %w", err)
	}
	tmp, done, err := m.scratch()
	if err != nil {
		return err
	}
	defer done()
	shallow, err := m.boundary(ctx, sha, depth)
	if err != nil {
		return fmt.Errorf("pack %s: %w", sha, err)
	}
	var revs strings.Builder
	for _, s := range shallow {
		fmt.Fprintf(&revs, "--shallow %s\n", s)
	}
	fmt.Fprintln(&revs, sha)
	out, err := m.git(ctx, call{
		args:  []string{"pack-objects", "--quiet", "--revs", "--delta-base-offset", filepath.Join(tmp, "pack")},
		stdin: strings.NewReader(revs.String()),
	})
	if err != nil {
		return fmt.Errorf("pack %s: %w", sha, err)
	}
	name := "pack-" + strings.TrimSpace(string(out))
	t := tarball{w: tar.NewWriter(w)}
	for _, dir := range []string{"objects/", "objects/pack/", "objects/info/", "refs/", "refs/heads/", "refs/tags/", "info/"} {
		t.dir(dir)
	}
	t.text("HEAD", "ref: refs/heads/"+PackBranch+"\n")
	t.text("config", packConfig)
	t.text("refs/heads/"+PackBranch, sha+"\n")
	if len(shallow) > 0 {
		t.text("shallow", strings.Join(shallow, "\n")+"\n")
	}
	for _, ext := range []string{".pack", ".idx"} {
		t.file(filepath.Join(tmp, name+ext), "objects/pack/"+name+ext)
	}
	return t.close()
}

// boundary returns the commits with parents at which a history of that depth ends; 0 is
// the whole history, which ends where the mirror's own ends.
func (m *Mirror) boundary(ctx context.Context, sha string, depth int) ([]string, error) {
	own, err := m.shallow()
	if err != nil || depth == 0 && len(own) == 0 {
		return nil, err
	}
	out, err := m.git(ctx, call{args: []string{"rev-list", "--parents", sha}, max: 1 << 30})
	if err != nil {
		return nil, err
	}
	parents := map[string][]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		parents[f[0]] = f[1:]
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	seen, level := map[string]bool{sha: true}, []string{sha}
	var cut []string
	for d := 1; len(level) > 0; d++ {
		var next []string
		for _, c := range level {
			if own[c] || d == depth && len(parents[c]) > 0 {
				cut = append(cut, c)
			}
			if d == depth {
				continue
			}
			for _, p := range parents[c] {
				if !seen[p] {
					seen[p] = true
					next = append(next, p)
				}
			}
		}
		level = next
	}
	return cut, nil
}

// shallow is where the mirror's own history ends: a person's repository may be a
// shallow clone.
func (m *Mirror) shallow() (map[string]bool, error) {
	data, err := os.ReadFile(filepath.Join(m.dir, "shallow"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		own[strings.TrimSpace(line)] = true
	}
	return own, nil
}

// tarball writes entries with fixed owners, modes and times, and keeps the first error.
type tarball struct {
	w   *tar.Writer
	err error
}

func (t *tarball) add(h tar.Header, body io.Reader) {
	if t.err != nil {
		return
	}
	h.ModTime = time.Unix(0, 0)
	if t.err = t.w.WriteHeader(&h); t.err == nil && body != nil {
		_, t.err = io.Copy(t.w, body)
	}
}

func (t *tarball) dir(name string) {
	t.add(tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}, nil)
}

func (t *tarball) text(name, body string) {
	t.add(tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(body))}, strings.NewReader(body))
}

func (t *tarball) file(path, name string) {
	f, err := os.Open(path)
	if err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.err = errors.Join(t.err, err)
		return
	}
	t.add(tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o444, Size: info.Size()}, f)
}

func (t *tarball) close() error {
	if t.err == nil {
		t.err = t.w.Close()
	}
	if t.err != nil {
		return fmt.Errorf("write the packed repository: %w", t.err)
	}
	return nil
}
