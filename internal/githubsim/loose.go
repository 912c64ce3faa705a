package githubsim

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git's own hash
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// What git keeps as a file of its own is read and written without starting the git program:
// most of the emulator's questions are about a ref or an object just made. What
// is packed, symbolic or odd is left to git.

// plainRef is a full reference name that is a path below the repository as it stands.
var plainRef = regexp.MustCompile(`^refs(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)

// looseRef reads a reference. known is false if git has to be asked.
func (g gitDir) looseRef(name string) (sha string, known bool) {
	if !plainRef.MatchString(name) || strings.Contains(name, "..") {
		return "", false
	}
	data, err := os.ReadFile(filepath.Join(g.path, filepath.FromSlash(name)))
	sha = strings.TrimSpace(string(data))
	switch {
	case err == nil:
		return sha, shaPattern.MatchString(sha)
	case !errors.Is(err, fs.ErrNotExist):
		return "", false // a directory, say
	}
	_, err = os.Lstat(filepath.Join(g.path, "packed-refs"))
	return "", errors.Is(err, fs.ErrNotExist)
}

// looseObject reads an object. known is false if git has to be asked.
func (g gitDir) looseObject(sha string) (kind string, content []byte, known bool) {
	if !shaPattern.MatchString(sha) {
		return "", nil, false
	}
	f, err := os.Open(filepath.Join(g.path, "objects", sha[:2], sha[2:]))
	if err != nil {
		return "", nil, false
	}
	defer f.Close()
	z, err := zlib.NewReader(bufio.NewReader(f))
	if err != nil {
		return "", nil, false
	}
	data, err := io.ReadAll(z)
	head, content, found := bytes.Cut(data, []byte{0})
	kind, _, sized := strings.Cut(string(head), " ")
	return kind, content, err == nil && found && sized
}

// setLoose moves a reference as git does, under a lock file. It returns false if nothing was
// changed and git has to be asked, which then also says what is wrong.
func (g gitDir) setLoose(name, sha, old string) bool {
	path := filepath.Join(g.path, filepath.FromSlash(name))
	if g.kind(sha) == "" || !plainRef.MatchString(name) || os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return false
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return false
	}
	now, known := g.looseRef(name)
	_, err = lock.WriteString(sha + "\n")
	err = errors.Join(err, lock.Close())
	if err == nil && known && now == old && os.Rename(lock.Name(), path) == nil {
		return true
	}
	_ = os.Remove(lock.Name())
	return false
}

// looseRefs lists the references that begin with prefix. known is false if git has to be asked.
func (g gitDir) looseRefs(prefix string) (all []gitRef, known bool) {
	if _, err := os.Lstat(filepath.Join(g.path, "packed-refs")); !errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	err := filepath.WalkDir(filepath.Join(g.path, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".lock") { // a lock is a write under way
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, g.path+string(filepath.Separator)))
		sha, known := g.looseRef(name)
		if !known || sha == "" {
			return errors.New("odd reference")
		}
		if strings.HasPrefix(name, prefix) {
			all = append(all, gitRef{name, sha, g.kind(sha)})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b gitRef) int { return strings.Compare(a.name, b.name) })
	return all, err == nil
}

// validRef says whether a name can be a reference's.
func (g gitDir) validRef(name string) bool {
	if plainRef.MatchString(name) && !strings.Contains(name, "..") && !strings.Contains(name, ".lock") && !strings.HasSuffix(name, ".") {
		return true
	}
	_, err := g.run(nil, "check-ref-format", name)
	return err == nil
}

// packers are kept: a new one costs more than what it packs.
var packers = sync.Pool{New: func() any { return zlib.NewWriter(nil) }}

// writeObject stores an object as a file of its own.
func (g gitDir) writeObject(kind string, content []byte) (string, error) {
	data := append([]byte(kind+" "+strconv.Itoa(len(content))+"\x00"), content...)
	sha := fmt.Sprintf("%x", sha1.Sum(data)) //nolint:gosec // the name that git gives it
	dir := filepath.Join(g.path, "objects", sha[:2])
	path := filepath.Join(dir, sha[2:])
	if _, err := os.Lstat(path); err == nil {
		return sha, nil
	}
	var packed bytes.Buffer
	z := packers.Get().(*zlib.Writer) //nolint:forcetypeassert // nothing else is put there
	defer packers.Put(z)
	z.Reset(&packed)
	_, err := z.Write(data)
	if err := errors.Join(err, z.Close()); err != nil {
		return "", fmt.Errorf("pack object: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("write object: %w", err)
	}
	f, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return "", fmt.Errorf("write object: %w", err)
	}
	_, err = f.Write(packed.Bytes())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("write object: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return sha, nil
}
