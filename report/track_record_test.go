package report_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

func rates() []solve.Rate {
	return []solve.Rate{
		{Arm: solve.Arm{Model: "gpt-5-mini", Agent: "mini", Strategy: "plain"}, Alpha: 9, Beta: 11, Won: 7, Known: 19},
		{Arm: solve.Arm{Model: "new`model"}, Alpha: 4, Beta: 4},
	}
}

// TestWhyTellsTheTrackRecord, with and without a champion, and says nothing of it where none was used.
func TestWhyTellsTheTrackRecord(t *testing.T) {
	t.Parallel()
	const known = "- `gpt-5-mini, mini, plain`: won 7 of 19 here (19 % to 59 %), 45 % expected\n- ``new`model``: none known here, 50 % expected"
	for _, champion := range []bool{true, false} {
		v := picked()
		if !champion {
			v.Solve.State, v.Solve.Decision = solve.StateUnsolved, &solve.Decision{}
		}
		if text := report.WhyText(v); strings.Contains(text, "rack record") {
			t.Errorf("champion %v, no record: %s", champion, text)
		}
		v.Solve.Plan.Rates = rates()
		if text := report.WhyText(v); !strings.Contains(text, known) {
			t.Errorf("champion %v: %s", champion, text)
		}
	}
}

func TestTrackRecordText(t *testing.T) {
	t.Parallel()
	want := `Model, agent, strategy   Here                          Expected
gpt-5-mini, mini, plain  won 7 of 19 here (19 % to 59 %)  45 %
` + "new`model                none known here               50 %\n"
	if got := report.TrackRecordText(rates()); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got:\n%s", got)
	}
}
