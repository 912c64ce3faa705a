package git

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Auth is a user and password for one git server; the zero value is none. It
// prints as redacted.
type Auth struct{ User, Password string }

// String hides both parts.
func (Auth) String() string { return "[redacted]" }

// GoString hides both parts.
func (Auth) GoString() string { return "[redacted]" }

// Cache holds one bare mirror per repository below a directory. It may be used
// by many goroutines of one process; the directory belongs to that process.
type Cache struct {
	dir   string
	mu    sync.Mutex
	locks map[string]*locks
}

// locks of one mirror. Who fetches holds fetch, for which others can wait with a
// context. Readers share use; who replaces the directory holds it alone.
type locks struct {
	fetch chan struct{}
	use   sync.RWMutex
}

// New returns a cache below dir, which it makes on first use. A relative dir starts at
// the present working directory, not where git runs.
func New(dir string) *Cache {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return &Cache{dir: dir, locks: map[string]*locks{}}
}

// of returns the mirror of a key without looking at the disk.
func (c *Cache) of(key string) *Mirror {
	sum := sha256.Sum256([]byte(key))
	name := hex.EncodeToString(sum[:16]) + ".git"
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.locks[name]
	if !ok {
		l = &locks{fetch: make(chan struct{}, 1)}
		c.locks[name] = l
	}
	return &Mirror{dir: filepath.Join(c.dir, name), locks: l}
}

// Open returns the mirror of a key as it is, without asking any server; ErrMissing if there is none.
func (c *Cache) Open(key string) (*Mirror, error) {
	m := c.of(key)
	if _, err := os.Stat(filepath.Join(m.dir, "HEAD")); err != nil {
		return nil, fmt.Errorf("open mirror: %w", ErrMissing)
	}
	return m, nil
}

// Mirror brings the mirror of key up to what the server at url has (branches
// and tags, deleted ones removed) and returns it. url is http, https, file or an
// absolute path. A mirror that git finds broken is made anew, once.
func (c *Cache) Mirror(ctx context.Context, key, url string, auth Auth) (*Mirror, error) {
	m := c.of(key)
	unlock, err := m.lockFetch(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of mirrors: %w", err)
	}
	_, err = os.Stat(filepath.Join(m.dir, "HEAD"))
	if err == nil {
		err = m.fetch(ctx, m.dir, url, auth, mirrorRefs...)
		if err == nil || ctx.Err() != nil || !broken(err) {
			return m, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look at the mirror: %w", err)
	}
	return m, m.renew(ctx, url, auth)
}

// mirrorRefs are the refs a mirror follows: no pull requests, no notes.
var mirrorRefs = []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}

// broken reports whether the local side is at fault: a lock or half a file that
// a killed git left, damaged objects.
func broken(err error) bool {
	return refused(err, ".lock': File exists", "not a git repository", "bad object", "corrupt", "unable to read",
		"missing blob", "missing tree", "is empty")
}

// renew makes the mirror anew beside the old one and then replaces the old one.
func (m *Mirror) renew(ctx context.Context, url string, auth Auth) error {
	next, err := os.MkdirTemp(filepath.Dir(m.dir), "new-*")
	if err != nil {
		return fmt.Errorf("make mirror: %w", err)
	}
	defer os.RemoveAll(next) //nolint:errcheck // gone already after the rename
	if _, err := (call{dir: next, args: []string{"init", "--quiet", "--bare", "--template=", "."}}).run(ctx); err != nil {
		return fmt.Errorf("make mirror: %w", err)
	}
	if err := m.fetch(ctx, next, url, auth, mirrorRefs...); err != nil {
		return err
	}
	m.locks.use.Lock()
	defer m.locks.use.Unlock()
	if err := os.RemoveAll(m.dir); err != nil {
		return fmt.Errorf("replace mirror: %w", err)
	}
	if err := os.Rename(next, m.dir); err != nil {
		return fmt.Errorf("replace mirror: %w", err)
	}
	return nil
}

