package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/yudai-dev/yudai/agent"
)

// keyPlace is the key of Message.Extra with the [place] after the message.
const keyPlace = "place"

// place is how far a transcript has come. Each line carries the one after it, so that
// the transcript and what is known of it can never differ.
type place struct {
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
		data, err := json.Marshal(m.Extra[keyPlace])
		var p place
		if err == nil && m.Extra[keyPlace] != nil && json.Unmarshal(data, &p) == nil {
			r.place = p
		}
	}
	if r.progress.Edits > r.place.Edits {
		r.place.Tree = "" // it was seen to change after the last line
	}
	r.progress.Edits = max(r.progress.Edits, r.place.Edits)
}

// compare counts the step as an edit if it changed the tree.
func (r *run) compare(ctx context.Context) error {
	tree, err := r.job.Machine.Tree(ctx)
	if err != nil {
		return fmt.Errorf("read work tree: %w", err)
	}
	if r.place.Tree != "" && tree != r.place.Tree {
		r.progress.Edits++
	}
	r.place.Tree = tree
	return nil
}

// write stores messages of ours.
func (r *run) write(ctx context.Context, messages []agent.Message) error {
	for i := range messages {
		if messages[i].Extra == nil {
			messages[i].Extra = map[string]any{}
		}
		r.place.Edits = r.progress.Edits
		messages[i].Extra[keyPlace] = r.place
	}
	lines, err := agent.EncodeLines(messages)
	if err != nil {
		return err
	}
	return r.save(ctx, r.clean(lines))
}

// collect stores what the program's own files tell, each line once.
func (r *run) collect(ctx context.Context) error {
	lines, next, err := r.program.Collect(ctx, r.job.Machine, r.place.At)
	if err != nil {
		return fmt.Errorf("collect what %s did: %w", r.program.Name, err)
	}
	r.place.Edits = r.progress.Edits
	was := r.place
	var out bytes.Buffer
	n := 0
	for line := range bytes.Lines(r.clean(lines)) {
		if n++; n > was.Lines {
			r.place.Lines = n
			r.mark(&out, line)
		}
	}
	if n < was.Lines { // less than there was: it is being written anew
		return nil
	}
	after := was
	after.At, after.Lines = next, 0
	if out.Len() == 0 {
		r.place = after
		return nil
	}
	// The last line says that the batch is whole.
	all := out.Bytes()
	cut := bytes.LastIndexByte(all[:len(all)-1], '\n') + 1
	last := bytes.Clone(all[cut:])
	out.Truncate(cut)
	r.place = after
	r.mark(&out, last)
	return r.save(ctx, out.Bytes())
}

// mark adds a line with the place after it. What is no message is left out.
func (r *run) mark(out *bytes.Buffer, line []byte) {
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
	at, err := json.Marshal(r.place)
	if err != nil {
		return
	}
	extra[keyPlace] = at
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

// clean removes the run's token: it opens nothing once the run is over, and nobody
// has to wonder about it.
func (r *run) clean(text []byte) []byte {
	if r.job.Door.Token == "" {
		return text
	}
	return bytes.ReplaceAll(text, []byte(r.job.Door.Token), []byte("[run token]"))
}

// A saveError is a step that could not be stored.
type saveError struct{ error }

func (e saveError) Unwrap() error { return e.error }

// save makes lines and progress durable.
func (r *run) save(ctx context.Context, lines []byte) error {
	r.count()
	r.progress.At = time.Now()
	r.watch.saved = r.progress.At
	if r.job.Save == nil {
		return nil
	}
	if r.torn && len(lines) > 0 {
		lines = append([]byte("\n"), lines...)
	}
	ctx, cancel := agent.Outlasting(ctx)
	defer cancel()
	if err := r.job.Save(ctx, lines, r.progress); err != nil {
		return saveError{fmt.Errorf("save step: %w", err)}
	}
	r.torn = r.torn && len(lines) == 0
	return nil
}
