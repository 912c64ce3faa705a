package presets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// mostBatch is how many bytes are read at once, and about how many the messages made of
	// them may take; mostEvent is how many one event may have: a longer one is left out.
	mostBatch = 16 << 20
	mostEvent = 4 << 20
	// messageSize is about what a message takes beside its texts.
	messageSize = 512
	// mostText is the longest text of a message, mostRaw the longest event that is kept
	// as it came.
	mostText = 256 << 10
	mostRaw  = 4 << 10
	// readTime is how long reading a file of the sandbox may take.
	readTime = 30 * time.Second
)

// readEvents prints the complete lines of a file from the given one on.
const readEvents = `[ -f "$2" ] || exit 0
lines=$(wc -l <"$2")
tail -n "+$1" "$2" | head -n "$((lines - $1 + 1))" | cut -b "-$3"
`

// collector reads the events that a program has printed since and makes messages of
// them, until they take a batch. read is the number of lines that were read.
func collector(parse func(event []byte) []agent.Message) func(context.Context, sandbox.Sandbox, int) ([]agent.Message, int, error) {
	return func(ctx context.Context, box sandbox.Sandbox, read int) ([]agent.Message, int, error) {
		var out []agent.Message
		for size := 0; size < mostBatch; {
			ran, err := sandbox.Capture(ctx, box, sandbox.Command{
				Argv:    []string{"sh", "-c", readEvents, "sh", strconv.Itoa(read + 1), command.OutputFile, strconv.Itoa(mostEvent)},
				Timeout: readTime, MaxOutput: mostBatch,
			})
			switch {
			case err != nil:
				return nil, 0, fmt.Errorf("read events: %w", err)
			case ran.TimedOut:
				return nil, 0, fmt.Errorf("read events: no answer within %s", readTime)
			}
			whole := ran.Stdout[:bytes.LastIndexByte(ran.Stdout, '\n')+1]
			if len(whole) == 0 {
				break
			}
			for line := range bytes.Lines(whole) {
				read++
				for event := range eventsOf(line) {
					messages := parse(event)
					size += shorten(messages, event)
					out = append(out, messages...)
				}
				if size >= mostBatch {
					break
				}
			}
		}
		return out, read, nil
	}
}

// shorten cuts the messages of an event, and returns about how many bytes they take. The
// first one gets the event itself, as far as it is short.
func shorten(messages []agent.Message, event []byte) int {
	size := min(len(event), mostRaw)
	for i := range messages {
		m := &messages[i]
		m.Content = cut(m.Content)
		thought, _ := m.Extra["reasoning"].(string)
		size += messageSize + len(m.Content) + len(thought)
		for j := range m.ToolCalls {
			m.ToolCalls[j].Arguments = cut(m.ToolCalls[j].Arguments)
			size += messageSize + len(m.ToolCalls[j].Arguments)
		}
	}
	if len(messages) == 0 {
		return size
	}
	if messages[0].Extra == nil {
		messages[0].Extra = map[string]any{}
	}
	if len(event) <= mostRaw {
		messages[0].Extra["event"] = json.RawMessage(bytes.Clone(event))
	} else {
		messages[0].Extra["event"] = string(bytes.ToValidUTF8(event[:mostRaw], nil)) + "…"
	}
	return size
}

// eventsOf are the lines that are JSON objects.
func eventsOf(output []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(output) {
			line = bytes.TrimSpace(line)
			if bytes.HasPrefix(line, []byte("{")) && json.Valid(line) && !yield(line) {
				return
			}
		}
	}
}

// thinking adds what a model thought to a message.
func thinking(m agent.Message, text string) agent.Message {
	if text != "" {
		m.Extra = map[string]any{"reasoning": cut(text)}
	}
	return m
}

// block is one part of a message of Anthropic's.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

// blocksOf reads content that is a text or a list of blocks.
func blocksOf(raw json.RawMessage) []block {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) != nil {
		return nil
	}
	return blocks
}

// cut shortens a long text.
func cut(s string) string {
	if len(s) <= mostText {
		return s
	}
	short := solve.CutText(s, mostText)
	return fmt.Sprintf("%s\n[%d bytes left out]", short, len(s)-len(short))
}
