package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

// runLog is the log of a run while it is printed.
type runLog struct {
	asker
	run           server.RunPatch
	name          string
	follow        bool
	next, attempt int // the line that is printed next, of which attempt
}

func newLogs(s streams) *cobra.Command {
	l := runLog{}
	c := &cobra.Command{
		Use: "logs SOLVE [RUN]", Short: "Print the log of a run, or of the champion", Args: wantsRun,
		Long: "Print the commands of a run's agent and what they printed, or with --log tests what its candidate's tests\n" +
			"printed. --follow goes on until the run has ended. --json prints a line of JSON for each line of the log.",
	}
	c.Flags().BoolVarP(&l.follow, "follow", "f", false, "print what comes until the run has ended")
	c.Flags().StringVar(&l.name, "log", "agent", "which log: agent or tests")
	return withSolve(s, c, func(ctx context.Context, a asker, args []string) (err error) {
		l.asker, l.next = a, 1
		if l.run, err = a.runOf(ctx, args); err != nil {
			return err
		}
		return follow(ctx, func() (bool, error) { return l.more(ctx) })
	})
}

// more prints what has come since, and says whether that is all.
func (l *runLog) more(ctx context.Context) (done bool, err error) {
	p, err := l.at.Log(ctx, l.run.Solve, l.run.Run, l.name, l.next)
	if l.follow && errors.Is(err, solve.ErrNotFound) && !l.ended(ctx) {
		return false, nil // it has not begun
	}
	if err != nil {
		return false, err
	}
	if l.attempt > 0 && p.Attempt != l.attempt {
		l.next, l.attempt = 1, p.Attempt
		_, err = fmt.Fprintf(l.err, "attempt %d of the run begins\n", p.Attempt)
		return false, err
	}
	l.attempt = p.Attempt
	if err = l.print(p); err == nil {
		l.next = p.Next
	}
	return !l.follow || !p.Live, err
}

// ended says whether the run has ended, as far as is known.
func (l *runLog) ended(ctx context.Context) bool {
	st, err := l.at.Status(ctx, l.run.Solve)
	return err == nil && st.View().Runs[l.run.Run-1].State.Final()
}

func (l *runLog) print(p server.LogPart) error {
	if !l.json {
		return printForeign(l.out, string(p.Text), false)
	}
	n := l.next
	for line := range strings.Lines(string(p.Text)) {
		if err := printJSON(l.out, "", map[string]any{"line": n, "text": strings.TrimSuffix(line, "\n")}); err != nil {
			return err
		}
		n++
	}
	return nil
}
