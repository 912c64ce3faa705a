package main

import (
	"testing"

	"github.com/yudai-dev/yudai/internal/failpoint"
)

func TestParseSpec(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]spec{
		"store.accept.before=kill@2":   {Name: "store.accept.before", Action: failpoint.Kill, Nth: 2},
		"sandbox.open.after=stop":      {Name: "sandbox.open.after", Action: failpoint.Stop, Nth: 1},
		"github.GET.app.before=stall@": {},
		"a=kill@0":                     {},
		"a=kill@x":                     {},
		"a=explode":                    {},
		"=kill":                        {},
		"a":                            {},
		"":                             {},
	} {
		got, err := parseSpec(text)
		if got != want || (err == nil) != (want.Nth > 0) {
			t.Errorf("parseSpec(%q) = %+v, %v", text, got, err)
		}
		if err != nil {
			continue
		}
		if again, err := parseSpec(got.String()); again != got || err != nil {
			t.Errorf("parseSpec(%q) = %+v, %v: not what was printed", got, again, err)
		}
	}
}
