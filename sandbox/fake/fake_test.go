package fake_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/fake"
	"github.com/yudai-dev/yudai/sandbox/sandboxtest"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	sandboxtest.Run(t, sandboxtest.Harness{Driver: fake.New(nil)})
}

func open(t *testing.T, d *fake.Driver, name string) sandbox.Sandbox {
	t.Helper()
	sb, err := d.Open(t.Context(), sandbox.Spec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return sb
}

func TestTableAnswersWritesAndLimits(t *testing.T) {
	t.Parallel()
	d := fake.New(fake.Table(
		fake.Entry{Match: "go test", Stdout: "FAIL\n", Stderr: "boom\n", Result: sandbox.Result{ExitCode: 1}, Write: fake.Files{"/tmp/report": "r"}},
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
	d := fake.New(nil)
	sb := open(t, d, "a")
	d.SetFault(func(op fake.Op, name string) error {
		if op == fake.OpExec && name == "a" {
			return broken
		}
		return nil
	})
	if _, err := sb.Exec(t.Context(), sandbox.Command{Shell: "x"}); !errors.Is(err, broken) {
		t.Errorf("exec: %v, want the fault", err)
	}
	_ = open(t, d, "b").Close(t.Context())
	if d.Count(fake.OpOpen) != 2 || d.MostOpen() != 2 || len(d.OpenNames()) != 1 {
		t.Errorf("opened %d, most %d, open now %q", d.Count(fake.OpOpen), d.MostOpen(), d.OpenNames())
	}
}

func TestTimeoutCancelAndCloseEndTheAnswer(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 3)
	d := fake.New(func(ctx context.Context, _ fake.Call) (sandbox.Result, error) {
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
