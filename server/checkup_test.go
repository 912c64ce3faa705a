package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/setup"
)

// TestCheckup: a check runs beside its asker, once a minute at most, and no secret is in what it finds.
func TestCheckup(t *testing.T) {
	t.Parallel()
	now, asked := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC), 0
	d := &setup.Doctor{
		Getenv: noEnv, Config: setup.Finding{Level: setup.Warn, What: "config", Text: "the key canary-secret is old", Fix: "replace canary-secret"},
		Agents: []setup.Agent{{Name: "mine", Ready: func() error {
			asked++
			return nil
		}}},
		Models: model.Config{Attempts: 1, RetryWait: 1, RetryMax: 1},
	}
	c := server.NewCheckup(d, strings.NewReplacer("canary-secret", "[secret]"), func() time.Time { return now })
	if last := c.Last(); !last.Ready || last.Running || !last.Began.IsZero() {
		t.Errorf("before the first: %+v", last)
	}
	changes := c.Watch(t.Context())
	c.Start()
	if last := c.Last(); !last.Running || last.Ready || last.Began != now {
		t.Errorf("asked for: %+v", last)
	}
	c.Start() // one is asked for
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for c.Last().Running {
		<-changes
	}
	last := c.Last()
	text := ""
	for _, f := range last.Findings {
		text += string(f.Level) + " " + f.What + ": " + f.Text + " " + f.Fix + "\n"
	}
	if strings.Contains(text, "canary") || !strings.Contains(text, "warn config: the key [secret] is old replace [secret]") || last.Ready {
		t.Errorf("%+v\n%s", last, text)
	}
	now = now.Add(time.Minute - 1)
	if c.Start(); c.Last().Running || len(c.Last().Findings) != len(last.Findings) {
		t.Error("two checks within a minute")
	}
	now = now.Add(1)
	if !c.Last().Ready {
		t.Error("a minute later none may begin")
	}
	c.Start()
	for c.Last().Running {
		<-changes
	}
	if asked != 2 {
		t.Errorf("%d checks", asked)
	}
	if stop(); <-ended != nil {
		t.Error("it does not end with the server")
	}
}
