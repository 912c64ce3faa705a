package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/web"
)

// longestTrouble is how much of an error pages show, in characters.
const longestTrouble = 300

// health is what the last use of each driver and model says. Nothing is asked for it.
type health struct {
	now func() time.Time
	mu  sync.Mutex
	of  map[part]web.Health
}

// part is a driver or a model.
type part struct {
	model bool
	name  string
}

func newHealth(now func() time.Time) *health {
	return &health{now: now, of: map[part]web.Health{}}
}

// note keeps how a part is now, and since when it is so.
func (h *health) note(is web.Health) {
	key := part{is.Model, is.Name}
	h.mu.Lock()
	defer h.mu.Unlock()
	if is.Since = h.of[key].Since; is.Since.IsZero() || h.of[key].Level != is.Level {
		is.Since = h.now()
	}
	h.of[key] = is
}

// driver notes what became of a sandbox, or of the check of a driver. That a base is gone is no news of its driver.
func (h *health) driver(ctx context.Context, name string, err error) {
	is := web.Health{Name: name, Level: web.Good}
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, sandbox.ErrGone) {
			return
		}
		is.Level, is.Error = web.Bad, troubleOf(name, err.Error())
	}
	h.note(is)
}

// model notes what became of a call. A model that refuses a conversation because of its length answers.
func (h *health) model(name string, failed *model.Error) {
	is := web.Health{Model: true, Name: name, Level: web.Good}
	if failed != nil && failed.ExitStatus() != agent.StatusContext {
		is.Level, is.Error = web.Bad, troubleOf(name, failed.Public())
	}
	h.note(is)
}

// list is how these parts are. A model without a key is not asked; where solves use it by themselves, that is an error.
func (h *health) list(drivers []string, models *model.Set, wanted []string) (all []web.Health) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range drivers {
		is := h.of[part{name: name}]
		is.Name = name
		all = append(all, is)
	}
	for _, name := range models.Names() {
		is := h.of[part{true, name}]
		if err := models.Ready(name); err != nil {
			is = web.Health{Level: web.Bad, Error: troubleOf(name, err.Error())}
			if !slices.Contains(wanted, name) { // nothing has to be mended
				is.Level = ""
				is.Error, _, _ = strings.Cut(is.Error, ";")
			}
		}
		is.Model, is.Name = true, name
		all = append(all, is)
	}
	return all
}

// troubleOf is what an error says of a part, short and on one line, without the name that stands beside it.
func troubleOf(name, text string) string {
	return solve.Clip(solve.OneLine(strings.TrimPrefix(text, "model "+name+": ")), longestTrouble)
}
