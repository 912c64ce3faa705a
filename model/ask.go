package model

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// askTime bounds the one try of [Set.Ask].
const askTime = 20 * time.Second

// Ask makes one short call of a model, without retries, at the price of a few tokens: nothing else shows that the key is
// taken and the model known. The error is that of [Set.Ready], or an [*Error] that names the setting. A script, and a roulette,
// whose members have names of their own, are not called.
func (s *Set) Ask(ctx context.Context, name string) error {
	if err := s.Ready(name); err != nil {
		return err
	}
	c, err := s.client(name, solve.Experiment{})
	if err != nil || c.entry.Provider == Scripted || c.entry.Provider == Roulette {
		return err
	}
	c.cfg.Attempts, c.mode = 1, agent.ModeText
	c.entry.Timeout, c.entry.MaxTokens = min(c.entry.Timeout, askTime), 16 // the least that all APIs take
	m := agent.Model(newOpenAI(c, s.http))
	if c.entry.Provider == Anthropic {
		m = newAnthropic(c, s.http)
	}
	_, err = m.Query(ctx, []agent.Message{
		{Role: agent.RoleSystem, Content: "Answer in one word."}, {Role: agent.RoleUser, Content: "Are you there?"},
	})
	// OpenAI's words where a model that reasons used its few tokens for that: it is there.
	if no, ok := errors.AsType[*Error](err); ok && strings.Contains(no.Said.Message, "model output limit was reached") {
		if s.told != nil {
			s.told(name, nil)
		}
		return nil
	}
	return err
}

// answersFor is how long a model that answered is not asked again by [Set.Answers].
const answersFor = 5 * time.Minute

// Answers is [Set.Ask] of a model, of a roulette that of each member. One that answered is taken to answer for five minutes: a busy
// installation does not pay for each solve.
func (s *Set) Answers(ctx context.Context, name string) error {
	if e, err := s.entry(name); err == nil && e.Provider == Roulette {
		return s.each(e, func(name string) error { return s.Answers(ctx, name) })
	}
	if at, ok := s.answered.Load(name); ok && time.Since(at.(time.Time)) < answersFor {
		return s.Ready(name)
	}
	err := s.Ask(ctx, name)
	if err == nil {
		s.answered.Store(name, time.Now())
	}
	return err
}
