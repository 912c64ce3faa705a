package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/git"
	"github.com/yudai-dev/yudai/server"
)

// aRun is the arguments of a command about one run.
const aRun = aSolve + ", and the number of a run (without it, the champion)"

// runOf reads which run is meant, the champion where none is named.
func (a asker) runOf(ctx context.Context, args []string) (p server.RunPatch, err error) {
	st, err := a.at.Status(ctx, args[0])
	if err != nil {
		return p, err
	}
	p, err = st.RunOf(append(args, "")[1])
	return p, usage(err)
}

// patchOf asks for the patch of the run that is meant.
func (a asker) patchOf(ctx context.Context, args []string) (server.RunPatch, error) {
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
