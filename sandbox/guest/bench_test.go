package guest_test

import (
	"bytes"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/test/machine"
)

// BenchmarkExec compares a command under its supervisor with the bare program.
func BenchmarkExec(b *testing.B) {
	m, err := machine.Start(machine.Options{Dir: b.TempDir() + "/m"})
	if err != nil {
		b.Skip(err)
	}
	defer func() { _ = m.Close() }()
	h := &held{m: m}
	f := &far{m: m, gone: &h.gone}
	box, err := guest.Open(b.Context(), f, guest.Options{Name: "it", Token: "t", User: machine.User, OOM: "vmstat"})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if _, err := f.Run(b.Context(), guest.Process{Argv: []string{"/bin/bash", "-c", "echo hi"}}, func(bool, []byte) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("launched", func(b *testing.B) {
		for b.Loop() {
			var out bytes.Buffer
			if _, err := box.Exec(b.Context(), sandbox.Command{Shell: "echo hi", Stdout: &out, Stderr: &out}); err != nil || out.Len() != 3 {
				b.Fatal(err)
			}
		}
	})
}
