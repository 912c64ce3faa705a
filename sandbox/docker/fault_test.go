package docker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/docker"
	"github.com/yudai-dev/yudai/test/dockerd"
)

// TestEngineDies: an engine that is killed is unavailable, and what was frozen is
// there when it comes back. Its containers ended with it, and are gone, not stuck.
func TestEngineDies(t *testing.T) {
	t.Parallel()
	c := config(t)
	e, err := dockerd.Start(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	c.Host, c.Image = e.Host, e.Image
	book := newBook(t)
	d := driver(t, c, book)
	base, err := d.Freeze(t.Context(), open(t, d, sandbox.Spec{Name: "base"}))
	if err != nil {
		t.Fatal(err)
	}
	sb := open(t, d, sandbox.Spec{Name: "living", From: base})
	ended := beating(t, sb)
	e.Kill()
	if err := <-ended; !errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("the command ended with %v", err)
	}
	for what, err := range map[string]error{
		"open":  func() error { _, err := d.Open(t.Context(), sandbox.Spec{Name: "more", From: base}); return err }(),
		"check": d.Check(t.Context()), "close": sb.Close(t.Context()), "thaw": d.Thaw(t.Context(), base),
		"attach": func() error { _, err := d.Attach(t.Context(), "living"); return err }(),
	} {
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "sandbox.docker.host") {
			t.Errorf("%s without an engine: %v", what, err)
		}
	}
	if err := e.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Attach(t.Context(), "living"); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the sandbox of before: %v", err)
	}
	if err := sb.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	output(t, open(t, d, sandbox.Spec{Name: "living", From: base}), "echo again")
	silentEngine(t, e, d, base)
}

// silentEngine holds the engine up: calls end with their context, and later it works again.
func silentEngine(t *testing.T, e *dockerd.Engine, d *docker.Driver, base string) {
	t.Helper()
	sb := open(t, d, sandbox.Spec{Name: "held", From: base})
	if err := e.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	if _, err := sb.Get(ctx, "/tmp/f"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 20*time.Second {
		t.Errorf("get from an engine that is silent, after %v: %v", time.Since(began), err)
	}
	if err := e.Continue(); err != nil {
		t.Fatal(err)
	}
	output(t, sb, "echo again")
}
