package prime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// statuses answers how sandboxes are, as time goes by.
type statuses struct {
	began          time.Time
	building, busy time.Duration // how long
	single         int           // the status of a batch, if it is not offered
	mu             sync.Mutex
	batches, gets  int
	most           int
}

func (s *statuses) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	status, build := "RUNNING", ""
	switch past := time.Since(s.began); {
	case past < s.building:
		status, build = "PENDING", `"b1"`
	case past < s.building+s.busy:
		status = "SOMETHING_NEW"
	}
	if build == "" {
		build = "null"
	}
	if r.Method == http.MethodGet {
		s.gets++
		answer(w, 200, fmt.Sprintf(`{"id":"x","status":%q,"pendingImageBuildId":%s}`, status, build))
		return
	}
	s.batches++
	if s.single != 0 {
		answer(w, s.single, `{}`)
		return
	}
	var ask struct {
		IDs []string `json:"sandbox_ids"`
	}
	_ = json.NewDecoder(r.Body).Decode(&ask)
	s.most = max(s.most, len(ask.IDs))
	var parts []string
	for _, id := range ask.IDs {
		parts = append(parts, fmt.Sprintf(`{"sandbox_id":%q,"status":%q,"pending_image_build_id":%s}`, id, status, build))
	}
	answer(w, 200, `{"statuses":[`+strings.Join(parts, ",")+`],"errors":[]}`)
}

// TestWaitingTogether: many sandboxes are asked for in one request, not each in its own.
func TestWaitingTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &statuses{began: time.Now(), busy: 30 * time.Second}
		d := alone(t, io.Discard, s.serve)
		var all sync.WaitGroup
		for i := range 250 {
			all.Go(func() {
				if err := d.Running(t.Context(), "a", fmt.Sprint("id", i)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if s.most != 100 || s.batches > 60 || s.gets > 0 {
			t.Errorf("%d batches of at most %d, and %d single looks", s.batches, s.most, s.gets)
		}
		if took := time.Since(s.began); took < 30*time.Second || took > 45*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// TestWaitingAlone: where batches are not offered, each is asked for by itself.
func TestWaitingAlone(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 405} {
		synctest.Test(t, func(t *testing.T) {
			s := &statuses{began: time.Now(), busy: 5 * time.Second, single: status}
			d := alone(t, io.Discard, s.serve)
			if err := d.Running(t.Context(), "a", "id"); err != nil || s.batches != 1 || s.gets < 3 {
				t.Errorf("%v after %d batches and %d single looks", err, s.batches, s.gets)
			}
		})
	}
}

// TestBudgets: the build of an image has its own time, and looks every ten seconds; starting has another.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		building, busy time.Duration
		kind           error
		says           string
		looks          int
	}{
		{building: 40 * time.Minute, busy: 5 * time.Minute, looks: 330},
		{building: time.Hour, kind: sandbox.ErrUnavailable, says: "sandbox.prime.build_time", looks: 400},
		{busy: 7 * time.Minute, kind: sandbox.ErrUnavailable, says: "SOMETHING_NEW", looks: 60},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			s := &statuses{began: time.Now(), building: c.building, busy: c.busy}
			d := alone(t, &log, s.serve)
			err := d.Running(t.Context(), "a", "id")
			if !errors.Is(err, c.kind) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v: %v", c, err)
			}
			if s.batches > c.looks {
				t.Errorf("%d looks", s.batches)
			}
			if built := strings.Contains(log.String(), "image is being built"); built != (c.building > 0) {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

// TestWaitingEnds: with its context, and with an error that does not pass; one that does is waited out.
func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		d := alone(t, io.Discard, func(w http.ResponseWriter, r *http.Request) {
			if n++; n <= 7 {
				answer(w, 502, "")
				return
			}
			answer(w, 401, `{"detail":"key"}`)
		})
		if err := d.Running(t.Context(), "a", "id"); !errors.Is(err, sandbox.ErrSetting) || n != 8 {
			t.Errorf("%v after %d requests", err, n)
		}
		s := &statuses{began: time.Now(), busy: time.Hour}
		d = alone(t, io.Discard, s.serve)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := d.Running(ctx, "a", "id"); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}
