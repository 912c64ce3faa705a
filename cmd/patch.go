package cmd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/solve"
)

// aRun is the arguments of a command about one run.
const aRun = aSolve + ", and the number of a run (without it, the champion)"

// runPatch is the patch of a run, and what it was made from.
type runPatch struct {
	Solve  string `json:"solve_id"`
	Run    int    `json:"run"`
	Branch string `json:"base_branch"`
	Base   string `json:"base_sha"`
	Patch  string `json:"patch"`
}

// runOf reads which run is meant, the champion where none is named.
func (a asker) runOf(ctx context.Context, args []string) (p runPatch, err error) {
	st, err := a.at.Status(ctx, args[0])
	if err != nil {
		return p, err
	}
	t := st.Told
	p = runPatch{Solve: t.SolveID, Run: t.Champion, Branch: t.BaseBranch, Base: t.BaseSHA}
	switch {
	case len(args) > 1:
		if p.Run, err = strconv.Atoi(args[1]); err != nil || p.Run < 1 || p.Run > len(t.Experiments) {
			return p, usage(fmt.Errorf("%q is no run: the solve is %s and has %s", args[1], t.State, solve.Count(len(t.Experiments), "run")))
		}
	case p.Run == 0:
		return p, usage(errors.New("the solve has no champion: name a run; `yudai status` lists them"))
	}
	return p, nil
}

// patchOf asks for the patch of the run that is meant.
func (a asker) patchOf(ctx context.Context, args []string) (runPatch, error) {
	p, err := a.runOf(ctx, args)
	if err != nil {
		return p, err
	}
	text, err := a.at.Patch(ctx, p.Solve, p.Run)
	p.Patch = string(text)
	return p, err
}

func newDiff(s streams) *cobra.Command {
	c := &cobra.Command{Use: "diff SOLVE [RUN]", Short: "Print the patch of a run, or of the champion", Args: wantsRun}
	return withSolve(s, c, func(ctx context.Context, a asker, args []string) error {
		p, err := a.patchOf(ctx, args)
		switch {
		case err != nil:
			return err
		case a.json:
			return printJSON(a.out, "  ", p)
		}
		return printForeign(a.out, p.Patch, true)
	})
}

func newApply(s streams) *cobra.Command {
	c := &cobra.Command{
		Use: "apply SOLVE [RUN]", Short: "Apply the patch of a run, or of the champion, to the repository here", Args: wantsRun,
		Long: "Apply the patch of a run, or of the champion, to the git repository that one stands in: work tree and\n" +
			"index, without a commit. What is not committed there is never touched: the command wants a clean tree.",
	}
	return withSolve(s, c, func(ctx context.Context, a asker, args []string) error {
		here, err := git.Local(ctx, ".")
		if err != nil {
			return usage(err)
		}
		p, err := a.patchOf(ctx, args)
		if err != nil {
			return err
		}
		from := fmt.Sprintf("run %d was made from %s at %s", p.Run, p.Branch, p.Base)
		err = git.Apply(ctx, here.Root, []byte(p.Patch))
		switch {
		case errors.Is(err, git.ErrPatch):
			return fmt.Errorf("%w; %s, here is %s: git switch --detach %s goes there", err, from, here.SHA, p.Base)
		case err != nil:
			return err
		case a.json:
			return printJSON(a.out, "  ", p)
		}
		_, err = fmt.Fprintf(a.out, "applied and staged in %s: `git diff --cached` shows it, `git reset --hard` takes it back; %s\n",
			here.Root, from)
		return err
	})
}

// wantsRun checks that there are a solve and at most a run.
func wantsRun(c *cobra.Command, args []string) error {
	return wants(max(1, min(len(args), 2)), aRun)(c, args)
}
