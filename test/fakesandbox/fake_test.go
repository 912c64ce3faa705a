package fakesandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
	"github.com/yudai-dev/yudai/test/fakesandbox"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Harness{Driver: fakesandbox.New(nil)})
}

func open(t *testing.T, d *fakesandbox.Driver, name string) sandbox.Sandbox {
	t.Helper()
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

func TestTableAnswersWritesAndLimits(t *testing.T) {
	t.Parallel()
	d := fakesandbox.New(fakesandbox.Table(
		fakesandbox.Entry{Match: "go test", Stdout: "FAIL\n", Stderr: "boom\n", Result: sandbox.Result{ExitCode: 1}, Write: fakesandbox.Files{"/tmp/report": "r"}},
	))
	sb := open(t, d, "a")
	var out bytes.Buffer
	res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "go test ./...", Stdout: &out, Stderr: &out, MaxOutput: 6})
	if err != nil || res.ExitCode != 1 || !res.Truncated || out.String() != "FAIL\nb" {
		t.Errorf("result %+v, %v, output %q", res, err, out.String())
	}
	r, err := sb.Get(t.Context(), "/tmp/report")
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := io.ReadAll(r); string(data) != "r" {
		t.Errorf("file left by the command: %q", data)
	}
	if res, _ := sb.Exec(t.Context(), sandbox.Command{Argv: []string{"other"}}); res.ExitCode != 127 {
		t.Errorf("unknown command: %+v", res)
	}
}

func TestFaultsAndCounts(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	d := fakesandbox.New(nil)
	sb := open(t, d, "a")
	d.SetFault(func(op fakesandbox.Op, name string) error {
		if op == fakesandbox.OpExec && name == "a" {
			return broken
		}
		return nil
	})
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "x"}); !errors.Is(err, broken) {
		t.Errorf("exec: %v, want the fault", err)
	}
	_ = open(t, d, "b").Close(t.Context())
	if d.Count(fakesandbox.OpOpen) != 2 || d.MostOpen() != 2 || len(d.OpenNames()) != 1 {
		t.Errorf("opened %d, most %d, open now %q", d.Count(fakesandbox.OpOpen), d.MostOpen(), d.OpenNames())
	}
}

func TestTimeoutCancelAndCloseEndTheAnswer(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 3)
	d := fakesandbox.New(func(ctx context.Context, _ fakesandbox.Call) (sandbox.Result, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return sandbox.Result{}, ctx.Err()
	})
	sb := open(t, d, "a")
	res, err := sb.Exec(t.Context(), sandbox.Command{Shell: "x", Timeout: time.Millisecond})
	if err != nil || !res.TimedOut || res.ExitCode != -1 {
		t.Errorf("timeout: %+v, %v", res, err)
	}
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if _, err := sb.Exec(ctx, sandbox.Command{Shell: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancel: %v", err)
	}
	go func() { <-entered; _ = sb.Close(context.Background()) }()
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "x"}); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("close: %v", err)
	}
}

// TestNetworkPriceAndPlace: a call sees what its sandbox may reach, which can change
// where the traits say so; and a sandbox tells what it costs.
func TestNetworkPriceAndPlace(t *testing.T) {
	t.Parallel()
	var reached [][]string
	d := fakesandbox.New(func(_ context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		reached = append(reached, c.Network.Allow)
		return sandbox.Result{}, nil
	})
	d.SetHourly(0.5)
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: "a", Network: sandbox.Network{Allow: []string{"pypi.org"}}})
	if err != nil {
		t.Fatal(err)
	}
	run := func() { _, _ = sb.Exec(t.Context(), sandbox.Command{Shell: "x"}) }
	run()
	if err := sb.(sandbox.Egress).Restrict(t.Context(), sandbox.Network{}); err != nil {
		t.Error(err)
	}
	run()
	if len(reached) != 2 || len(reached[0]) != 1 || len(reached[1]) != 0 {
		t.Errorf("commands reached %q", reached)
	}
	if p := sb.(sandbox.Placed).Place(); p.Driver != "fake" || p.ID == "" || p.HourlyUSD != 0.5 {
		t.Errorf("place %+v", p)
	}
	d.SetTraits(func(tr *sandbox.Traits) { tr.Egress = false })
	if err := sb.(sandbox.Egress).Restrict(t.Context(), sandbox.Network{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without the trait: %v", err)
	}
}

// TestLaunchedProgram: a launched program sees the files and the network, runs on after
// Attach, and ends by Halt, its timeout, Close and Kill.
func TestLaunchedProgram(t *testing.T) {
	t.Parallel()
	d := fakesandbox.New(nil)
	var ended atomic.Int64
	d.SetProgram(func(ctx context.Context, c fakesandbox.Call) (sandbox.Result, error) {
		c.Edit(func(f fakesandbox.Files) { f["/tmp/socket"] = c.Network.Socket + c.Command.Shell })
		<-ctx.Done()
		ended.Add(1)
		return sandbox.Result{}, nil
	})
	spec := sandbox.Spec{Name: "a", Launch: true, Network: sandbox.Network{Socket: "/run/door"}}
	first, err := d.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: " x"}); err != nil {
		t.Fatal(err)
	}
	sb, err := d.Attach(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	l := sb.(sandbox.Launcher)
	if runs, err := l.Launched(t.Context()); !runs || err != nil {
		t.Errorf("after attach: %v, %v", runs, err)
	}
	if err := first.(sandbox.Launcher).Halt(t.Context()); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("halt by the old owner: %v", err)
	}
	if err := l.Halt(t.Context()); err != nil || ended.Load() != 1 {
		t.Errorf("halt: %v, %d ended", err, ended.Load())
	}
	r, err := sb.Get(t.Context(), "/tmp/socket")
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := io.ReadAll(r); string(data) != "/run/door x" {
		t.Errorf("the program wrote %q", data)
	}
	launch := func(c sandbox.Command) {
		t.Helper()
		if err := l.Launch(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	launch(sandbox.Command{Shell: "x", Timeout: time.Millisecond})
	for runs := true; runs; runs, _ = l.Launched(t.Context()) {
		runtime.Gosched()
	}
	launch(sandbox.Command{Shell: "x"})
	if err := sb.Close(t.Context()); err != nil || ended.Load() != 3 {
		t.Errorf("close: %v, %d ended", err, ended.Load())
	}
	sb, _ = d.Open(t.Context(), spec)
	l = sb.(sandbox.Launcher)
	launch(sandbox.Command{Shell: "x"})
	d.Kill("a")
	for ended.Load() != 4 {
		runtime.Gosched()
	}
	d.SetTraits(func(tr *sandbox.Traits) { tr.Launch, tr.Socket = false, false })
	if err := open(t, d, "b").(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: "x"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without the trait: %v", err)
	}
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "c", Network: spec.Network}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a socket without the trait: %v", err)
	}
}
