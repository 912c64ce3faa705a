package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/yudai-dev/yudai/agent"
)

// keyPosition is the (stored) key of Message.Extra with the [position] after the message.
const keyPosition = "place"

// position is how far a transcript has come. Each line carries the one after it, so that
// the transcript and what is known of it can never differ.
type position struct {
	// At is what Program.Collect was last asked for, and Lines how many of the messages it
	// then returned are stored: a batch may have been torn in the middle.
	At    int `json:"at,omitempty,string"`
	Lines int `json:"lines,omitempty"`
	// Output is how many bytes of the program's output are stored.
	Output int64  `json:"output,omitempty"`
	Edits  int    `json:"edits,omitempty"`
	Tree   string `json:"tree,omitempty"`
}

// restore takes over what the stored transcript says.
func (r *run) restore(messages []agent.Message) {
	r.begun = len(messages) > 0
	for _, m := range messages {
		data, err := json.Marshal(m.Extra[keyPosition])
		var p position
		if err == nil && m.Extra[keyPosition] != nil && json.Unmarshal(data, &p) == nil {
			r.position = p
		}
	}
	if r.rec.Progress.Edits > r.position.Edits {
		r.position.Tree = "" // it was seen to change after the last line
	}
	r.rec.Tree = r.position.Tree
	r.rec.Progress.Edits = max(r.rec.Progress.Edits, r.position.Edits)
}

// write stores messages of ours, each with the position after it.
func (r *run) write(ctx context.Context, messages ...agent.Message) error {
	for i := range messages {
		r.mark(&messages[i])
	}
	return r.rec.Append(ctx, messages...)
}

// mark adds the position to a message.
func (r *run) mark(m *agent.Message) {
	if m.Extra == nil {
		m.Extra = map[string]any{}
	}
	r.position.Edits, r.position.Tree = r.rec.Progress.Edits, r.rec.Tree
	m.Extra[keyPosition] = r.position
}

// collect stores what the program's own files tell, each message once.
func (r *run) collect(ctx context.Context) error {
	messages, next, err := r.agent.program.Collect(ctx, r.rec.Job.Sandbox, r.position.At)
	if err != nil {
		return fmt.Errorf("collect what %s did: %w", r.agent.program.Name, err)
	}
	stored := r.position.Lines
	if len(messages) < stored { // less than there was: it is being written anew, or comes in pieces now
		if next != r.position.At {
			r.position.At, r.position.Lines = next, stored-len(messages)
		}
		return nil
	}
	for i := stored; i < len(messages)-1; i++ {
		r.position.Lines = i + 1
		r.mark(&messages[i])
	}
	r.position.At, r.position.Lines = next, 0
	if len(messages) == stored {
		return nil
	}
	r.mark(&messages[len(messages)-1]) // says that the batch is whole
	return r.rec.Append(ctx, messages[stored:]...)
}
