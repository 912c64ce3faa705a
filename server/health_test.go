package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/fakesandbox"
	"github.com/yudai-dev/yudai/web"
)

// healthModels are one that needs no key, and two whose key is missing.
func healthModels(t *testing.T) *model.Set {
	t.Helper()
	cfg := model.DefaultConfig()
	cfg.Models = []model.Entry{
		{Name: "mine", Provider: model.OpenAI, BaseURL: "http://127.0.0.1:1"},
		{Name: "spare", Provider: model.OpenAI, APIKeyEnv: "SPARE_KEY"}, {Name: "wanted", Provider: model.OpenAI, APIKeyEnv: "WANTED_KEY"},
	}
	set, err := model.NewSet(cfg, noEnv)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestHealthOfModels: it is what the last call said, since it says so; a call that was given up says nothing.
func TestHealthOfModels(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	m, set := server.NewMetered(), healthModels(t)
	m.SetClock(func() time.Time { return now })
	look := func() []web.Health { return m.Health(nil, set, []string{"mine", "wanted"}) }
	all := look()
	if len(all) != 3 || all[0] != (web.Health{Model: true, Name: "mine"}) {
		t.Fatalf("before any call: %+v", all)
	}
	if all[1].Level != "" || all[1].Error != "SPARE_KEY is not set" || all[2].Level != web.Bad ||
		!strings.HasPrefix(all[2].Error, "WANTED_KEY is not set; export it") {
		t.Errorf("without keys: %+v", all[1:])
	}
	first := now
	m.Asked("mine", model.NotPassed("mine", 503, "the provider failed"))
	now = now.Add(time.Minute)
	m.Asked("mine", model.NotPassed("mine", 401, "the key was refused"))
	if is := look()[0]; is.Level != web.Bad || is.Since != first || is.Error != "the key was refused" {
		t.Errorf("failed twice: %+v", is)
	}
	m.Asked("mine", model.NotPassed("mine", 503, "a\nb\u200b "+strings.Repeat("long ", 200)))
	if is := look()[0]; len([]rune(is.Error)) > 300 || !strings.HasPrefix(is.Error, "a b long") {
		t.Errorf("a long error: %q", is.Error)
	}
	m.Queried("mine", solve.Usage{}, context.Canceled)
	if is := look()[0]; is.Level != web.Bad {
		t.Errorf("a call that was given up: %+v", is)
	}
	m.Queried("mine", solve.Usage{}, nil)
	if is := look()[0]; is != (web.Health{Model: true, Name: "mine", Level: web.Good, Since: now}) {
		t.Errorf("answered: %+v", is)
	}
	full := model.NotPassed("mine", 413, "too long")
	if full.ExitStatus() != agent.StatusContext {
		t.Fatalf("413 is %s", full.ExitStatus())
	}
	if m.Asked("mine", full); look()[0].Level != web.Good {
		t.Error("a model whose context is full does answer")
	}
}

// TestHealthOfDrivers: the check at the start and each sandbox tell; a base that is gone, or what was given up, does not.
func TestHealthOfDrivers(t *testing.T) {
	t.Parallel()
	m := server.NewMetered()
	look := func() web.Health { return m.Health([]string{"fake"}, healthModels(t), nil)[0] }
	fake := &failing{Driver: fakesandbox.New(nil)}
	d := m.Driver(fake)
	if is := look(); is != (web.Health{Name: "fake"}) {
		t.Errorf("not used: %+v", is)
	}
	if err := d.Check(t.Context()); err != nil || look().Level != web.Good {
		t.Errorf("%v, %+v", err, look())
	}
	fake.err = fmt.Errorf("open: %w: no daemon", sandbox.ErrUnavailable)
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "a"}); err == nil || look().Level != web.Bad || !strings.Contains(look().Error, "no daemon") {
		t.Errorf("%v, %+v", err, look())
	}
	if fake.err = nil; d.Check(t.Context()) != nil || look().Level != web.Good || look().Error != "" {
		t.Errorf("it works again: %+v", look())
	}
	fake.err = sandbox.ErrGone
	if _, err := d.Open(t.Context(), sandbox.Spec{Name: "b", From: "gone"}); err == nil || look().Level != web.Good {
		t.Errorf("%v, %+v", err, look())
	}
	fake.err = errors.New("given up")
	given, up := context.WithCancel(t.Context())
	up()
	if _, err := d.Open(given, sandbox.Spec{Name: "c"}); err == nil || look().Level != web.Good {
		t.Errorf("%v, %+v", err, look())
	}
}

// failing is a driver that fails as a test says.
type failing struct {
	sandbox.Driver
	err error
}

func (f *failing) Check(context.Context) error { return f.err }

func (f *failing) Open(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.Driver.Open(ctx, spec)
}
