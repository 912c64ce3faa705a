package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/solve"
)

// maxPeek is how many bytes are read of a file that tells how a repository is tested.
const maxPeek = 1 << 20

// CheckRepo checks the settings of the repository of a folder against the configuration, as
// they lie there, and yields what was found and what then holds. Nothing is run.
func (d *Doctor) CheckRepo(ctx context.Context, folder string) iter.Seq[Finding] {
	return inTurn(ctx, d.config, func(ctx context.Context) []Finding { return d.repository(ctx, folder) })
}

// repository checks the file, and tells what holds if it is right.
func (d *Doctor) repository(ctx context.Context, folder string) []Finding {
	bad := func(err error) []Finding { return []Finding{{Bad, "repository", err.Error(), ""}} }
	work, err := git.Local(ctx, folder)
	if err != nil {
		return bad(err)
	}
	root, err := os.OpenRoot(work.Root)
	if err != nil {
		return bad(err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	rules, found, ok := d.settings(root)
	if !ok {
		return found
	}
	paths, err := git.Files(ctx, work.Root)
	if err != nil {
		return bad(err)
	}
	setup, err := d.Solver.SetUp(rules.Settings, paths, func(p string) ([]byte, error) { return peek(root, p, maxPeek) })
	if err != nil {
		return append(found, Finding{Bad, "tests", err.Error(), "or set test.command in " + solve.RepoConfigFile})
	}
	test := setup.Test
	found = append(found,
		Finding{Good, "tests", fmt.Sprintf("%s (results: %s, from %s)", solve.OneLine(test.Command), test.Format, test.Source), ""},
		Finding{Good, "install", cmp.Or(solve.OneLine(setup.Install), "nothing"), ""})
	if setup.Untested != "" {
		found = append(found, Finding{Warn, "tests", setup.Untested, ""})
	}
	if setup.Install != "" {
		found = append(found, Finding{Good, "network", "during install: " + cmp.Or(strings.Join(setup.Hosts, ", "), "closed"), ""})
	}
	return append(found, describeRules(rules)...)
}

// settings reads the repository's own file. ok is false if it is wrong.
func (d *Doctor) settings(root *os.Root) (rules repoconfig.Rules, found []Finding, ok bool) {
	op := d.Operator
	const file = solve.RepoConfigFile
	data, err := peek(root, file, solve.MaxRepoConfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return op.Rules, []Finding{{Good, "settings", "no " + file + ": the configuration's own hold", ""}}, true
	case err != nil:
		return op.Rules, []Finding{{Bad, "settings", err.Error(), ""}}, false
	case !d.Solver.Repository.Read:
		return op.Rules, []Finding{{Warn, "settings", file + " is not read", "set solver.repository.read"}}, true
	}
	rules, problems := repoconfig.Read(file, data, op)
	for _, p := range problems {
		found = append(found, Finding{Bad, "settings", p.In(file), ""})
	}
	if len(problems) > 0 {
		return rules, found, false
	}
	return rules, []Finding{{Good, "settings", file, ""}}, true
}

// describeRules lists what holds beside commands and network.
func describeRules(rules repoconfig.Rules) []Finding {
	var profiles []string
	for _, name := range slices.Sorted(maps.Keys(rules.Profiles)) {
		if label := rules.Profiles[name].Label; label != "" {
			name += " (label " + label + ")"
		}
		profiles = append(profiles, name)
	}
	var found []Finding
	for _, line := range [][2]string{
		{"strategies", strings.Join(slices.Sorted(maps.Keys(rules.Strategies)), ", ")},
		{"profiles", strings.Join(profiles, ", ")},
		{"protected", strings.Join(rules.Settings.Patch.Protected, ", ")},
		{"sandbox", rules.Sandbox},
		{"stop", string(rules.Stop)},
	} {
		if line[1] != "" {
			found = append(found, Finding{Good, line[0], line[1], ""})
		}
	}
	return append(found, Finding{Good, "limits", limitsText(rules), ""})
}

// limitsText names the limits in the words of the file; what has no limit is left out.
func limitsText(rules repoconfig.Rules) string {
	l, day := rules.Limits, rules.Settings.Day
	var parts []string
	add := func(key string, isSet bool, value any) {
		if isSet {
			parts = append(parts, fmt.Sprint(key, " ", value))
		}
	}
	usd := func(m solve.Money) float64 { return float64(m) / 1e6 }
	add("run_time", l.RunTime > 0, repoconfig.FormatTime(l.RunTime))
	add("run_steps", l.RunSteps > 0, l.RunSteps)
	add("run_usd", l.RunMoney > 0, usd(l.RunMoney))
	add("solve_time", l.SolveTime > 0, repoconfig.FormatTime(l.SolveTime))
	add("solve_usd", l.SolveMoney > 0, usd(l.SolveMoney))
	add("parallel", l.Parallel > 0, l.Parallel)
	add("max_experiments", rules.MaxExperiments > 0, rules.MaxExperiments)
	add("solves_per_day", day.Solves > 0, day.Solves)
	add("usd_per_day", day.Money > 0, usd(day.Money))
	return strings.Join(parts, ", ")
}

// peek reads a file that may not be larger than most bytes. A link out of the repository is not followed.
func peek(root *os.Root, name string, most int) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file: %w", path.Clean(name), fs.ErrNotExist)
	}
	return io.ReadAll(io.LimitReader(f, int64(most)+1))
}
