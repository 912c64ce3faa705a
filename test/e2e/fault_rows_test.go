package e2e_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
)

// creations are what GitHub has no key for: a second one is a double.
func creations() []endpoint {
	return []endpoint{{"POST", `/issues/\d+/comments$`}, {"POST", `/check-runs$`}, {"POST", `/pulls$`}}
}

// listRows are lists and objects that lag behind what was done.
func listRows() []faultRow {
	lag := func(part float64) func(*world) {
		return func(w *world) { w.hub.SetLag(time.Duration(part * float64(w.cfg.GitHub.Write.ListLag))) }
	}
	out := []faultRow{
		{name: "lists/lag", before: lag(25. / 30)},
		{name: "lists/lag after lost answers", before: lag(25. / 30), faults: on(githubsim.FaultLostAnswer, creations())},
		{name: "lists/lag after cuts", before: lag(25. / 30), faults: on(githubsim.FaultCutAfter, creations())},
		{name: "lists/new objects are missed once", before: func(w *world) { w.hub.SetFreshMiss(true) }},
	}
	for name, f := range map[string]githubsim.Fault{
		"progress comment": {Method: "POST", Path: `/comments$`}, "final comment": {Method: "POST", Path: `/comments$`, Nth: 2},
		"check run": {Method: "POST", Path: `/check-runs$`},
	} {
		f.Kind = githubsim.FaultLostAnswer
		out = append(out, faultRow{
			name: "lists/lag longer than it may be " + name, faults: []githubsim.Fault{f}, after: hidden(f.Nth > 1), single: true,
		})
	}
	return out
}

// tokenRows are tokens that end early, and an installation that is taken away.
func tokenRows() []faultRow {
	suspended := func(at solve.State) func(*world, *server.Server) {
		return func(w *world, srv *server.Server) {
			w.at(srv, at)
			w.must(w.hub.Suspend(w.install))
			w.poll(20*time.Second, func() bool { return w.refused() > 3 })
			w.must(w.hub.Unsuspend(w.install))
		}
	}
	gone := func(at solve.State) func(*world, *server.Server) {
		return func(w *world, srv *server.Server) {
			w.at(srv, at)
			w.must(w.hub.Uninstall(w.install))
			w.releasePermissions()
		}
	}
	silent := disturb(githubsim.Disturbance{Kind: githubsim.DisturbDrop, Event: "installation", Count: -1})
	return []faultRow{
		{name: "tokens/401 on reads", faults: on(githubsim.FaultUnauthorized, reads())},
		{name: "tokens/401 on writes", faults: on(githubsim.FaultUnauthorized, writes())},
		{name: "tokens/401 while cloning", faults: on(githubsim.FaultUnauthorized, gits()[1:])},
		{name: "tokens/all expire while runs work", slow: true, after: func(w *world, srv *server.Server) {
			w.at(srv, solve.StateRunning)
			w.hub.ExpireTokens()
		}},
		{name: "installation/suspended while queued", want: solve.StateCancelled, before: (*world).holdPermissions, after: func(w *world, srv *server.Server) {
			w.at(srv, solve.StateQueued)
			w.must(w.hub.Suspend(w.install))
			w.releasePermissions()
			w.poll(20*time.Second, func() bool { return w.refused() > 2 })
			w.must(w.hub.Unsuspend(w.install))
		}},
		{name: "installation/suspended while preparing", want: solve.StateCancelled, after: suspended(solve.StatePreparing)},
		{name: "installation/suspended while runs work", want: solve.StateCancelled, slow: true, after: suspended(solve.StateRunning)},
		// Nothing tells of it, so it is waited for.
		{name: "installation/suspended in silence while preparing", before: silent, after: suspended(solve.StatePreparing)},
		{name: "installation/suspended in silence while runs work", slow: true, before: silent, after: suspended(solve.StateRunning)},
		{name: "installation/deleted in silence while runs work", want: solve.StateFailed, slow: true, before: silent, after: gone(solve.StateRunning)},
		{name: "installation/deleted in silence while queued", want: solve.StateFailed, before: func(w *world) {
			silent(w)
			w.holdPermissions()
		}, after: gone(solve.StateQueued)},
		{name: "installation/deleted while runs work", want: solve.StateCancelled, slow: true, after: gone(solve.StateRunning)},
		{name: "installation/may not write check runs until that is accepted", faults: []githubsim.Fault{
			// Accepted before the pull request: its scorecard's check run is not tried again.
			{Kind: githubsim.FaultForbidden, Method: "POST", Path: `/check-runs$`, Count: 3},
		}},
	}
}

