package githubsim

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// What git keeps as a file of its own is read without starting the git program:
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
