package solve

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// ModelsAuto stands for models in a request: the track records choose them.
const ModelsAuto = "auto"

// chance is the share of places that go to any model, so that each is heard of now and then.
const chance = 0.05

// Offer is a model that may be chosen.
type Offer struct {
	Rate   Rate   `json:"rate"`
	Vendor string `json:"vendor"`
	// Draw is a number drawn from the rate's distribution: the highest is chosen first.
	Draw float64 `json:"draw"`
	// Place is its place among the chosen, from 1; 0 if it was not chosen. Chance says that it got there by chance.
	Place  int  `json:"place,omitempty"`
	Chance bool `json:"chance,omitempty"`
}

// ModelChoice is how models=auto chose. The same seed chooses the same of the same offers.
type ModelChoice struct {
	Seed   uint32  `json:"seed"`
	Offers []Offer `json:"offers"`
}

// ChooseModels chooses models by Thompson sampling: each gets a number drawn from what is known of its rate, and the highest
// are chosen. So a good model is chosen often, and one of which little is known often enough to learn more. The last place goes
// to a second vendor if there is one: models of one vendor err alike.
func ChooseModels(offers []Offer, places int, seed uint32) ModelChoice {
	rnd := rand.New(rand.NewPCG(uint64(seed), 0)) //nolint:gosec // it has to be repeatable
	c := ModelChoice{Seed: seed, Offers: slices.Clone(offers)}
	for i := range c.Offers {
		c.Offers[i].Draw = drawBeta(rnd, c.Offers[i].Rate.Alpha, c.Offers[i].Rate.Beta)
	}
	slices.SortStableFunc(c.Offers, func(a, b Offer) int { return cmp.Compare(b.Draw, a.Draw) })
	places = min(places, len(offers))
	for place := 1; place <= places; place++ {
		left := c.left(place == places && place > 1)
		at, byChance := 0, rnd.Float64() < chance
		if byChance {
			at = rnd.IntN(len(left))
		}
		c.Offers[left[at]].Place, c.Offers[left[at]].Chance = place, byChance
	}
	return c
}

// left are the offers that were not chosen yet; for the last place those of a second vendor, if all chosen ones are of one.
func (c ModelChoice) left(last bool) (all []int) {
	var others []int
	vendors := map[string]bool{}
	for _, o := range c.Offers {
		if o.Place > 0 {
			vendors[o.Vendor] = true
		}
	}
	for i, o := range c.Offers {
		if o.Place > 0 {
			continue
		}
		all = append(all, i)
		if !vendors[o.Vendor] {
			others = append(others, i)
		}
	}
	if last && len(vendors) == 1 && len(others) > 0 {
		return others
	}
	return all
}

// Models are the chosen ones in their order.
func (c ModelChoice) Models() []string {
	chosen := slices.DeleteFunc(slices.Clone(c.Offers), func(o Offer) bool { return o.Place == 0 })
	slices.SortFunc(chosen, func(a, b Offer) int { return cmp.Compare(a.Place, b.Place) })
	var out []string
	for _, o := range chosen {
		out = append(out, o.Rate.Arm.Model)
	}
	return out
}

// drawBeta draws from a Beta distribution.
func drawBeta(rnd *rand.Rand, alpha, beta float64) float64 {
	a, b := drawGamma(rnd, alpha), drawGamma(rnd, beta)
	return a / (a + b)
}

// drawGamma draws from a Gamma distribution of scale 1 (Marsaglia and Tsang, 2000).
func drawGamma(rnd *rand.Rand, shape float64) float64 {
	if shape < 1 {
		return drawGamma(rnd, shape+1) * math.Pow(1-rnd.Float64(), 1/shape)
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := rnd.NormFloat64()
		v := (1 + c*x) * (1 + c*x) * (1 + c*x)
		if v > 0 && math.Log(1-rnd.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
