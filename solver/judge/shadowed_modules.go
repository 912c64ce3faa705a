package judge

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// shadowScript prints those of the new files that Python would load in the place of an
// installed module or one of its own: it looks in the repository first. A module in a new
// directory counts by that directory. It runs on the base, which does not have the files.
const shadowScript = `import importlib.machinery as m, os, sys
repo = os.path.realpath(os.getcwd())
inside = lambda p: (os.path.realpath(p) + os.sep).startswith(repo + os.sep)
outside = [p for p in sys.path if p and not inside(p)]
roots = [repo, repo + "/src", repo + "/lib"] + [os.path.realpath(p) for p in sys.path if p and inside(p)]
def module(p):
    return os.path.isdir(p) or any(os.path.isfile(p + s) for s in m.all_suffixes())
def shadows(root, file):
    if not file.startswith(root + "/"):
        return False
    parts = file[len(root) + 1:].split("/")
    parts[-1] = parts[-1].split(".")[0]
    while len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    for n in range(1, len(parts) + 1):
        name = "/".join(parts[:n])
        if not module(root + "/" + name):
            return any(module(p + "/" + name) for p in outside) or name in sys.builtin_module_names
    return False
for f in sys.argv[1:]:
    if any(shadows(r, repo + "/" + f) for r in roots):
        sys.stdout.write(f + "\0")
`

// shadows lists the new files of the patch that would be loaded in the place of a module that
// the base's tests use from elsewhere.
func (j *judging) shadows(ctx context.Context) ([]string, error) {
	var python, java []string
	for _, c := range j.Changes {
		switch ext := path.Ext(c.Path); {
		case c.Op != "add" && c.Op != "rename":
		case slices.Contains([]string{".py", ".pyc", ".so"}, ext):
			python = append(python, c.Path)
		case javaTestLibrary.MatchString(c.Path):
			java = append(java, c.Path)
		}
	}
	if len(python) == 0 {
		return j.copiedLibrary(java), nil
	}
	var out bytes.Buffer
	res, err := j.sb.Exec(ctx, sandbox.Command{
		Argv: append([]string{"python3", "-c", shadowScript}, python...), Dir: sandbox.RepoDir, Path: sandbox.ToolPath(),
		Stdout: &out, MaxOutput: 1 << 20, Timeout: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("look for modules in the place of others: %w", err)
	}
	found := j.copiedLibrary(java)
	if res.ExitCode == 0 { // else there is no Python
		found = append(found, strings.FieldsFunc(out.String(), func(r rune) bool { return r == 0 })...)
	}
	return found, nil
}

// javaTestLibrary are sources with the package names of libraries that tests use.
var javaTestLibrary = regexp.MustCompile(
	`(?:^|/)src/main/\w+/(?:org/(?:junit|testng|assertj|hamcrest|mockito|spockframework)|junit|io/kotest|com/google/common/truth)/`)

// copiedLibrary is the files, unless the patch changes such files that exist: the repository is
// that library then.
func (j *judging) copiedLibrary(files []string) []string {
	own := slices.ContainsFunc(j.Changes, func(c solve.FileChange) bool {
		return c.Op != "add" && javaTestLibrary.MatchString(c.Path)
	})
	if own {
		return nil
	}
	return files
}
