package agent

import "context"

type retryKey struct{}

// WithRetries returns a context in which a [Model] tells each time why a call failed and when it is tried again: tell gets a
// sentence for people, without secrets, before the wait.
func WithRetries(ctx context.Context, tell func(text string)) context.Context {
	return context.WithValue(ctx, retryKey{}, tell)
}

// Retrying tells that a call is tried again, where somebody wants to know.
func Retrying(ctx context.Context, text string) {
	if tell, ok := ctx.Value(retryKey{}).(func(text string)); ok {
		tell(text)
	}
}