// FetchCommit brings a commit that no branch holds any more (a forced push
// since), and keeps it. The server must allow asking for it, as GitHub does.
func (m *Mirror) FetchCommit(ctx context.Context, url string, auth Auth, sha string) error {
	if !isSHA(sha) {
		return fmt.Errorf("fetch commit %q: %w", sha, ErrMissing)
	}
	unlock, err := m.lockFetch(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if m.Has(ctx, sha) {
		return nil
	}
	m.locks.use.RLock()
	defer m.locks.use.RUnlock()
	return m.fetch(ctx, m.dir, url, auth, "+"+sha+":refs/keep/"+sha)
}

func (m *Mirror) lockFetch(ctx context.Context) (func(), error) {
	select {
	case m.locks.fetch <- struct{}{}:
		return func() { <-m.locks.fetch }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the mirror: %w", context.Cause(ctx))
	}
}

// fetch runs git fetch in dir for the refspecs.
func (m *Mirror) fetch(ctx context.Context, dir, address string, auth Auth, refspecs ...string) error {
	c, err := transport(address, auth)
	if err != nil {
		return err
	}
	args := []string{
		"fetch", "--quiet", "--no-tags", "--prune", "--force", "--no-write-fetch-head",
		"--no-auto-maintenance", "--no-recurse-submodules", "--no-show-forced-updates",
		"--update-shallow", // a person's own repository may be one
		"--end-of-options", address,
	}
	c.dir, c.args, c.env = dir, append(args, refspecs...), []string{"GIT_DIR=" + dir}
	_, err = c.run(ctx)
	return remote(err)
}

// transport is a call that may use the one protocol that address names, with the
// credentials as a header for its server only.
func transport(address string, auth Auth) (call, error) {
	if filepath.IsAbs(address) {
		return call{network: true, allow: "file"}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil {
		return call{}, errors.New("fetch: the repository's address is no plain URL (credentials belong into Auth)")
	}
	switch u.Scheme {
	case "file":
		return call{network: true, allow: "file"}, nil
	case "http", "https":
	default:
		return call{}, fmt.Errorf("fetch: protocol %q is not allowed: use https", u.Scheme)
	}
	// Give a stalled server up long before the deadline.
	c := call{network: true, allow: u.Scheme, conf: [][2]string{{"http.lowSpeedLimit", "1000"}, {"http.lowSpeedTime", "60"}}}
	if auth != (Auth{}) {
		value := base64.StdEncoding.EncodeToString([]byte(auth.User + ":" + auth.Password))
		c.conf = append(c.conf, [2]string{"http." + u.Scheme + "://" + u.Host + "/.extraheader", "Authorization: Basic " + value})
	}
	return c, nil
}

// remote says what went wrong with the server and what to do.
func remote(err error) error {
	switch {
	case err == nil:
		return nil
	case refused(err, "could not read Username", "could not read Password", "Authentication failed", "error: 401", "error: 403"):
		return fmt.Errorf("fetch: %w: the token is wrong, ended, or may not read this repository (%w)", ErrAuth, err)
	case refused(err, "not found", "does not appear to be a git repository", "error: 404"):
		return fmt.Errorf("fetch: repository %w: %w", ErrMissing, err)
	case refused(err, "couldn't find remote ref", "not our ref", "unadvertised object"):
		return fmt.Errorf("fetch: %w: %w", ErrMissing, err)
	}
	return fmt.Errorf("fetch: %w", err)
}

// sweepAge is how old an unfinished mirror must be before Sweep removes it.
const sweepAge = 2 * networkTime

// Sweep removes what killed processes left in the cache's directory.
func (c *Cache) Sweep(now time.Time) error {
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep mirrors: %w", err)
	}
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), "new-") || now.Sub(info.ModTime()) < sweepAge {
			continue
		}
		errs = append(errs, os.RemoveAll(filepath.Join(c.dir, e.Name())))
	}
	return errors.Join(errs...)
}
