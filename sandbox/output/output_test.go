package output_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/sandbox/output"
)

func TestBudgetHoldsForAllFeedsTogether(t *testing.T) {
	t.Parallel()
	var a, b bytes.Buffer
	budget := output.NewBudget(10)
	first, second := output.New(&a, budget, time.Minute), output.New(&b, budget, time.Minute)
	_, _ = first.Write([]byte("123456"))
	_, _ = second.Write([]byte("1234"))
	if budget.Truncated() {
		t.Error("truncated at exactly the limit")
	}
	_, _ = first.Write([]byte("7"))
	for _, f := range []*output.Feed{first, second} {
		f.End()
		f.Wait()
	}
	if a.String() != "123456" || b.String() != "1234" || !budget.Truncated() {
		t.Errorf("%q, %q, truncated %v", a.String(), b.String(), budget.Truncated())
	}
}

// blocked takes nothing before it is released.
type blocked struct{ release <-chan struct{} }

func (b blocked) Write([]byte) (int, error) {
	<-b.release
	return 0, io.ErrClosedPipe
}

func TestBlockedWriterIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		budget := output.NewBudget(1 << 30)
		f := output.New(blocked{release}, budget, 2*time.Second)
		began := time.Now()
		for range 1000 {
			_, _ = f.Write(make([]byte, 32<<10))
		}
		f.End()
		f.Wait()
		if took := time.Since(began); took > 5*time.Second || !budget.Truncated() {
			t.Errorf("took %v, truncated %v", took, budget.Truncated())
		}
		close(release)
		synctest.Wait()
	})
}

// slow takes its time for every chunk, but takes it.
type slow struct{ n int }

func (s *slow) Write(p []byte) (int, error) {
	<-time.After(1900 * time.Millisecond) // simulated time
	s.n += len(p)
	return len(p), nil
}

func TestSlowWriterGetsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, budget := &slow{}, output.NewBudget(1<<30)
		f := output.New(w, budget, 2*time.Second)
		for range 100 {
			_, _ = f.Write(make([]byte, 1000))
		}
		f.End()
		f.Wait()
		if w.n != 100_000 || budget.Truncated() {
			t.Errorf("%d bytes arrived, truncated %v", w.n, budget.Truncated())
		}
	})
}

// broken fails at once.
type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) {
	b.writes++
	return 0, errors.New("broken")
}

func TestFailingWriterGetsNothingMore(t *testing.T) {
	t.Parallel()
	w, budget := &broken{}, output.NewBudget(1<<20)
	f := output.New(w, budget, time.Minute)
	for range 100 {
		_, _ = f.Write([]byte("x"))
	}
	f.End()
	f.Wait()
	if w.writes != 1 || !budget.Truncated() {
		t.Errorf("%d writes, truncated %v", w.writes, budget.Truncated())
	}
}

// odd cannot be compared.
type odd struct {
	io.Writer
	_ []int
}

func TestSame(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for _, c := range []struct {
		a, b io.Writer
		want bool
	}{{&a, &a, true}, {&a, &b, false}, {nil, nil, false}, {odd{Writer: &a}, odd{Writer: &a}, false}} {
		if got := output.Same(c.a, c.b); got != c.want {
			t.Errorf("Same(%T, %T) = %v", c.a, c.b, got)
		}
	}
}
