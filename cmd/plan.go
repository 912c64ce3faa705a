package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

func newPlan(s streams) *cobra.Command {
	p := &planned{streams: s}
	c := &cobra.Command{
		Use: "plan", Short: "Show the experiments of a request, or try them on published results",
		Long: "Show which experiments a request would make with this configuration, in which waves and within\n" +
			"which limits. With --simulate, replay a file of published results (docs/evidence/simulate.md) under that\n" +
			"plan and under simpler ones, and print how much would be solved and what it would cost.\n" +
			"Nothing is started, and no model is asked.",
		Args:    wants(0, "no arguments"),
		PreRunE: func(c *cobra.Command, _ []string) error { return usage(checkEmptyFlags(c)) },
	}
	f := c.Flags()
	f.StringVar(&p.req.Profile, "profile", "", "profile of the configuration")
	matrixFlags(f, &p.req)
	f.StringVar(&p.simulate, "simulate", "", "file of published results, CSV")
	return withConfig(c, p.run)
}

// planned is one `yudai plan`.
type planned struct {
	streams
	simulate string
	req      solve.Request
}

func (p *planned) run(_ context.Context, cfg server.Config, _ []string) error {
	if p.simulate != "" {
		return p.replay(cfg)
	}
	plan, err := cfg.Plan(p.req, os.Getenv)
	if err != nil {
		return usage(err)
	}
	return printPlan(p.out, plan)
}

// printPlan lists the experiments and what bounds them.
func printPlan(out io.Writer, plan solve.Plan) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tWAVE\tAGENT\tMODEL\tTEMPERATURE\tMAX EDITS\tSTRATEGY\tREPEAT")
	for i, x := range plan.Experiments {
		temperature, edits, wave := "-", "-", "-"
		if x.Temperature != nil {
			temperature = fmt.Sprintf("%g", *x.Temperature)
		}
		if x.MaxEdits > 0 {
			edits = fmt.Sprint(x.MaxEdits)
		}
		if x.Wave > 0 {
			wave = fmt.Sprint(x.Wave)
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", i+1, wave, x.Agent, x.Model, temperature, edits, x.Strategy, x.Repeat)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	l := plan.Limits
	fmt.Fprintf(out, "At most %s and %s for the solve, %s and %s for a run, %s at a time.\n",
		orNo(l.SolveMoney > 0, l.SolveMoney), orNo(l.SolveTime > 0, l.SolveTime), orNo(l.RunMoney > 0, l.RunMoney),
		orNo(l.RunTime > 0, l.RunTime), orNo(l.Parallel > 0, l.Parallel))
	for _, note := range plan.Notes {
		fmt.Fprintln(out, "Note:", note)
	}
	return nil
}

func orNo(set bool, value any) string {
	if !set {
		return "no limit"
	}
	return fmt.Sprint(value)
}

// maxResultsFile is how many bytes of results are read.
const maxResultsFile = 256 << 20

// replay tries the plan, and each of its models alone, on published results.
func (p *planned) replay(cfg server.Config) error {
	info, err := os.Stat(p.simulate)
	if err == nil && info.Size() > maxResultsFile {
		err = fmt.Errorf("%s has more than %d MiB", p.simulate, maxResultsFile>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(p.simulate)
	}
	if err != nil {
		return usage(fmt.Errorf("--simulate: %w", err))
	}
	results, err := solve.ReadResults(data)
	if err != nil {
		return usage(fmt.Errorf("--simulate %s: %w", p.simulate, err))
	}
	if len(p.req.Models) == 0 && !known(cfg.Solver.Defaults.Models, results.Models) {
		p.req.Models = results.Models
	}
	plan, err := cfg.PlanFor(p.req, results)
	if err != nil {
		return usage(err)
	}
	rows := []policy{{"this plan (stop=" + string(cmp.Or(plan.Stop, solve.StopAll)) + ")", plan}}
	if plan.Stop != solve.StopAll && plan.Stop != "" {
		all := plan
		all.Stop = solve.StopAll
		rows = append(rows, policy{"the same, all of it", all})
	}
	for _, m := range planModels(plan) {
		one := only(plan, m)
		n := len(one.Experiments)
		if n == len(plan.Experiments) {
			continue
		}
		times := "once"
		if n > 1 {
			times = fmt.Sprintf("%d times", n)
		}
		rows = append(rows, policy{m + " alone, " + times, one})
	}
	return p.table(rows, results, plan.Notes)
}

// policy is one row of the table.
type policy struct {
	name string
	plan solve.Plan
}

func (p *planned) table(rows []policy, results solve.Results, notes []string) error {
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POLICY\tSOLVED\tSHARE\tCOST\tPER SOLVED\tRUNS\tSTOPPED\tNOT STARTED\tTIME")
	for _, row := range rows {
		sum, err := solve.Simulate(row.plan, results)
		if err != nil {
			return usage(err)
		}
		each, took := "-", "-"
		if sum.Solved > 0 {
			each = fmt.Sprintf("$%.3f", float64(sum.Cost)/1e6/float64(sum.Solved))
		}
		if sum.Time > 0 {
			took = sum.Time.Round(time.Second).String()
		}
		fmt.Fprintf(w, "%s\t%d of %d\t%.1f %%\t$%.2f\t%s\t%d\t%d\t%d\t%s\n", row.name, sum.Solved, sum.Instances,
			100*sum.Share(), float64(sum.Cost)/1e6, each, sum.Runs, sum.Stopped, sum.Unneeded, took)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(p.out, "\nThe simulation takes every verdict for correct, and ignores strategy, max edits and agent.")
	for _, note := range notes {
		fmt.Fprintln(p.out, "Note:", note)
	}
	return nil
}

// known says whether all names are among the others.
func known(names, among []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(among, n) })
}

// planModels are the models of a plan, each once.
func planModels(plan solve.Plan) []string {
	var out []string
	for _, x := range plan.Experiments {
		if !slices.Contains(out, x.Model) {
			out = append(out, x.Model)
		}
	}
	return out
}

// only is the part of a plan with one model, all of it.
func only(plan solve.Plan, model string) solve.Plan {
	plan.Stop = solve.StopAll
	plan.Experiments = slices.DeleteFunc(slices.Clone(plan.Experiments), func(x solve.Experiment) bool { return x.Model != model })
	return plan
}

// matrixFlags are the axes of a request, and how it ends.
func matrixFlags(f *pflag.FlagSet, req *solve.Request) {
	f.StringSliceVar(&req.Models, "models", nil, "models of the matrix (default: solver.defaults.models)")
	f.Float64SliceVar(&req.Temps, "temps", nil, "temperatures of the matrix")
	f.IntSliceVar(&req.Edits, "edits", nil, "max edits of the matrix, 0 is no limit")
	f.StringSliceVar(&req.Strategies, "strategies", nil, "strategies of the matrix")
	f.StringSliceVar(&req.Agents, "agents", nil, "agents of the matrix (docs/agents.md)")
	f.IntVar(&req.Repeat, "repeat", 0, "how often each experiment runs")
	f.IntVar(&req.Parallel, "parallel", 0, "runs at a time")
	f.StringVar((*string)(&req.Stop), "stop", "", "when to stop: all, first_green or waves (default: solver.stop)")
}
