package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// Work is what is known of a person's own repository.
type Work struct {
	Root   string // absolute path of the work tree
	Branch string // the branch that is checked out; "" for a detached HEAD
	SHA    string // the commit that is checked out
	// Default is the branch that the remote "origin" calls its default, "" if
	// that is not known here.
	Default string
	// Name and Email are of whom git would name as the committer here; "" if git has not been told.
	Name, Email string
}

// Local looks at the repository around path and changes nothing. ErrNotRepository
// says what is wrong and what to do.
func Local(ctx context.Context, path string) (Work, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Work{}, fmt.Errorf("look at %s: %w", path, err)
	}
	switch info, err := os.Stat(abs); {
	case err != nil:
		return Work{}, fmt.Errorf("%s: %w: %w", path, ErrNotRepository, err)
	case !info.IsDir():
		return Work{}, fmt.Errorf("%s: %w: it is a file; name the directory", path, ErrNotRepository)
	}
	ask := func(args ...string) (string, error) {
		out, err := call{dir: abs, args: args}.run(ctx)
		return strings.TrimSuffix(string(out), "\n"), err
	}
	root, err := ask("rev-parse", "--show-toplevel")
	if err != nil {
		if !refused(err) && ctx.Err() != nil {
			return Work{}, err
		}
		if bare, err := ask("rev-parse", "--is-bare-repository"); err == nil && bare == "true" {
			return Work{}, fmt.Errorf("%s: %w: it is bare; clone it, and name the clone", path, ErrNotRepository)
		}
		return Work{}, fmt.Errorf("%s: %w: %w", path, ErrNotRepository, err)
	}
	w := Work{Root: root}
	if w.SHA, err = ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return Work{}, fmt.Errorf("%s: %w: it has no commit yet; commit something first", path, ErrNotRepository)
	}
	if !isSHA(w.SHA) {
		return Work{}, fmt.Errorf("%s: %w: only repositories of the SHA-1 object format are", path, ErrNotRepository)
	}
	if ref, err := ask("symbolic-ref", "--quiet", "HEAD"); err == nil {
		w.Branch = strings.TrimPrefix(ref, "refs/heads/")
	}
	if ref, err := ask("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD"); err == nil {
		w.Default = strings.TrimPrefix(ref, "refs/remotes/origin/")
	}
	who := call{dir: root, args: []string{"-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT"}, person: true}
	if out, err := who.run(ctx); err == nil { // NAME <EMAIL> SECONDS ZONE
		name, rest, _ := strings.Cut(string(out), " <")
		w.Name, w.Email = name, rest[:max(0, strings.LastIndexByte(rest, '>'))]
	}
	return w, nil
}

// Files lists what a commit of the work tree at root would hold: files that git knows,
// and new ones that it does not ignore. Paths are those of the repository.
func Files(ctx context.Context, root string) ([]string, error) {
	out, err := call{dir: root, args: []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"}}.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", root, err)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// Apply makes the changes of a patch in the work tree at root and in its index, or none of them, and commits nothing. ErrDirty says
// that files which git knows differ from the commit, ErrPatch that the patch does not fit.
func Apply(ctx context.Context, root string, patch []byte) error {
	_, _ = call{dir: root, args: []string{"update-index", "-q", "--refresh"}}.run(ctx) // it fails where the next one tells more
	out, err := call{dir: root, args: []string{"diff-index", "--name-only", "-z", "HEAD", "--"}}.run(ctx)
	if err != nil {
		return fmt.Errorf("look for changes in %s: %w", root, err)
	}
	if names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); names[0] != "" {
		return fmt.Errorf("%s %w (%s): commit or stash them first", root, ErrDirty, solve.ListWords(names, 3))
	}
	args := []string{"apply", "--index", "--binary", "--whitespace=nowarn", "-p1", "-"}
	if _, err = (call{dir: root, args: args, stdin: bytes.NewReader(patch)}).run(ctx); refused(err) {
		return fmt.Errorf("%w: %w", ErrPatch, err)
	}
	return err
}

// FetchInto brings a branch of the repository at from (an absolute path, or an
// address without credentials) into the repository at path, as a local branch of
// the same name, and touches nothing else: no work tree, no configuration, no
// other ref. A branch that exists is moved forward only, and never the one that
// is checked out.
func FetchInto(ctx context.Context, path, from, branch string) error {
	ref := "refs/heads/" + branch
	if _, err := (call{dir: path, args: []string{"check-ref-format", ref}}).run(ctx); err != nil || branch == "" {
		return fmt.Errorf("fetch branch %q: not a branch name", branch)
	}
	c, err := transport(from, Auth{})
	if err != nil {
		return err
	}
	c.dir, c.args = path, []string{
		"fetch", "--no-progress", "--no-tags", "--no-prune", "--no-write-fetch-head", "--no-auto-maintenance",
		"--no-recurse-submodules", "--end-of-options", from, ref + ":" + ref,
	}
	_, err = c.run(ctx)
	switch {
	case err == nil:
		return nil
	case refused(err, "non-fast-forward", "refusing to fetch into"):
		return fmt.Errorf("fetch branch %q: it exists already, or is checked out: %w", branch, err)
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("fetch branch %q: %w", branch, remote(err))
}
