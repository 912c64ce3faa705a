package docker_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/moby/moby/api/pkg/stdcopy"

	"github.com/yudai-dev/yudai/sandbox/docker"
)

// stream is what an engine sends: frames of both streams, one longer than any buffer.
func stream() (raw []byte, ends []int, want [2]string) {
	for i, data := range []string{"one", "", "two", strings.Repeat("x", 70_000), "three"} {
		kind := byte(stdcopy.Stdout) + byte(i%2)
		n := len(data)
		raw = append(raw, kind, 0, 0, 0, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		raw = append(raw, data...)
		ends, want[i%2] = append(ends, len(raw)), want[i%2]+data
	}
	return raw, ends, want
}

// TestStreamCutAnywhere: an end between two frames is one; an end within a frame is an error.
func TestStreamCutAnywhere(t *testing.T) {
	t.Parallel()
	raw, ends, want := stream()
	whole := map[int]bool{0: true}
	for _, n := range ends {
		whole[n] = true
	}
	for cut := 0; cut <= len(raw); cut++ {
		if cut > 200 && cut < len(raw)-200 && cut%997 != 0 {
			continue
		}
		var got [2]bytes.Buffer
		err := docker.Demultiplex(bytes.NewReader(raw[:cut]), func(stderr bool, data []byte) {
			i := 0
			if stderr {
				i = 1
			}
			got[i].Write(data)
		})
		if (err == nil) != whole[cut] {
			t.Errorf("cut at %d: %v", cut, err)
		}
		if !strings.HasPrefix(want[0], got[0].String()) || !strings.HasPrefix(want[1], got[1].String()) || cut == len(raw) && got[0].String() != want[0] {
			t.Errorf("cut at %d: %d and %d bytes", cut, got[0].Len(), got[1].Len())
		}
	}
}

// FuzzStream: nothing that an engine sends breaks the reader, and what it passes on came.
func FuzzStream(f *testing.F) {
	raw, _, _ := stream()
	f.Add(raw[:40])
	f.Add([]byte{3, 0, 0, 0, 0, 0, 0, 5, 'e', 'r', 'r', 'o', 'r'})
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255, 'x'})
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := 0
		_ = docker.Demultiplex(bytes.NewReader(raw), func(_ bool, data []byte) { n += len(data) })
		if n > len(raw) {
			t.Errorf("%d bytes out of %d", n, len(raw))
		}
	})
}
