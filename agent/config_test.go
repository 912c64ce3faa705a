package agent_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	problems := func(c agent.Config) map[string]bool {
		got := map[string]bool{}
		c.Validate(func(key, problem string) { got[key] = problem != "" })
		return got
	}
	if got := problems(agent.DefaultConfig()); len(got) != 0 {
		t.Errorf("the defaults are refused: %v", got)
	}
	got := problems(agent.Config{Mode: "shout", MaxFormatErrors: -1, KeepOutput: -1})
	if diff := cmp.Diff(map[string]bool{"mode": true, "max_format_errors": true, "keep_output": true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPrice(t *testing.T) {
	t.Parallel()
	full := agent.Price{Input: 3, CachedInput: 0.3, CacheWrite: 3.75, Output: 15}
	for _, c := range []struct {
		name  string
		price agent.Price
		used  agent.Tokens
		want  solve.Usage
	}{
		{"classes", full, agent.Tokens{Input: 1000, CacheRead: 10_000, CacheWrite: 100, Output: 10},
			solve.Usage{Calls: 1, Input: 11_100, CachedRead: 10_000, Output: 10, Cost: 3000 + 3000 + 375 + 150}},
		{"a million tokens cost the price", agent.Price{Input: 2.5}, agent.Tokens{Input: 1_000_000},
			solve.Usage{Calls: 1, Input: 1_000_000, Cost: 2_500_000}},
		{"rounded down", agent.Price{Output: 0.1}, agent.Tokens{Output: 4}, solve.Usage{Calls: 1, Output: 4, Cost: 0}},
		{"rounded up", agent.Price{Output: 0.1}, agent.Tokens{Output: 5}, solve.Usage{Calls: 1, Output: 5, Cost: 1}},
		{"rounded once, not per class", agent.Price{Input: 0.3, Output: 0.3}, agent.Tokens{Input: 1, Output: 1},
			solve.Usage{Calls: 1, Input: 1, Output: 1, Cost: 1}},
		{"cache prices not given", agent.Price{Input: 4, Output: 8}, agent.Tokens{CacheRead: 100, CacheWrite: 100},
			solve.Usage{Calls: 1, Input: 200, CachedRead: 100, Cost: 400 + 500}},
		{"unknown price", agent.Price{}, agent.Tokens{Input: 1e6, Output: 1e6}, solve.Usage{Calls: 1, Input: 1e6, Output: 1e6}},
		{"negative tokens", full, agent.Tokens{Input: -5, Output: -5}, solve.Usage{Calls: 1}},
		{"nonsense is bounded", full, agent.Tokens{Output: math.MaxInt64 / 8},
			solve.Usage{Calls: 1, Output: math.MaxInt64 / 8, Cost: 1_000_000_000_000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.price.Usage(c.used)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if (agent.Price{}).Known() || !full.Known() {
		t.Error("Known")
	}
	bad := map[string]bool{}
	agent.Price{Input: -1, Output: math.NaN()}.Validate("price", func(key, _ string) { bad[key] = true })
	if diff := cmp.Diff(map[string]bool{"price.input": true, "price.output": true}, bad); diff != "" {
		t.Error(diff)
	}
}
