package report

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/yudai-dev/yudai/solve"
)

// trackRecord tells what was known of the solve's arms when it was planned, "" if nothing.
func (v View) trackRecord() string {
	if len(v.Solve.Plan.Rates) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Track record, as it was when this solve was planned:\n")
	for _, r := range v.Solve.Plan.Rates {
		fmt.Fprintf(&b, "\n- %s: %s, %d %% expected", codeSpan(armText(r.Arm)), wonText(r), r.Percent())
	}
	return b.String() + "\n"
}

// TrackRecordText is the track record of a repository, for the terminal.
func TrackRecordText(rates []solve.Rate) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "Model, agent, strategy\tHere\tExpected\n")
	for _, r := range rates {
		fmt.Fprintf(w, "%s\t%s\t%d %%\n", solve.Clip(solve.OneLine(armText(r.Arm)), 100), wonText(r), r.Percent())
	}
	_ = w.Flush() // into memory
	return b.String()
}

func armText(a solve.Arm) string {
	var parts []string
	for _, part := range []string{a.Model, a.Agent, a.Strategy} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

// wonText is what is known of the repository's own candidates.
func wonText(r solve.Rate) string {
	if r.Known == 0 {
		return "none known here"
	}
	low, high := r.Interval()
	return fmt.Sprintf("won %d of %d here (%d %% to %d %%)", r.Won, r.Known, low, high)
}
