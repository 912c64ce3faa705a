package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/durable"
)

// identity is who the App is. Webhooks do not wait for it: while GitHub cannot be reached it
// is what an earlier start was told, and at the very first start there is nothing of ours yet.
type identity struct {
	app  *ghapp.App
	file string
	bot  atomic.Pointer[string]
	last string // what the file holds
}

// identityFile is beside the store.
const identityFile = "identity.json"

// identityPatience is how long a start waits for GitHub before it listens.
const identityPatience = 5 * time.Second

// identify asks GitHub who we are. It fails where GitHub does not know the App; a GitHub
// that cannot be reached is asked again by keepAsking.
func identify(ctx context.Context, app *ghapp.App, id int64, dir string) (*identity, error) {
	i := &identity{app: app, file: filepath.Join(dir, identityFile)}
	var known ghapp.Identity
	if data, err := os.ReadFile(i.file); err == nil && json.Unmarshal(data, &known) == nil && known.ID == id {
		i.last = known.Bot
	}
	i.bot.Store(&i.last)
	patience, cancel := context.WithTimeout(ctx, identityPatience)
	defer cancel()
	err := i.ask(patience)
	if err != nil && ctx.Err() == nil && unreachable(err) {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("github does not answer yet; deliveries are stored meanwhile")
		return i, nil
	}
	return i, err
}

// unreachable says that GitHub did not answer, or not now.
func unreachable(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary() || errors.Is(err, context.DeadlineExceeded)
}

// ask asks once, and keeps the answer for a start at which GitHub is away.
func (i *identity) ask(ctx context.Context) error {
	who, err := i.app.Identity(ctx)
	if err != nil {
		return fmt.Errorf("ask GitHub who this App is: %w", err)
	}
	i.bot.Store(&who.Bot)
	if who.Bot == i.last {
		return nil
	}
	data, err := json.Marshal(who)
	if err == nil {
		err = durable.WriteFile(i.file, data)
	}
	if err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("what GitHub calls this App is not kept")
	}
	return nil
}

// keepAsking asks until GitHub has answered once, and fails where it does not know the App.
func (i *identity) keepAsking(ctx context.Context) error {
	const pause = 2 * time.Second
	for {
		err := i.ask(ctx)
		if ctx.Err() != nil { // the server stops: nobody asks any more
			return nil //nolint:nilerr // see above
		}
		if err == nil || !unreachable(err) {
			return err
		}
		_ = clock.Sleep(ctx, pause) // the next turn sees that it was cut
	}
}

// name is the login under which our own app writes, "" while nobody has told it.
func (i *identity) name() string { return *i.bot.Load() }
