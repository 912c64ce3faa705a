package local_test

import (
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/local"
)

// bench returns a driver and a base with a few files.
func bench(b *testing.B) (*local.Driver, string) {
	b.Helper()
	c := local.DefaultConfig()
	c.Dir, c.AllowUnlimited = b.TempDir(), true
	d, err := local.New(c, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	sb, err := d.Open(b.Context(), sandbox.Spec{Name: "base"})
	if err != nil {
		b.Skip(err)
	}
	base, err := d.Freeze(b.Context(), sb)
	if err != nil {
		b.Fatal(err)
	}
	return d, base
}

// BenchmarkExec is one command in an open sandbox.
func BenchmarkExec(b *testing.B) {
	d, base := bench(b)
	sb, err := d.Open(b.Context(), sandbox.Spec{Name: "one", From: base})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = sb.Close(b.Context()) }()
	for b.Loop() {
		if _, err := sb.Exec(b.Context(), sandbox.Command{Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFork opens and closes a fork without a command.
func BenchmarkFork(b *testing.B) {
	d, base := bench(b)
	for n := 0; b.Loop(); n++ {
		sb, err := d.Open(b.Context(), sandbox.Spec{Name: fmt.Sprint("fork-", n), From: base})
		if err != nil {
			b.Fatal(err)
		}
		if err := sb.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
