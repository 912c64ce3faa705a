package bolt_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// BenchmarkSpent asks what a busy day cost: many solves that ended, and some live
// ones with their runs.
func BenchmarkSpent(b *testing.B) {
	for _, ended := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("%d_ended_100_live", ended), func(b *testing.B) {
			s := open(b, config(b))
			now := time.Now()
			var group sync.WaitGroup
			for part := range 128 {
				group.Go(func() {
					for i := part; i < ended+100; i += 128 {
						if err := startOne(s.Apply, s.Create, i, now, i < ended); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			for b.Loop() {
				if list, err := s.Spent(b.Context(), now.Add(-time.Hour)); err != nil || len(list) != ended+100 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

type (
	applies func(context.Context, solve.Change) (solve.Solve, solve.Run, error)
	creates func(context.Context, solve.Solve) (solve.Solve, bool, error)
)

// startOne makes a solve that was started, with eight runs, and ends it if asked to.
func startOne(apply applies, create creates, i int, now time.Time, end bool) error {
	ctx := context.Background()
	one := solve.Solve{ID: solve.ID(fmt.Sprintf("day%06d", i)), Repo: solve.Repo{ID: int64(i % 50)}, Created: now}
	one.Issue.Number, one.Trigger.Key, one.Issue.Body = i, fmt.Sprint("day", i), string(make([]byte, 2000))
	if _, _, err := create(ctx, one); err != nil {
		return err
	}
	runs := make([]solve.Run, 8)
	for n := range runs {
		runs[n].N = n + 1
	}
	for _, c := range []solve.Change{
		{Event: solve.Claimed{}},
		{Event: solve.BaseReady{Runs: runs}},
		{Event: solve.Aborted{}},
	} {
		if solve.NameOf(c.Event) == solve.EventFailed && !end {
			return nil
		}
		c.Solve = one.ID
		if _, _, err := apply(ctx, c); err != nil {
			return err
		}
	}
	return nil
}
