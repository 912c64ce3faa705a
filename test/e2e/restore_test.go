package e2e_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/require"
)

// TestRestoredBackupFinishes takes a backup of a running server in the middle
// of a solve, lets the server go on for a while, kills it, unpacks the backup
// elsewhere and starts again. The copy knows nothing of what the first process
// wrote after the backup, and still there is one of everything.
func TestRestoredBackupFinishes(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	for i, c := range []struct {
		name string
		at   string                     // state of the backup
		then func(w *world, p *process) // what happens before the end of the first process
	}{
		{"killed at once", "running", func(*world, *process) {}},
		{"killed while it published", "running", func(w *world, p *process) { w.awaitLog(p, "publishing") }},
		{"killed when all was done", "running", func(w *world, _ *process) { w.awaitComments([]string{"kind=result"}) }},
		{"made while it published", "publishing", func(w *world, _ *process) { w.awaitComments([]string{"kind=result"}) }},
		{"made before the first write", "queued", func(w *world, _ *process) { w.awaitComments([]string{"kind=result"}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // mostly waiting
			if i > 0 {
				require.Long(t)
			}
			a, s := load(t, "crash/slow")
			w := newWorld(t, a)
			first := w.startProcess()
			w.openIssue(a)
			if c.at == "queued" { // GitHub does not say who may ask: the solve is stored and waits
				w.holdPermissions()
			}
			w.trigger(s)
			switch c.at {
			case "queued":
				w.poll(30*time.Second, func() bool { return w.delivered("labeled") })
			case "running":
				w.awaitTranscript(4, 30*time.Second)
			default:
				w.awaitLog(first, c.at)
			}
			tar := w.backup(first)
			w.releasePermissions()
			c.then(w, first)
			first.kill()

			w.restore(tar)
			srv, _ := w.serve()
			v := w.final(srv, 90*time.Second)
			if v.Solve.State != solve.StateSolved {
				t.Fatalf("the restored solve is %s: %s", v.Solve.State, v.Solve.Reason)
			}
			w.checkTexts(s, 0)
			w.checkOneOfEach()
			if n := w.hub.Requests("DELETE", "/comments/"); n > 0 {
				t.Errorf("%d comments were made a second time and deleted", n)
			}
		})
	}
}

// delivered says whether a delivery of the action was stored.
func (w *world) delivered(action string) bool {
	for _, d := range w.hub.Deliveries(w.app) {
		if d.Action == action && d.Status == http.StatusOK {
			return true
		}
	}
	return false
}

// backup asks the process for a backup, as the command `yudai backup` does.
func (w *world) backup(p *process) string {
	w.t.Helper()
	path := filepath.Join(w.dir, "backup.tar")
	f, err := os.Create(path)
	w.must(err)
	base := regexp.MustCompile(`listens on (http://\S+)`).FindStringSubmatch(p.log.String())[1]
	_, err = server.Backup(w.t.Context(), w.cfg, base, func(k string) string { return w.env[k] }, f)
	w.must(err)
	w.must(f.Close())
	return path
}

// restore unpacks a backup as docs/operations.md says, for another machine.
func (w *world) restore(tar string) {
	w.t.Helper()
	dir := filepath.Join(w.dir, "elsewhere")
	w.must(os.Mkdir(dir, 0o700))
	if out, err := exec.Command("tar", "-xf", tar, "-C", dir).CombinedOutput(); err != nil {
		w.t.Fatalf("unpack the backup: %v\n%s", err, out)
	}
	w.cfg.Store.Path = filepath.Join(dir, "yudai.db")
	w.cfg.Sandbox.Local.Dir = filepath.Join(w.dir, "sandboxes-elsewhere")
}

// TestBackupIsTheOperators asks without and with a wrong token.
func TestBackupIsTheOperators(t *testing.T) {
	t.Parallel()
	requireSandbox(t)
	a, _ := load(t, "crash/slow")
	w := newWorld(t, a)
	srv, stop := w.serve()
	base := "http://" + srv.Addr()
	for _, token := range []string{"", "another-token-of-the-test"} {
		if status, _ := request(t, "GET", base+"/admin/backup", token, ""); status != 401 {
			t.Errorf("token %q: %d", token, status)
		}
	}
	stop()
	// A server that is not there has its files read instead.
	var out strings.Builder
	from, err := server.Backup(t.Context(), w.cfg, base, func(k string) string { return w.env[k] }, &out)
	if err != nil || from != w.cfg.Store.Path || out.Len() == 0 {
		t.Errorf("%d bytes from %s: %v", out.Len(), from, err)
	}
}
