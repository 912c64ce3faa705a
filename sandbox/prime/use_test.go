package prime_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/prime"
	"github.com/yudai-dev/yudai/test/primesim"
)

// TestLargeFile: what is larger than one upload goes up in parts, and comes down whole.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	sb := open(t, d, sandbox.Spec{})
	const part = 4 << 20
	random := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{part - 1, part, part + 1, 2*part + 5} {
		data := make([]byte, size)
		_, _ = random.Read(data)
		before := s.Calls(primesim.CallUpload)
		s.Inject(primesim.Fault{Kind: primesim.FaultLost, On: primesim.CallUpload})
		s.Inject(primesim.Fault{Kind: primesim.FaultCutEnd, On: primesim.CallStart}) // the first command afterwards joins, or moves
		if err := sb.Put(t.Context(), "/workspace/repo/big", bytes.NewReader(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := s.Calls(primesim.CallUpload) - before; n != (size+part-1)/part+1 {
			t.Errorf("%d bytes in %d uploads", size, n)
		}
		r, err := sb.Get(t.Context(), "/workspace/repo/big")
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		n, err := io.Copy(sum, r)
		if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(sum.Sum(nil), hash(data)) {
			t.Errorf("%d bytes of %d came back, %v", n, size, err)
		}
	}
	broken := io.MultiReader(bytes.NewReader(make([]byte, part+1)), iotest.ErrReader(errBroken))
	if err := sb.Put(t.Context(), "/workspace/repo/big", broken, 0o600); !errors.Is(err, errBroken) {
		t.Errorf("a broken input: %v", err)
	}
	out, _, err := sandbox.Output(t.Context(), sb, sandbox.Command{Shell: "ls -A /workspace/.yudai | grep -c put; ls -l /workspace/repo | wc -l"})
	if err != nil || out != "0\n2\n" {
		t.Errorf("parts are left: %q, %v", out, err)
	}
}

var errBroken = errors.New("the input broke")

func hash(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// TestManySwept: many sandboxes are removed in one request, the living ones not.
func TestManySwept(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() { open(t, d, sandbox.Spec{Name: fmt.Sprint("a", i)}) })
	}
	all.Wait()
	if t.Failed() {
		return
	}
	single := s.Calls(primesim.CallDelete)
	gone, err := d.Sweep(t.Context(), func(i sandbox.Info) bool { return i.Name == "a3" })
	if err != nil || len(gone) != 11 || s.Calls(primesim.CallBulkDelete) != 1 || s.Calls(primesim.CallDelete) != single {
		t.Errorf("swept %q, %v, with %d requests for many and %d for one", gone, err, s.Calls(primesim.CallBulkDelete), s.Calls(primesim.CallDelete)-single)
	}
	if n := len(s.Billed()); n != 1 {
		t.Errorf("%d are left", n)
	}
}

