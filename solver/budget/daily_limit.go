package budget

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// Day bounds what 24 hours may bring; 0 is no bound.
type Day struct {
	// Solves that are started.
	Solves int `yaml:"solves"`
	// Model costs, in US dollars.
	USD float64 `yaml:"usd"`
}

// Daily bounds what any 24 hours may bring, in each of three scopes.
type Daily struct {
	// Limits of one repository.
	Repository Day `yaml:"repository"`
	// Limits of one installation of the App.
	Installation Day `yaml:"installation"`
	// Limits of this process.
	Process Day `yaml:"process"`
}

const (
	day = 24 * time.Hour
	// LeastMoney is the least money that a solve begins with.
	LeastMoney solve.Money = 10_000
	// roomFormat is how people are told when there is room again.
	roomFormat = "2006-01-02 15:04 UTC"
)

// scope is one of the three.
type scope struct {
	Day
	name          string // as a subject
	solves, money string // the settings, as people find them
	has           func(solve.Spending) bool
}

// scopes are the configuration's, the repository's narrowed by its own file.
func (d Daily) scopes(s solve.Solve, plan *solve.Plan) []scope {
	of := func(day Day, name, section string, has func(solve.Spending) bool) scope {
		return scope{day, name, "solver.daily." + section + ".solves", "solver.daily." + section + ".usd", has}
	}
	here := of(d.Repository, "This repository", "repository", func(p solve.Spending) bool { return p.Repo == s.Repo.ID })
	if plan.Settings != nil && plan.Settings.Day.From != "" {
		own := plan.Settings.Day
		here.Day = Day{Solves: own.Solves, USD: float64(own.Money) / 1e6}
		here.solves, here.money = "limits.solves_per_day of "+own.From, "limits.usd_per_day of "+own.From
	}
	return []scope{
		here,
		of(d.Installation, "This installation of the App", "installation", func(p solve.Spending) bool {
			return p.Installation == s.Repo.Installation
		}),
		of(d.Process, "This yudai", "process", func(solve.Spending) bool { return true }),
	}
}

// dayStore tells what was started lately, and what it cost.
type dayStore interface {
	Spent(ctx context.Context, since time.Time) ([]solve.Spending, error)
}

// DailyLimit holds solves to what a day allows.
type DailyLimit struct {
	store  dayStore
	limits Daily
	taken  chan struct{} // one token: a solve is checked and started
}

// NewDailyLimit returns the daily limit of a process.
func NewDailyLimit(store dayStore, limits Daily) *DailyLimit {
	return &DailyLimit{store: store, limits: limits, taken: make(chan struct{}, 1)}
}

// Lock lets one solve at a time be checked and started, so that two cannot take the last
// place; a store shared by several processes will have to do both in one transaction.
func (l *DailyLimit) Lock(ctx context.Context) (unlock func(), err error) {
	select {
	case l.taken <- struct{}{}:
		return func() { <-l.taken }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Check refuses a solve that the day has no room for, and lowers the plan's money to what
// the day leaves. What a live solve may still spend counts as spent. Solves that never
// started, such as those of people who may not ask, count for nothing.
func (l *DailyLimit) Check(ctx context.Context, s solve.Solve, plan *solve.Plan) error {
	scopes := l.limits.scopes(s, plan)
	if !slices.ContainsFunc(scopes, func(c scope) bool { return c.Day != (Day{}) }) {
		return nil
	}
	spent, err := l.store.Spent(ctx, time.Now().Add(1-day))
	if err != nil {
		return err
	}
	for _, c := range scopes {
		mine := slices.DeleteFunc(slices.Clone(spent), func(p solve.Spending) bool { return !c.has(p) })
		if c.Solves > 0 && len(mine) >= c.Solves {
			room := mine[len(mine)-c.Solves].Started.Add(day)
			return fault.Refusef("%s has started %s in the last 24 hours, the most that %s allows. There is room again at %s.",
				c.name, plural(len(mine), "solve"), c.solves, roomText(room))
		}
		if c.USD == 0 || s.Picked() { // a picked run was paid for
			continue
		}
		if err := c.lower(mine, plan); err != nil {
			return err
		}
	}
	return nil
}

// lower bounds the plan's money by what the scope has left.
func (c scope) lower(mine []solve.Spending, plan *solve.Plan) error {
	most, taken := USD(c.USD), solve.Money(0)
	for _, p := range mine {
		taken += p.Reserved
	}
	left := most - taken
	if left < LeastMoney {
		room := time.Time{}
		for _, p := range mine {
			if taken -= p.Reserved; most-taken >= LeastMoney {
				room = p.Started.Add(day)
				break
			}
		}
		return fault.Refusef("%s has spent or reserved %s in the last 24 hours, and %s allows %s. "+
			"There is room again at %s, or sooner if a solve that runs now costs less than it may.",
			c.name, most-left, c.money, most, roomText(room))
	}
	if limit := plan.Limits.SolveMoney; limit == 0 || limit > left {
		plan.Limits.SolveMoney = left
		plan.Notes = append(plan.Notes, fmt.Sprintf("this solve may cost %s at most: %s leaves no more of the last 24 hours", left, c.money))
	}
	return nil
}

// roomText is a time to the minute, never too early.
func roomText(t time.Time) string {
	return t.UTC().Add(time.Minute - 1).Truncate(time.Minute).Format(roomFormat)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// USD turns dollars into Money.
func USD(v float64) solve.Money { return solve.Money(v*1e6 + 0.5) }
