package agent

import (
	"math"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/solve"
)

// Price of a model in US dollars per million tokens. The zero Price means
// unknown: calls then cost nothing in our books, and no money limit stops them.
type Price struct {
	// Input tokens that were not cached.
	Input float64 `yaml:"input" json:"input"`
	// Tokens read from the provider's cache; 0 is the price of input.
	CachedInput float64 `yaml:"cached_input" json:"cached_input"`
	// Tokens written to the cache; 0 is 1.25 times input.
	CacheWrite float64 `yaml:"cache_write" json:"cache_write"`
	// Tokens of the reply.
	Output float64 `yaml:"output" json:"output"`
}

// Tokens of one call, in four disjoint classes.
type Tokens struct {
	Input      int64 // neither read from nor written to the cache
	CacheRead  int64
	CacheWrite int64
	Output     int64
}

// maxCost bounds what one call can cost in our books (a million dollars), so
// that a server's nonsense cannot overflow a sum.
const maxCost = 1e12

// maxPrice is the highest price that is taken for one, in dollars per million tokens.
const maxPrice = 1e6

// Known reports whether the price meters anything.
func (p Price) Known() bool { return p.Input > 0 || p.Output > 0 }

// Usage is the usage of one call: Input counts all tokens sent, cached or not.
// The cost is rounded once, to the nearest millionth of a dollar.
func (p Price) Usage(t Tokens) solve.Usage {
	t = Tokens{Input: max(t.Input, 0), CacheRead: max(t.CacheRead, 0), CacheWrite: max(t.CacheWrite, 0), Output: max(t.Output, 0)}
	return solve.Usage{
		Calls:      1,
		Input:      t.Input + t.CacheRead + t.CacheWrite,
		CachedRead: t.CacheRead,
		Output:     t.Output,
		Cost:       p.cost(t),
	}
}

// cost: dollars per million tokens times tokens are millionths of a dollar.
func (p Price) cost(t Tokens) solve.Money {
	read, write := p.CachedInput, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = 1.25 * p.Input
	}
	sum := float64(t.Input)*p.Input + float64(t.CacheRead)*read + float64(t.CacheWrite)*write + float64(t.Output)*p.Output
	return solve.Money(math.Round(min(max(sum, 0), maxCost)))
}

// Validate reports prices that are none under the given key.
func (p Price) Validate(key string, report setting.Report) {
	for _, f := range []struct {
		name  string
		value float64
	}{{"input", p.Input}, {"cached_input", p.CachedInput}, {"cache_write", p.CacheWrite}, {"output", p.Output}} {
		fine := f.value >= 0 && f.value <= maxPrice // false for NaN
		report.Unless(fine, key+"."+f.name, "must be a price in US dollars per million tokens, 0 to 1000000")
	}
}
