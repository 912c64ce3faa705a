package prime_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/sandbox/prime"
)

// TestStartVectors compares our requests with those of the vendor's own encoder.
func TestStartVectors(t *testing.T) {
	t.Parallel()
	for want, frame := range map[string][]byte{
		"000000001c0a180a092f62696e2f6261736812022d6312076563686f2068692000": prime.Frame("/bin/bash", []string{"-c", "echo hi"}, nil, ""),
		"00000000280a240a092f62696e2f6261736812022d6312076563686f2068691a060a014112016222022f772000": prime.Frame(
			"/bin/bash", []string{"-c", "echo hi"}, map[string]string{"A": "b"}, "/w"),
	} {
		if got := hex.EncodeToString(frame); got != want {
			t.Errorf("encoded\n%s, want\n%s", got, want)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	data, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// vectors are frames of the vendor's own encoder, and what they say.
func vectors() map[string]prime.Event {
	return map[string]prime.Event{
		"00000000060a040a02082a":                                   {}, // start
		"00000000090a0712050a0368690a":                             {Stdout: "hi\n"},
		"00000000080a0612041202780a":                               {Stderr: "x\n"},
		"00000000150a131a1110011a0d65786974207374617475732030":     {Ended: true}, // the code is absent
		"00000000170a151a13080610011a0d65786974207374617475732033": {Ended: true, Code: 3},
		"00000000060a041a020801":                                   {Ended: true, Code: -1},
		"00000000040a022200":                                       {}, // keep-alive
		"00000000090a077205" + "0a0368690a":                        {}, // an event of another kind
		"00000000020801":                                           {}, // a field that we do not know
		"0000000000":                                               {},
	}
}

func TestEventVectors(t *testing.T) {
	t.Parallel()
	for frame, want := range vectors() {
		got, err := prime.Events(bytes.NewReader(unhex(t, frame+"02000000027b7d")))
		if err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %+v, %v, want %+v", frame, got, err, want)
		}
	}
}

func TestBrokenFrames(t *testing.T) {
	t.Parallel()
	for frame, want := range map[string]error{
		"":                       io.ErrUnexpectedEOF,
		"0000":                   io.ErrUnexpectedEOF,
		"0000000005":             io.ErrUnexpectedEOF,
		"000000000568":           io.ErrUnexpectedEOF,
		"00ffffffff":             nil, // four gigabytes, it claims
		"01000000020a00":         nil, // compressed
		"00000000020aff":         nil,
		"00000000030a0212ff":     nil,
		"00000000050a031a01ff00": nil,
	} {
		_, err := prime.Events(bytes.NewReader(unhex(t, frame)))
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", frame, err, want)
		}
	}
}

// FuzzEvents: whatever comes, reading ends, and what was read does not depend on the
// pieces in which it came.
func FuzzEvents(f *testing.F) {
	for frame := range vectors() {
		f.Add(unhex(f, frame))
	}
	f.Add(unhex(f, "00ffffffff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, err1 := prime.Events(bytes.NewReader(data))
		pieces, err2 := prime.Events(io.MultiReader(bytes.NewReader(data[:len(data)/2]), bytes.NewReader(data[len(data)/2:])))
		if d := cmp.Diff(whole, pieces); d != "" || (err1 == nil) != (err2 == nil) {
			t.Errorf("%v, %v: %s", err1, err2, d)
		}
	})
}

func TestTimes(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 11, 22, 5, 6, 7, 0, time.UTC)
	for _, text := range []string{`"2026-11-22T05:06:07Z"`, `"2026-11-22T05:06:07"`, `"2026-11-22 05:06:07"`, `"2026-11-22T06:06:07+01:00"`, `"2026-11-22T06:06:07.000+0100"`} {
		if got, err := prime.Instant(text); err != nil || !got.Equal(want) {
			t.Errorf("%s is read as %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`null`, `""`, `"soon"`, `5`, `{}`} {
		if got, err := prime.Instant(text); err != nil || !got.IsZero() {
			t.Errorf("%s is read as %v, %v", text, got, err)
		}
	}
}
