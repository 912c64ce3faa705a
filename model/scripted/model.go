package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/solve"
)

// StatusNoPlay is the exit status of a run whose experiment no play matches.
const StatusNoPlay = agent.StatusNotFound

// Model plays a script for one experiment. It is safe for concurrent use.
type Model struct {
	script *Script
	name   string
	x      solve.Experiment
	price  agent.Price
	mode   string
}

var (
	_ agent.Model      = (*Model)(nil)
	_ agent.ModeSetter = (*Model)(nil)
)

// Model returns the script as the model of that name for one experiment. A
// model without a price in the script gets the fallback.
func (s *Script) Model(name string, x solve.Experiment, fallback agent.Price) *Model {
	return &Model{script: s, name: name, x: x, price: s.PriceOf(name, fallback), mode: agent.ModeTools}
}

// PriceOf is the price the script gives a model: its own, else the script's, else the fallback.
func (s *Script) PriceOf(name string, fallback agent.Price) agent.Price {
	if p, ok := s.Prices[name]; ok {
		return p
	}
	if s.Price.Known() {
		return s.Price
	}
	return fallback
}

// Name is the configured model name.
func (m *Model) Name() string { return m.name }

// InMode returns the model for tools or text.
func (m *Model) InMode(mode string) agent.Model {
	out := *m
	out.mode = mode
	return &out
}

// Query plays the step that is due by the number of replies in the history. A
// step that a restart interrupted is played again, as a careful model would do.
func (m *Model) Query(ctx context.Context, history []agent.Message) (agent.Reply, error) {
	play, ok := m.play(history)
	if !ok {
		return agent.Reply{}, &failure{StatusNoPlay, fmt.Sprintf("the script has no play for model %s, temperature %s, strategy %q, repeat %d",
			m.name, temperature(m.x.Temperature), m.x.Strategy, m.x.Repeat)}
	}
	replies := agent.Turns(history)
	turn := replies - agent.Interrupted(history)
	submit := "echo " + agent.SubmitMarker
	step := Step{Say: "The work is done; I submit it.", Run: &submit}
	if turn < len(play.Steps) {
		step = play.Steps[turn]
	}
	if err := cmp.Or(context.Cause(ctx), clock.Sleep(ctx, step.Delay)); err != nil {
		return agent.Reply{}, err
	}
	if step.Error != nil {
		return agent.Reply{}, &failure{step.Error.Status, step.Error.Text}
	}
	return m.reply(step, replies, history)
}

// play is the first one that matches.
func (m *Model) play(history []agent.Message) (Play, bool) {
	task := ""
	if i := slices.IndexFunc(history, func(m agent.Message) bool { return m.Role == agent.RoleUser }); i >= 0 {
		task = history[i].Content
	}
	for _, p := range m.script.Plays {
		if p.Match.fits(m.name, m.x, task) {
			return p, true
		}
	}
	return Play{}, false
}

func (m Match) fits(name string, x solve.Experiment, task string) bool {
	switch {
	case m.Model != "" && m.Model != name,
		m.Agent != "" && m.Agent != x.Agent,
		m.Strategy != nil && *m.Strategy != x.Strategy,
		m.MaxEdits != nil && *m.MaxEdits != x.MaxEdits,
		m.Repeat != 0 && m.Repeat != x.Repeat,
		m.Purpose != x.Purpose,
		!strings.Contains(task, m.TaskContains):
		return false
	case m.Temperature != nil:
		return x.Temperature != nil && math.Abs(*m.Temperature-*x.Temperature) < 1e-9
	}
	return true
}

// reply is a step in the form of the mode; turn counts the replies before it.
func (m *Model) reply(step Step, turn int, history []agent.Message) (agent.Reply, error) {
	msg := agent.Message{Role: agent.RoleAssistant, Content: strings.TrimSpace(step.Say)}
	finish := "stop"
	switch commands := step.commands(); {
	case step.Raw != nil:
		msg.Content = step.Raw.Content
		for i, c := range step.Raw.ToolCalls {
			msg.ToolCalls = append(msg.ToolCalls, agent.ToolCall{ID: cmp.Or(c.ID, callID(turn, i)), Name: c.Name, Arguments: c.Arguments})
		}
	case m.mode == agent.ModeText:
		for _, c := range commands {
			msg.Content += "\n\n```mswea_bash_command\n" + strings.TrimRight(c, "\n") + "\n```"
		}
	default:
		finish = "tool_calls"
		for i, c := range commands {
			args, err := json.Marshal(map[string]string{agent.ToolArgument: c})
			if err != nil {
				return agent.Reply{}, fmt.Errorf("encode command: %w", err)
			}
			msg.ToolCalls = append(msg.ToolCalls, agent.ToolCall{ID: callID(turn, i), Name: agent.ToolName, Arguments: string(args)})
		}
	}
	finish = cmp.Or(step.FinishReason, finish)
	usage := m.price.Usage(tokens(step, msg, history))
	raw, err := json.Marshal(map[string]any{"object": "scripted", "model": m.name, "turn": turn + 1, "finish_reason": finish})
	if err != nil {
		return agent.Reply{}, fmt.Errorf("encode response: %w", err)
	}
	return agent.Reply{Message: msg, FinishReason: finish, Usage: usage, Raw: raw}, nil
}

func (s Step) commands() []string {
	if s.Run != nil {
		return []string{*s.Run}
	}
	return s.Runs
}

func callID(turn, i int) string { return fmt.Sprintf("call_%d_%d", turn+1, i+1) }

// tokens are those of the step, else an estimate of four characters a token.
func tokens(step Step, reply agent.Message, history []agent.Message) agent.Tokens {
	if u := step.Usage; u != nil {
		return agent.Tokens{Input: u.Input - u.Cached, CacheRead: u.Cached, Output: u.Output}
	}
	var t agent.Tokens
	for _, m := range history {
		t.Input += estimate(m)
	}
	t.Output = estimate(reply)
	return t
}

func estimate(m agent.Message) int64 {
	n := utf8.RuneCountInString(m.Content)
	for _, c := range m.ToolCalls {
		n += utf8.RuneCountInString(c.Arguments)
	}
	return int64(n+3) / 4
}

func temperature(t *float64) string {
	if t == nil {
		return "none"
	}
	return fmt.Sprintf("%g", *t)
}

// failure is an error of the played provider.
type failure struct{ status, text string }

var _ agent.ModelError = (*failure)(nil)

func (f *failure) Error() string      { return f.status + ": " + f.Public() }
func (f *failure) ExitStatus() string { return f.status }
func (f *failure) Public() string     { return cmp.Or(f.text, "the scripted model failed on purpose") }
