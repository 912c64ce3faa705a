package solve_test

import (
	"math"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

func TestMoney(t *testing.T) {
	t.Parallel()
	for m, want := range map[solve.Money]string{
		0: "$0", 1: "<$0.0001", 49: "<$0.0001", 50: "$0.0001", 12_300: "$0.0123", 12_349: "$0.0123", 12_350: "$0.0124",
		999_999: "$0.9999", 1_000_000: "$1.00", 1_234_567: "$1.23", 1_235_000: "$1.24", -12_300: "-$0.0123",
		math.MaxInt64: "$9223372036854.78", math.MinInt64: "-$9223372036854.78",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(m), got, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "did not run", -time.Second: "did not run", time.Millisecond: "<0.1s", 50 * time.Millisecond: "0.1s", 1240 * time.Millisecond: "1.2s",
		9949 * time.Millisecond: "9.9s", 9950 * time.Millisecond: "10s", 59*time.Second + 500*time.Millisecond: "1m 0s", 72 * time.Second: "1m 12s",
		time.Hour: "1h 0m", 2*time.Hour + 5*time.Minute + 59*time.Second: "2h 5m",
	} {
		if got := solve.FormatDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestCutText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    string
		limit int
		want  string
	}{
		"fits":                  {"Zürich", 7, "Zürich"},
		"between characters":    {"Zürich", 3, "Zü"},
		"inside a character":    {"Zürich", 2, "Z"},
		"inside the first":      {"日本", 2, ""},
		"inside a wide one":     {"a😀b", 4, "a"},
		"after a wide one":      {"a😀b", 5, "a😀"},
		"no room":               {"abc", 0, ""},
		"less than no room":     {"abc", -1, ""},
		"empty":                 {"", 0, ""},
		"what is no character":  {"a\xff\xffb", 2, "a\xff"},
		"only ends, none begin": {"\x80\x80\x80", 2, ""},
	} {
		if got := solve.CutText(c.in, c.limit); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
