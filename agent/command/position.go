package command

import (
	"bytes"
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
	// At is what Program.Collect was last asked for, and Lines how many of the lines it
	// then returned are stored: a batch may have been torn in the middle.
	At    string `json:"at,omitempty"`
	Lines int    `json:"lines,omitempty"`
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
		if messages[i].Extra == nil {
			messages[i].Extra = map[string]any{}
		}
		r.position.Edits, r.position.Tree = r.rec.Progress.Edits, r.rec.Tree
		messages[i].Extra[keyPosition] = r.position
	}
	return r.rec.Append(ctx, messages...)
}

// collect stores what the program's own files tell, each line once.
func (r *run) collect(ctx context.Context) error {
	lines, next, err := r.agent.program.Collect(ctx, r.rec.Job.Sandbox, r.position.At)
	if err != nil {
		return fmt.Errorf("collect what %s did: %w", r.agent.program.Name, err)
	}
	r.position.Edits, r.position.Tree = r.rec.Progress.Edits, r.rec.Tree
	was := r.position
	var out bytes.Buffer
	n := 0
	for line := range bytes.Lines(lines) {
		if n++; n > was.Lines {
			r.position.Lines = n
			r.appendLine(&out, line)
		}
	}
	if n < was.Lines { // less than there was: it is being written anew, or comes in pieces now
		if next != was.At {
			r.position.At, r.position.Lines = next, was.Lines-n
		}
		return nil
	}
	after := was
	after.At, after.Lines = next, 0
	if out.Len() == 0 {
		r.position = after
		return nil
	}
	// The last line says that the batch is whole.
	all := out.Bytes()
	cut := bytes.LastIndexByte(all[:len(all)-1], '\n') + 1
	last := bytes.Clone(all[cut:])
	out.Truncate(cut)
	r.position = after
	r.appendLine(&out, last)
	return r.rec.Save(ctx, out.Bytes())
}

// appendLine adds a line with the position after it. What is no message is left out.
func (r *run) appendLine(out *bytes.Buffer, line []byte) {
	var m map[string]json.RawMessage
	extra := map[string]json.RawMessage{}
	if json.Unmarshal(line, &m) != nil || m["role"] == nil {
		return
	}
	if m["extra"] != nil && json.Unmarshal(m["extra"], &extra) != nil {
		return
	}
	if extra == nil { // it said null
		extra = map[string]json.RawMessage{}
	}
	at, err := json.Marshal(r.position)
	if err != nil {
		return
	}
	extra[keyPosition] = at
	if m["extra"], err = encode(extra); err != nil {
		return
	}
	if whole, err := encode(m); err == nil {
		out.Write(whole)
		out.WriteByte('\n')
	}
}

// encode is JSON without the escapes of HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