// TestStrays: a sandbox of this deployment that nobody has a note of is swept, one of another deployment is not.
func TestStrays(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	mine := open(t, d, sandbox.Spec{Name: "same"})
	other := driver(t, s.URL(), t.TempDir())
	theirs := open(t, other, sandbox.Spec{Name: "same", Labels: map[string]string{"run": "1"}})
	if err := mine.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if gone, err := d.Sweep(t.Context(), func(sandbox.Info) bool { return false }); err != nil || len(gone) != 0 {
		t.Errorf("swept %q, %v", gone, err)
	}
	if res, err := theirs.Exec(t.Context(), sandbox.Command{Shell: "exit 5"}); err != nil || res.ExitCode != 5 {
		t.Errorf("another deployment's sandbox: %+v, %v", res, err)
	}
	if err := theirs.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPlace: id and cost, from the size that the sandbox has.
func TestPlace(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	sb := open(t, d, sandbox.Spec{Limits: sandbox.Limits{CPUs: 4, Memory: 8 << 30}})
	want := sandbox.Place{Driver: "prime", ID: s.Billed()[0], HourlyUSD: 4*0.05 + 8*0.01 + 10*0.001}
	if got := sb.(sandbox.Placed).Place(); got.Driver != want.Driver || got.ID != want.ID || fmt.Sprintf("%.6f", got.HourlyUSD) != fmt.Sprintf("%.6f", want.HourlyUSD) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestLoserDoesNoHarm: a handle whose sandbox another process took over can neither run
// commands nor change its rules nor delete it.
func TestLoserDoesNoHarm(t *testing.T) {
	t.Parallel()
	s := service(t, primesim.Options{})
	dir := t.TempDir()
	one, two := driver(t, s.URL(), dir), driver(t, s.URL(), dir)
	loser := open(t, one, sandbox.Spec{})
	winner, err := two.Attach(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	_, exec := loser.Exec(t.Context(), sandbox.Command{Shell: "true"})
	_, freeze := one.Freeze(t.Context(), loser)
	restrict := loser.(sandbox.Egress).Restrict(t.Context(), sandbox.Network{Allow: []string{"a.example.org"}})
	for what, err := range map[string]error{"exec": exec, "freeze": freeze, "restrict": restrict} {
		if !errors.Is(err, sandbox.ErrGone) {
			t.Errorf("%s by the loser: %v, want ErrGone", what, err)
		}
	}
	if err := loser.Close(t.Context()); err != nil {
		t.Errorf("close by the loser: %v", err)
	}
	if res, err := winner.Exec(t.Context(), sandbox.Command{Shell: "exit 6"}); err != nil || res.ExitCode != 6 {
		t.Errorf("the winner: %+v, %v", res, err)
	}
	if err := winner.Close(t.Context()); err != nil {
		t.Error(err)
	}
	nothingBilled(t, s)
}

// TestFreezeFails: a checkpoint that fails leaves the sandbox, and nothing that is stored.
func TestFreezeFails(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{Durable: 20 * time.Millisecond})
	sb := open(t, d, sandbox.Spec{})
	s.Inject(primesim.Fault{Kind: primesim.FaultFail, On: primesim.CallCheckpoint, Reason: "no room"})
	if _, err := d.Freeze(t.Context(), sb); !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "no room") {
		t.Errorf("freeze: %v", err)
	}
	if n := s.Stored(); len(n) > 0 {
		t.Errorf("stored: %q", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Freeze(ctx, sb); !errors.Is(err, context.Canceled) {
		t.Errorf("freeze with a cancelled context: %v", err)
	}
	if err := sb.Put(t.Context(), "/tmp/f", strings.NewReader("kept"), 0o644); err != nil {
		t.Error(err)
	}
	base, err := d.Freeze(t.Context(), sb)
	if err != nil {
		t.Fatal(err)
	}
	// Its checkpoint is lost at the service: it is no base any more.
	if !d.HasBase(t.Context(), base) {
		t.Error("the base is not there")
	}
	s.Inject(primesim.Fault{Kind: primesim.FaultStatus, On: primesim.CallCheckpointGet, Status: 503, Count: 3})
	if !d.HasBase(t.Context(), base) {
		t.Error("a base is not gone because nobody answers")
	}
	dropCheckpoints(t, s, d, base)
	if d.HasBase(t.Context(), base) {
		t.Error("a base without its checkpoint")
	}
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "fork", From: base}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("open from it: %v, want ErrGone", err)
	}
	if err := d.Thaw(t.Context(), base); err != nil {
		t.Error(err)
	}
}

// TestCheckpointListedLate: a checkpoint whose answer is lost, and which the service lists only
// after another was asked for, goes with the sandbox.
func TestCheckpointListedLate(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	sb := open(t, d, sandbox.Spec{})
	lists := 0
	d.Through(func(next http.RoundTripper) http.RoundTripper {
		return through(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/checkpoints") {
				if lists++; lists <= 2 {
					return handler(func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, `[]`) }).RoundTrip(r)
				}
			}
			return next.RoundTrip(r)
		})
	})
	lost := s.Inject(primesim.Fault{Kind: primesim.FaultLost, On: primesim.CallCheckpoint})
	if _, err := d.Freeze(t.Context(), sb); err != nil || lost.Hits() != 1 {
		t.Errorf("freeze: %v after %d lost answers", err, lost.Hits())
	}
	if ids := s.Stored(); len(ids) != 1 {
		t.Errorf("stored: %q, want the base's alone", ids)
	}
}

// through is a transport that sees every request.
type through func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f through) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dropCheckpoints deletes the checkpoint of a base behind the driver's back: another
// driver with a copy of its notes thaws it.
func dropCheckpoints(t *testing.T, s *primesim.Server, d *prime.TestDriver, base string) {
	t.Helper()
	dir := t.TempDir()
	n, err := d.Journal().Read(base)
	if err == nil {
		err = cloud.NewJournal(book(t, dir)).Write(n)
	}
	if err == nil {
		err = driver(t, s.URL(), dir).Thaw(t.Context(), base)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGetOfNothing: a missing file is told from a missing sandbox.
func TestGetOfNothing(t *testing.T) {
	t.Parallel()
	s, d := setup(t, primesim.Options{})
	sb := open(t, d, sandbox.Spec{})
	if err := sb.Put(t.Context(), "/tmp/f", strings.NewReader("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Inject(primesim.Fault{Kind: primesim.FaultStatus, On: primesim.CallDownload, Status: 404})
	if _, err := sb.Get(t.Context(), "/tmp/f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	s.Inject(primesim.Fault{Kind: primesim.FaultStatus, On: primesim.CallDownload, Status: 410})
	if _, err := sb.Get(t.Context(), "/tmp/f"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("%v, want ErrGone", err)
	}
}
