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
