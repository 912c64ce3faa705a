package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// cells are one row of the table of runs, as plain, unsafe text.
func (v View) cells(r solve.Run) []string {
	files, lines := "", ""
	if c := r.Candidate; c != nil {
		files, lines = strconv.Itoa(len(c.Files)), fmt.Sprintf("+%d -%d", c.Added, c.Deleted)
	}
	tests := ""
	if r.Verdict != nil {
		tests = testsText(r)
	}
	out := []string{strconv.Itoa(r.N)}
	if v.severalWaves() {
		out = append(out, waveText(r.Experiment.Wave))
	}
	if v.severalAgents() {
		out = append(out, r.Experiment.Agent)
	}
	out = append(out, r.Experiment.Model, solve.TemperatureText(r.Experiment.Temperature), r.Experiment.Strategy)
	if v.repeated() {
		out = append(out, strconv.Itoa(r.Experiment.Repeat))
	}
	out = append(out, v.stateText(r))
	if !v.Solve.State.Final() {
		out = append(out, strconv.Itoa(r.Progress.Steps))
	}
	return append(out, tests, files, lines, v.latency(r), v.price(r), v.whyNot(r))
}

// columns are those of the table; of the waves, the agents and the repeats only if there are several, and of the
// steps while the solve lives.
func (v View) columns() []string {
	out := []string{"Run"}
	if v.severalWaves() {
		out = append(out, "Wave")
	}
	if v.severalAgents() {
		out = append(out, "Agent")
	}
	out = append(out, "Model", "Temp", "Strategy")
	if v.repeated() {
		out = append(out, "Repeat")
	}
	out = append(out, "State")
	if !v.Solve.State.Final() {
		out = append(out, "Steps")
	}
	return append(out, "Tests", "Files", "Lines", "Latency", "Cost", "Why not")
}

// severalWaves says whether the plan has more than one wave.
func (v View) severalWaves() bool { return v.Solve.Plan.Waves() > 1 }

// severalAgents says whether the plan has more than one agent.
func (v View) severalAgents() bool {
	all := v.Solve.Plan.Experiments
	return slices.ContainsFunc(all, func(x solve.Experiment) bool { return x.Agent != all[0].Agent })
}

// repeated says whether an experiment runs more than once.
func (v View) repeated() bool {
	return slices.ContainsFunc(v.Solve.Plan.Experiments, func(x solve.Experiment) bool { return x.Repeat > 1 })
}

func waveText(wave int) string {
	if wave == 0 {
		return ""
	}
	return strconv.Itoa(wave)
}

// runsTable is the table of all runs in Markdown.
func (v View) runsTable() string {
	if len(v.Runs) == 0 {
		return ""
	}
	var b strings.Builder
	names := v.columns()
	state := slices.Index(names, "State")
	row(&b, names)
	row(&b, slices.Repeat([]string{"---"}, len(names)))
	for _, r := range v.runs() {
		cells := v.cells(r)
		for i, c := range cells {
			switch names[i] {
			case "Agent", "Model", "Strategy":
				if c != "" {
					cells[i] = codeCell(solve.Clip(c, 60))
				}
			case "Why not":
				cells[i] = Sanitize(solve.Clip(c, 160))
			}
		}
		if cells[state] == "champion" {
			cells[0], cells[state] = "**"+cells[0]+"**", "**champion**"
		}
		row(&b, cells)
	}
	return b.String()
}

// row writes one row of a table; the cells are safe Markdown.
func row(b *strings.Builder, cells []string) {
	b.WriteString("|")
	for _, c := range cells {
		b.WriteString(" " + c + " |")
	}
	b.WriteString("\n")
}
