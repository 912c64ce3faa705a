package drivers

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
)

// fallback is two drivers as one: what the first cannot do now, because it is unavailable
// or has no room, the second does. A name is looked for in both, the first one first.
type fallback struct {
	first, second sandbox.Driver
	log           zerolog.Logger
}

// Compile-time proof that the contract is satisfied.
var (
	_ sandbox.Driver = (*fallback)(nil)
	_ sandbox.Forker = (*fallback)(nil)
)

// WithFallback is first with a second driver that takes over from it. Its sandboxes are
// those of the two, which tell by sandbox.Placed whose they are; the two have different names.
func WithFallback(first, second sandbox.Driver, log zerolog.Logger) sandbox.Driver {
	return &fallback{first: first, second: second, log: log}
}

// lack is a base that one of the two drivers lacks, where the sandbox was to be opened.
type lack struct {
	error
	at sandbox.Driver
}

// Unwrap makes it a sandbox.ErrGone.
func (l lack) Unwrap() error { return l.error }

// At is the driver in which the base is to be made.
func (l lack) At() sandbox.Driver { return l.at }

// away says that another driver may do what one could not.
func away(err error) bool {
	return errors.Is(err, sandbox.ErrUnavailable) || errors.Is(err, sandbox.ErrCapacity)
}

// Open asks the first driver, then the second: also for a base that only the second has.
// A base that is missing where the sandbox would have been opened is an ErrGone that
// tells by its method At which driver that is.
func (f *fallback) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	sb, err := f.first.Open(ctx, spec)
	lacks := spec.From != "" && errors.Is(err, sandbox.ErrGone)
	if err == nil || ctx.Err() != nil || !lacks && !away(err) {
		return sb, err
	}
	sb, other := f.take(ctx, spec)
	switch {
	case other == nil:
		f.log.Warn().Err(err).Str(logkey.Driver, f.second.Traits().Name).Str(logkey.SandboxID, spec.Name).Msg("another sandbox driver takes over")
		return sb, nil
	case lacks:
		return nil, lack{err, f.first}
	case spec.From != "" && errors.Is(other, sandbox.ErrGone):
		return nil, lack{other, f.second}
	}
	return nil, fmt.Errorf("%w; and where it could have gone instead: %w", err, other)
}

// take opens a sandbox in the second driver.
func (f *fallback) take(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if _, ok := f.second.(sandbox.Forker); !ok && spec.From != "" {
		return nil, fmt.Errorf("open sandbox %s: base %s: %w", spec.Name, spec.From, sandbox.ErrGone)
	}
	return f.second.Open(ctx, spec)
}

// Attach finds the sandbox in either. It is gone only if both say so.
func (f *fallback) Attach(ctx context.Context, name string) (sandbox.Sandbox, error) {
	sb, err := f.first.Attach(ctx, name)
	if err == nil {
		return sb, nil
	}
	sb, other := f.second.Attach(ctx, name)
	switch {
	case other == nil:
		return sb, nil
	case errors.Is(err, sandbox.ErrGone):
		return nil, other
	}
	return nil, err
}

// Sweep sweeps both; an error of one does not keep the other from it.
func (f *fallback) Sweep(ctx context.Context, keep func(sandbox.Info) bool) ([]string, error) {
	gone, err := f.first.Sweep(ctx, keep)
	more, other := f.second.Sweep(ctx, keep)
	return append(gone, more...), errors.Join(err, other)
}

// Traits are the first driver's, with a note. Programs can be launched, and a socket be
// shown, only where both can: what a sandbox is opened with must do for either.
func (f *fallback) Traits() sandbox.Traits {
	t, other := f.first.Traits(), f.second.Traits()
	t.Launch, t.Socket = t.Launch && other.Launch, t.Socket && other.Socket
	t.Notes = append(append([]string{}, t.Notes...), other.Name+" takes over when "+t.Name+" is unavailable or has no room")
	return t
}

// Check is content with one of them.
func (f *fallback) Check(ctx context.Context) error {
	err := f.first.Check(ctx)
	if !away(err) {
		return err
	}
	if other := f.second.Check(ctx); other != nil {
		return errors.Join(err, other)
	}
	return nil
}

// Freeze makes the base where the sandbox is.
func (f *fallback) Freeze(ctx context.Context, sb sandbox.Sandbox) (string, error) {
	d := f.first
	if p, ok := sandbox.As[sandbox.Placed](sb); ok && p.Place().Driver == f.second.Traits().Name {
		d = f.second
	}
	forker, ok := d.(sandbox.Forker)
	if !ok || !d.Traits().Fork {
		return "", fmt.Errorf("freeze sandbox %s: %w", sb.Name(), errors.ErrUnsupported)
	}
	return forker.Freeze(ctx, sb)
}

// Thaw removes a base from both.
func (f *fallback) Thaw(ctx context.Context, base string) error {
	var problems []error
	for _, d := range []sandbox.Driver{f.first, f.second} {
		if forker, ok := d.(sandbox.Forker); ok {
			problems = append(problems, forker.Thaw(ctx, base))
		}
	}
	return errors.Join(problems...)
}

// HasBase says whether one of them has it.
func (f *fallback) HasBase(ctx context.Context, base string) bool {
	for _, d := range []sandbox.Driver{f.first, f.second} {
		if forker, ok := d.(sandbox.Forker); ok && forker.HasBase(ctx, base) {
			return true
		}
	}
	return false
}