// at waits until the solve is in a state.
func (w *world) at(srv *server.Server, state solve.State) {
	w.t.Helper()
	w.until(srv, time.Minute, func(v report.View) bool { return v.Solve.State == state })
}

// refused counts the writes that a suspension refused.
func (w *world) refused() int {
	n := 0
	for _, r := range w.hub.History() {
		if r.Kind == "request" && r.Status == http.StatusForbidden {
			n++
		}
	}
	return n
}

// deliveryRows are webhooks that come twice, in another order, or not at all.
// Nothing here looks for those that never came, so GitHub is asked for them.
func deliveryRows() []faultRow {
	ask := func(text string) func(*world, *server.Server) {
		return func(w *world, _ *server.Server) {
			_, err := w.hub.Comment(w.repo.FullName(), w.issue, user, text)
			w.must(err)
		}
	}
	return []faultRow{
		{name: "deliveries/all twice", before: disturb(githubsim.Disturbance{Kind: githubsim.DisturbDuplicate, Count: -1}), after: ask("/yudai status")},
		{name: "deliveries/question before its solve", before: disturb(githubsim.Disturbance{
			Kind: githubsim.DisturbReorder, Event: "issues", Action: "labeled",
		}), after: ask("/yudai status")},
		{name: "deliveries/label off before it was on", want: solve.StateCancelled, before: func(w *world) {
			w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbReorder, Event: "issues", Action: "labeled"})
			w.holdPermissions() // it is not over before the label's absence counts
		}, after: func(w *world, srv *server.Server) {
			w.must(w.hub.Unlabel(w.repo.FullName(), w.issue, user, "yudai:solve"))
			w.until(srv, time.Minute, func(v report.View) bool { return !v.Solve.CancelAt.IsZero() })
			w.releasePermissions()
		}},
		{name: "deliveries/late", before: disturb(githubsim.Disturbance{Kind: githubsim.DisturbDelay, Count: -1, Delay: 300 * time.Millisecond})},
		{name: "deliveries/never sent and asked for again twice", before: disturb(githubsim.Disturbance{
			Kind: githubsim.DisturbDrop, Event: "issues", Action: "labeled",
		}), after: redelivered},
		{name: "deliveries/while yudai was down and asked for again twice", down: true, after: redelivered},
	}
}

func disturb(d githubsim.Disturbance) func(*world) {
	return func(w *world) { w.hub.Disturb(d) }
}

// redelivered finds the label's delivery in GitHub's log, where it failed, and
// has it sent again, twice, as the healing of a missed delivery would.
func redelivered(w *world, srv *server.Server) {
	w.t.Helper()
	keys, err := ghinstallation.NewAppsTransport(http.DefaultTransport, w.app.ID, w.app.PrivateKeyPEM)
	w.must(err)
	api := github.NewClient(&http.Client{Transport: keys})
	api.BaseURL, err = url.Parse(w.hub.APIURL())
	w.must(err)
	var failed *github.HookDelivery
	w.poll(20*time.Second, func() bool {
		list, _, err := api.Apps.ListHookDeliveries(w.t.Context(), &github.ListCursorOptions{PerPage: 100})
		w.must(err)
		for _, d := range list {
			if d.GetAction() == "labeled" && d.GetStatusCode() >= http.StatusBadRequest {
				failed = d
			}
		}
		return failed != nil
	})
	if _, err := srv.Latest(w.t.Context(), w.repo.ID, w.issue); !errors.Is(err, solve.ErrNotFound) {
		w.t.Fatalf("there is a solve without a delivery: %v", err)
	}
	for range 2 {
		_, _, err := api.Apps.RedeliverHookDelivery(w.t.Context(), failed.GetID())
		if accepted := new(github.AcceptedError); err != nil && !errors.As(err, &accepted) {
			w.t.Fatal(err)
		}
	}
	w.poll(20*time.Second, func() bool {
		n := 0
		for _, r := range w.hub.History() {
			if r.Kind == "delivery" && r.Redelivery && strings.EqualFold(r.GUID, failed.GetGUID()) && r.Status < http.StatusMultipleChoices {
				n++
			}
		}
		return n == 2
	})
}
