package solve

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Dollars is an amount of US dollars, as the API tells it.
func Dollars(usd float64) Money { return Money(math.Round(usd * 1e6)) }

// String is the amount in dollars, with four decimals below a dollar, where
// model calls cost fractions of a cent, and two from there on.
func (m Money) String() string {
	sign, abs := "", uint64(m)
	if m < 0 {
		sign, abs = "-", -uint64(m)
	}
	switch {
	case abs == 0:
		return "$0"
	case abs < 50:
		return sign + "<$0.0001"
	case abs < 1_000_000:
		return fmt.Sprintf("%s$0.%04d", sign, min((abs+50)/100, 9999))
	default:
		cents := (abs + 5_000) / 10_000
		return fmt.Sprintf("%s$%d.%02d", sign, cents/100, cents%100)
	}
}

// FormatDuration is a duration for people: "0.4s", "12s", "1m 12s", "2h 5m", "did not run" for none.
func FormatDuration(d time.Duration) string {
	switch {
	case d <= 0:
		return "did not run"
	case d < 50*time.Millisecond:
		return "<0.1s"
	case d < 9950*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	s := int64((d + time.Second/2) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh %dm", s/3600, s%3600/60)
	}
}

// Words is what became of the run, as people read it.
func (r Run) Words() string {
	switch {
	case r.NotNeeded && r.Attempt == 0:
		return "not needed"
	case r.NotNeeded:
		return "stopped"
	}
	return r.State.Words()
}

// Words is the state as people read it.
func (s RunState) Words() string {
	switch s {
	case RunNoVerdict:
		return "no verdict"
	case RunEmpty:
		return "no change"
	case RunTimedOut:
		return "timed out"
	default:
		return string(s)
	}
}

// TemperatureText is a temperature for people; "none" where none is sent.
func TemperatureText(t *float64) string {
	if t == nil {
		return "none"
	}
	return formatTemp(*t)
}

// Count is a number with its noun: "1 file", "2 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Clip shortens a text to at most n runes, with an ellipsis.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRightFunc(string([]rune(s)[:n-1]), unicode.IsSpace) + "…"
}

// OneLine makes a foreign text one line of visible, valid characters.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(Visible(s), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

func formatTemp(t float64) string { return strconv.FormatFloat(t, 'f', -1, 64) }

// CutText shortens a text to at most limit bytes without breaking a character.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// ListWords names at most n of the words and how many more there are.
func ListWords(words []string, n int) string {
	if len(words) <= n {
		return strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:n], ", "), len(words)-n)
}
