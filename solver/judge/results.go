package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Results are the results of a verdict, test by test, for whoever judges the candidate again.
// A test that the verdict left out is [Flaky].
type Results struct {
	// Regression are those of the base's tests on the candidate's code.
	Regression map[string]Status `json:"regression,omitempty"`
	// Own are those with the candidate's own tests; none if it brings none.
	Own map[string]Status `json:"own,omitempty"`
}

// results are those of the verdict.
func (j *judging) results() Results {
	mark := func(tests map[string]Status) map[string]Status {
		out := maps.Clone(tests)
		for name := range out {
			if j.Base.Tests[name] == Flaky {
				out[name] = Flaky
			}
		}
		return out
	}
	return Results{mark(j.regression), mark(j.withOwn)}
}

// maxResults is how many bytes of results are stored: a bundle holds those of all candidates, whose tests choose the names.
const maxResults = 32 << 20

// Encode writes the results for the store; nothing if there are too many.
func (r Results) Encode() ([]byte, error) {
	data, err := json.Marshal(r)
	if len(data) > maxResults {
		data = nil
	}
	return data, err
}

// DecodeResults reads what Encode wrote.
func DecodeResults(data []byte) (Results, error) {
	var r Results
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("decode test results: %w", err)
	}
	return r, nil
}

// Difference is a test with one result there and another one here; "" is none.
type Difference struct {
	Test        string
	There, Here Status
}

// Differences compares the results of two runs of the tests, sorted by name. A test that is
// flaky in one of them or in unsteady, which are results on the base, counts in neither.
func Differences(there, here map[string]Status, unsteady ...map[string]Status) []Difference {
	unsteady = append(unsteady, there, here)
	all := maps.Clone(there)
	if all == nil {
		all = map[string]Status{}
	}
	maps.Copy(all, here)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		flaky := slices.ContainsFunc(unsteady, func(r map[string]Status) bool { return r[name] == Flaky })
		if !flaky && there[name] != here[name] {
			out = append(out, Difference{name, there[name], here[name]})
		}
	}
	return out
}
