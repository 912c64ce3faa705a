package e2e_test

import (
	"context"
	"errors"
	"flag"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/internal/githubsim/openapi"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/test/require"
)

func TestMain(m *testing.M) {
	server.Stage() // this binary is also the sandboxes' stage
	beChild()      // and the yudai process that tests kill
	setStubKeys()
	flag.Parse()
	atOnce()
	os.Exit(m.Run())
}

// atOnce lets more tests run in parallel than -parallel says: here they wait for most of
// their time, for a limit to end, or for lists to settle.
func atOnce() {
	f := flag.Lookup("test.parallel")
	n, err := strconv.Atoi(f.Value.String())
	if err != nil || n == 1 {
		return
	}
	if err := f.Value.Set(strconv.Itoa(3 * n)); err != nil {
		panic(err)
	}
}

// requireSandbox skips where the sandbox cannot run, unless it has to.
func requireSandbox(t *testing.T) {
	t.Helper()
	require.Programs(t, "bubblewrap", "bwrap")
}

var loadDescription = sync.OnceValues(func() (*openapi.Validator, error) { return openapi.New("") })

// described is a transport that makes every request of ours and every answer of
// the emulator that does not fit GitHub's description a failure of the test.
func described(t *testing.T) http.RoundTripper {
	t.Helper()
	v, err := loadDescription()
	if err != nil {
		t.Fatal(err)
	}
	return v.Transport(http.DefaultTransport, func(err error) {
		t.Errorf("traffic does not fit GitHub's description: %v", err)
	})
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bot is our own login.
const bot = "yudai[bot]"

func (w *world) pulls() []githubsim.Pull {
	w.t.Helper()
	pulls, err := w.hub.Pulls(w.repo.FullName())
	w.must(err)
	return pulls
}

// ourComments are the bodies of the bot's comments on the issue.
func (w *world) ourComments() []string {
	w.t.Helper()
	i, err := w.hub.Issue(w.repo.FullName(), w.issue)
	if errors.Is(err, githubsim.ErrNotFound) {
		return nil // deleted, or moved
	}
	w.must(err)
	var out []string
	for _, c := range i.Comments {
		if c.Author == bot {
			out = append(out, c.Body)
		}
	}
	return out
}

// awaitComments waits until each text stands in some comment of ours.
func (w *world) awaitComments(texts []string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second*patience)
	defer cancel()
	for _, text := range texts {
		_, err := w.hub.AwaitComment(ctx, w.repo.FullName(), w.issue, func(c githubsim.Comment) bool {
			return c.Author == bot && strings.Contains(c.Body, text)
		})
		if err != nil {
			w.t.Fatalf("no comment says %q: %v\n%s", text, err, strings.Join(w.ourComments(), "\n---\n"))
		}
	}
}

// reactionsTo are ours to several comments; 0 is the issue.
func (w *world) reactionsTo(comments []int64) (all []string) {
	w.t.Helper()
	for _, id := range comments {
		all = append(all, w.reactions(id)...)
	}
	return all
}

// reactions are the bot's on the issue, or on a comment of it.
func (w *world) reactions(comment int64) []string {
	w.t.Helper()
	i, err := w.hub.Issue(w.repo.FullName(), w.issue)
	w.must(err)
	all := i.Reactions
	if comment != 0 {
		for _, c := range i.Comments {
			if c.ID == comment {
				all = c.Reactions
			}
		}
	}
	var out []string
	for _, r := range all {
		if r.Author == bot {
			out = append(out, r.Content)
		}
	}
	return out
}

// checkRuns counts our check runs by commit and name.
func (w *world) checkRuns() map[string]int {
	w.t.Helper()
	checks, err := w.hub.Checks(w.repo.FullName())
	w.must(err)
	out := map[string]int{}
	for _, c := range checks {
		out[c.SHA+" "+c.Name]++
	}
	return out
}

// holdPermissions lets nobody's rights be found out until releasePermissions.
func (w *world) holdPermissions() {
	w.held = w.hub.Inject(githubsim.Fault{Kind: githubsim.FaultServerError, Method: "GET", Path: "/permission$", Count: -1})
}

func (w *world) releasePermissions() {
	if w.held != nil {
		w.held.Remove()
	}
}
