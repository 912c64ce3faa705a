package solve_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

func offer(model, vendor string, right, wrong float64) solve.Offer {
	return solve.Offer{Rate: solve.Rate{Arm: solve.Arm{Model: model}, Alpha: right, Beta: wrong}, Vendor: vendor}
}

// TestChooseModels counts over many seeds who is chosen.
func TestChooseModels(t *testing.T) {
	t.Parallel()
	offers := []solve.Offer{
		offer("bad", "x", 2, 30), offer("good", "x", 30, 10), offer("better", "x", 36, 4), offer("other", "y", 10, 30), offer("new", "x", 4, 4),
	}
	const seeds = 2000
	chosen, byChance, first := map[string]int{}, 0, 0
	for seed := range uint32(seeds) {
		c := solve.ChooseModels(offers, 2, seed)
		if diff := cmp.Diff(c, solve.ChooseModels(offers, 2, seed)); diff != "" {
			t.Fatalf("seed %d chooses twice:\n%s", seed, diff)
		}
		models, vendors := c.Models(), map[string]bool{}
		for _, o := range c.Offers {
			if o.Place > 0 {
				vendors[o.Vendor] = true
				chosen[o.Rate.Arm.Model]++
			}
			if o.Chance {
				byChance++
			}
		}
		if len(models) != 2 || len(vendors) != 2 {
			t.Fatalf("seed %d chose %q", seed, models)
		}
		if models[0] == "better" {
			first++
		}
	}
	if share := float64(byChance) / (2 * seeds); share < 0.04 || share > 0.06 {
		t.Errorf("%.3f of the places were given by chance, want about 0.05", share)
	}
	if chosen["other"] < seeds*9/10 || chosen["better"] < chosen["good"] || chosen["good"] < chosen["new"] || chosen["new"] < 20 {
		t.Errorf("chosen %v", chosen)
	}
	if chosen["bad"] == 0 || chosen["bad"] > seeds*3/100 || first < seeds/2 {
		t.Errorf("bad was chosen %d times, better first %d times of %d", chosen["bad"], first, seeds)
	}
}

func TestChooseModelsOfFew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		offers []solve.Offer
		places int
		want   int
	}{
		"none":                   {nil, 2, 0},
		"fewer than places":      {[]solve.Offer{offer("a", "x", 0.1, 7.9)}, 2, 1},
		"one vendor":             {[]solve.Offer{offer("a", "x", 4, 4), offer("b", "x", 4, 4), offer("c", "x", 4, 4)}, 2, 2},
		"one place, two vendors": {[]solve.Offer{offer("a", "x", 4, 4), offer("b", "y", 4, 4)}, 1, 1},
	} {
		got := solve.ChooseModels(c.offers, c.places, 1).Models()
		if len(got) != c.want || len(slices.Compact(slices.Sorted(slices.Values(got)))) != c.want {
			t.Errorf("%s: chose %q", name, got)
		}
	}
}
