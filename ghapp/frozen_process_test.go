package ghapp_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
)

// frozen is the way to GitHub of a process that stands still between the last
// look at its clock and the first byte of a creation, as a suspended machine does.
// The creation is made when it wakes up.
type frozen struct {
	next   http.RoundTripper
	sleep  time.Duration
	answer func() error // how the call ends for the process
	made   int
}

func (f *frozen) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost || !strings.HasSuffix(req.URL.Path, "/comments") || f.made > 0 {
		return f.next.RoundTrip(req)
	}
	f.made++
	pass(f.sleep)
	resp, err := f.next.RoundTrip(req.WithContext(context.WithoutCancel(req.Context())))
	if err == nil {
		resp.Body.Close()
	}
	return nil, f.answer()
}

// freeze asks for a comment whose creation is made longer after its announcement
// than lists lag, and they lag for nearly as long as the writer allows for.
func (w *world) freeze(f *frozen) {
	w.hub.SetLag(w.cfg.Write.ListLag - 5*time.Second)
	f.next, f.sleep = w.traffic, w.cfg.Write.ListLag+10*time.Second
	w.app = w.newApp(f)
	w.store.want(w.reply("ask-1", "hello"))
}

func TestFrozenCallIsLookedUpAfterItsEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.freeze(&frozen{answer: func() error { return context.DeadlineExceeded }})
		stop := w.write("node-1")
		w.settle()
		stop()
		if n := w.hub.Requests("POST", "/comments"); n != 1 {
			t.Errorf("%d comments were made, want 1", n)
		}
	})
}

func TestFrozenProcessIsFollowedByAPatientOne(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		over := make(chan struct{})
		w.freeze(&frozen{answer: func() error { <-over; return context.Canceled }}) // its process ends without a word
		first := w.write("node-1")
		w.await("the frozen process's call", func() bool { return w.hub.Requests("POST", "/comments") == 1 })
		w.app = w.newApp(w.traffic)
		stop := w.write("node-2")
		w.settle()
		stop()
		close(over)
		first()
		if n := w.hub.Requests("POST", "/comments"); n != 1 {
			t.Errorf("%d comments were made, want 1", n)
		}
	})
}
