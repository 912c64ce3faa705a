package handlers

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"

	"github.com/palantir/go-githubapp/githubapp"
)

// ErrPanic says that a handler panicked; the error's text has the stack.
var ErrPanic = errors.New("handler panicked")

// guidShape is how GitHub writes the id of a delivery.
var guidShape = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// Recover, deferred, turns a panic into an error.
func Recover(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v\n%s", ErrPanic, r, debug.Stack())
	}
}

// Deliver gives a delivery that was read from GitHub's own log to the handler that its
// webhook would have reached. The dispatcher cannot take it: the log encodes payloads
// anew, so no signature fits. The payload is trusted because GitHub's API gave it to the App.
func Deliver(ctx context.Context, events []githubapp.EventHandler, event, guid string, payload []byte) (err error) {
	defer Recover(&err)
	for _, h := range events {
		if slices.Contains(h.Handles(), event) {
			return h.Handle(ctx, event, DeliveryID(guid), payload)
		}
	}
	return nil
}
