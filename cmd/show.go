package cmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

func newShow(s streams) *cobra.Command {
	c := &cobra.Command{
		Use: "show SOLVE", Short: "Show the scorecard of a solve, and why its champion won", Args: wants(1, aSolve),
		Long: "Show the scorecard of a solve, and why its champion won. --json prints the record, which\n" +
			"`yudai reduce --explain` recomputes the decision from.",
	}
	return withSolve(s, c, func(ctx context.Context, a asker, args []string) error {
		rec, raw, err := a.at.Record(ctx, args[0])
		switch {
		case err != nil:
			return err
		case a.json:
			return printJSON(a.out, "  ", raw)
		}
		on := rec.Solve
		fmt.Fprintf(a.out, "%s#%d: %s\nsolve %s, asked for at %s\n", on.Repo, on.Issue.Number, solve.OneLine(on.Issue.Title), on.ID,
			on.Created.Local().Format("2006-01-02 15:04"))
		if on.Pull != nil {
			fmt.Fprintf(a.out, "pull request #%d: %s\n", on.Pull.Number, on.Pull.URL)
		}
		_, err = fmt.Fprintf(a.out, "\n%s", scorecard(a, rec))
		return err
	})
}

// scorecard is how the runs of a solve compare, as wide as the terminal.
func scorecard(a asker, rec solve.Record) string {
	return report.Console(report.View{Solve: rec.Solve, Runs: rec.Runs}, columns(a.out))
}

func newOpen(s streams) *cobra.Command {
	c := &cobra.Command{
		Use: "open SOLVE", Short: "Open the page of a solve in the browser", Args: wants(1, aSolve),
		Long: "Print the address of the page of a solve and open it: with $BROWSER, else with xdg-open where there is\n" +
			"a desktop. The page asks who does not have a session to sign in. --json only prints.",
	}
	return withSolve(s, c, func(ctx context.Context, a asker, args []string) error {
		st, err := a.at.Status(ctx, args[0])
		if err != nil {
			return err
		}
		page := a.at.Page("/solves/" + st.Told.SolveID)
		if a.json {
			return printJSON(a.out, "  ", map[string]string{"url": page})
		}
		fmt.Fprintln(a.out, page)
		program := browserOf(os.Getenv("BROWSER"), page)
		if len(program) == 0 && os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") != "" {
			program = []string{"xdg-open", page}
		}
		if len(program) == 0 {
			fmt.Fprintln(a.err, "no browser is known here (BROWSER is not set, and there is no desktop): open the address yourself")
			return nil
		}
		browser := exec.Command(program[0], program[1:]...) //nolint:gosec,noctx // the person's own, which outlives this command
		browser.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := browser.Start(); err != nil {
			return fmt.Errorf("open the page (set BROWSER to another program): %w", err)
		}
		return nil
	})
}

// browserOf is the first command of BROWSER's list, with the page in the place of %s, else at the end.
func browserOf(list, page string) []string {
	first, _, _ := strings.Cut(strings.TrimLeft(list, ":"), ":")
	words := strings.Fields(first)
	if len(words) > 0 && !strings.Contains(first, "%s") {
		words = append(words, "%s")
	}
	for i := range words {
		words[i] = strings.NewReplacer("%s", page, "%%", "%").Replace(words[i])
	}
	return words
}
