package ghapp

import (
	"context"

	"github.com/google/go-github/v66/github"
)

// request is one request to GitHub.
type request func(ctx context.Context, c *github.Client) error

// caller makes a request; action says in errors what it was for.
type caller func(ctx context.Context, action string, do request) error

// get makes a request and returns the answer.
func get[T any](ctx context.Context, call caller, action string,
	do func(context.Context, *github.Client) (T, *github.Response, error),
) (answer T, err error) {
	err = call(ctx, action, func(ctx context.Context, c *github.Client) (err error) {
		answer, _, err = do(ctx, c)
		return err
	})
	return answer, err
}

// perPage is the most that GitHub lists at a time.
const perPage = 100

// list reads every page of a list.
func list[T any](ctx context.Context, call caller, action string,
	do func(context.Context, *github.Client, github.ListOptions) ([]T, *github.Response, error),
) ([]T, error) {
	var all []T
	opts := github.ListOptions{PerPage: perPage}
	for {
		var page []T
		var resp *github.Response
		err := call(ctx, action, func(ctx context.Context, c *github.Client) (err error) {
			page, resp, err = do(ctx, c, opts)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if resp.NextPage <= opts.Page {
			return all, nil
		}
		opts.Page = resp.NextPage
	}
}
