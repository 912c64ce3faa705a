// Package git runs the git program on the host, for bare repositories only.
//
// Strangers wrote what git reads here, so each command gets its own environment
// (no system or user configuration, no hooks, no fsmonitor, no prompts, only the
// transport asked for), a deadline, and a limit on its output. Nothing is checked
// out: a mirror is fetched, packed for a sandbox, and written to through a
// temporary index. Credentials are in the environment of one command only, and no
// error text has them.
package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/internal/gitenv"
)

// Errors that callers tell apart, wrapped with git's own reason.
var (
	// ErrMissing says that a repository, branch, commit or file is not there.
	ErrMissing = errors.New("not in the repository")
	// ErrAuth says that the server refused the credentials, or needs some.
	ErrAuth = errors.New("git server refused the credentials")
	// ErrPatch says that a patch does not apply to the commit.
	ErrPatch = errors.New("patch does not apply")
	// ErrDirty says that a work tree has changes that are not committed.
	ErrDirty = errors.New("has changes that are not committed")
	// ErrTooLarge says that something is larger than this package reads.
	ErrTooLarge = errors.New("too large")
	// ErrNotRepository says that a path is not a usable git work tree.
	ErrNotRepository = errors.New("not a usable git work tree")
)

// Deadlines of one command; the context may end it sooner.
const (
	networkTime = 15 * time.Minute
	plumbTime   = 5 * time.Minute
)

// maxOutput bounds the output of a command by default.
const maxOutput = 64 << 20

// maxReason bounds git's own words in an error, in bytes.
const maxReason = 600

// call is one run of git.
type call struct {
	dir     string      // working directory
	args    []string    // without "git"
	env     []string    // beside the fixed environment
	conf    [][2]string // configuration beside the fixed one
	allow   string      // the only protocol, "" for none
	stdin   io.Reader
	max     int64 // bytes of output; 0 is maxOutput
	network bool
	person  bool // with the environment and configuration of who runs yudai; only to read who that is
}

// environment is all that git sees of this process: the search path and, for the
// network, the proxy and certificate settings that Go's own client also uses.
func (c call) environment() []string {
	if c.person {
		return os.Environ()
	}
	env := []string{"PATH=" + os.Getenv("PATH")}
	for k, v := range gitenv.Variables(c.conf...) {
		env = append(env, k+"="+v)
	}
	if c.allow != "" {
		env = append(env, "GIT_ALLOW_PROTOCOL="+c.allow)
	}
	if c.network {
		for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"} {
			for _, name := range []string{name, strings.ToLower(name)} {
				if v, ok := os.LookupEnv(name); ok {
					env = append(env, name+"="+v)
				}
			}
		}
		if v := os.Getenv("SSL_CERT_FILE"); v != "" {
			env = append(env, "GIT_SSL_CAINFO="+v)
		}
	}
	return append(env, c.env...)
}

// run runs git and returns its output. A [failure] has git's own words without secrets.
func (c call) run(ctx context.Context) ([]byte, error) {
	d := plumbTime
	if c.network {
		d = networkTime
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", c.args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.environment(), c.stdin
	// Git starts helpers (git-remote-https, upload-pack); they end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	limit := cmp.Or(c.max, maxOutput)
	out, words := &capped{max: limit}, &capped{max: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, words
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
	case err == nil && out.over:
		return nil, fmt.Errorf("git %s: output of more than %d bytes: %w", c.args[0], limit, ErrTooLarge)
	case err == nil:
		return out.buf.Bytes(), nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return nil, fmt.Errorf("run git: %w", err)
	}
	return nil, &failure{verb: c.args[0], code: exit.ExitCode(), reason: reason(words.buf.String())}
}

// failure is git's refusal, in its own words.
type failure struct {
	verb   string
	code   int
	reason string
}

// Error names the git command and its reason.
func (f *failure) Error() string {
	if f.reason == "" {
		return fmt.Sprintf("git %s: exit %d", f.verb, f.code)
	}
	return fmt.Sprintf("git %s: %s", f.verb, f.reason)
}

// refused reports whether err is git's own failure with one of the texts in it.
func refused(err error, texts ...string) bool {
	var f *failure
	if !errors.As(err, &f) {
		return false
	}
	return len(texts) == 0 || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(f.reason, t) })
}

// secrets are the shapes of credentials in git's output: GitHub's tokens and header values.
var secrets = regexp.MustCompile(`\b(?:gh[psour]_|github_pat_)[A-Za-z0-9._-]+|(?i:\b(?:basic|bearer|token)\s+[A-Za-z0-9+/=._~-]{8,})`)

// userPart is the part of an address that holds credentials.
var userPart = regexp.MustCompile(`://[^/@\s'"]+@`)

// reason is stderr for an error: redacted, without control characters, cut.
func reason(text string) string {
	text = userPart.ReplaceAllString(secrets.ReplaceAllString(text, "[redacted]"), "://[redacted]@")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r < ' ' || r == 0x7f || r == '\uFFFD':
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return text
}

// capped collects up to max bytes and notes that there were more. The buffer is not
// embedded: its ReadFrom would get past the limit.
type capped struct {
	buf  bytes.Buffer
	max  int64
	over bool
}

// Write never fails, so that a full buffer does not kill git.
func (c *capped) Write(p []byte) (int, error) {
	room := max(c.max-int64(c.buf.Len()), 0)
	c.over = c.over || int64(len(p)) > room
	c.buf.Write(p[:min(int64(len(p)), room)])
	return len(p), nil
}

// oldest is the first version of git that can take credentials from its environment
// rather than from disk or arguments.
var oldest = [2]int{2, 32}

// Check tells whether the git of this machine can be used, and what to do if not.
func Check(ctx context.Context) error {
	out, err := call{args: []string{"version"}}.run(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("git is not installed: install the package git, version %d.%d or newer", oldest[0], oldest[1])
	}
	if err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "git version %d.%d", &major, &minor); err != nil {
		return fmt.Errorf("read git's version from %q: %w", reason(string(out)), err)
	}
	if major < oldest[0] || major == oldest[0] && minor < oldest[1] {
		return fmt.Errorf("git %d.%d is too old: install %d.%d or newer", major, minor, oldest[0], oldest[1])
	}
	return nil
}

// isSHA reports whether s is a full commit name.
func isSHA(s string) bool { return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" }
