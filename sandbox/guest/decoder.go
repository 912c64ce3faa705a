package guest

import (
	"encoding/binary"
	"fmt"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// decoder takes an answer apart. It passes pieces of output on as they come and never
// holds a whole frame of them.
type decoder struct {
	// output gets the pieces of a command's output; nil discards them.
	output func(stderr bool, data []byte)

	head   []byte
	left   int // bytes of the current frame that are still to come
	end    []byte
	answer *protocol.Answer // set by the end
}

// Write takes the next bytes. It fails on what is no frame.
func (d *decoder) Write(p []byte) (int, error) {
	all := len(p)
	for len(p) > 0 {
		if d.answer != nil {
			return 0, fmt.Errorf("%d bytes after the end of an answer", len(p))
		}
		if d.left == 0 {
			n := min(protocol.HeadSize-len(d.head), len(p))
			d.head, p = append(d.head, p[:n]...), p[n:]
			if len(d.head) < protocol.HeadSize {
				break
			}
			if d.left = int(binary.BigEndian.Uint32(d.head[1:])); d.left == 0 || d.left > protocol.MaxData {
				return 0, fmt.Errorf("%x is no head of a frame", d.head)
			}
		}
		n := min(d.left, len(p))
		if err := d.data(p[:n]); err != nil {
			return 0, err
		}
		p = p[n:]
	}
	return all, nil
}

// data takes a piece of the current frame.
func (d *decoder) data(p []byte) error {
	d.left -= len(p)
	kind := d.head[0]
	if d.left == 0 {
		d.head = d.head[:0]
	}
	switch kind {
	case protocol.FrameOut, protocol.FrameErr:
		if d.output != nil {
			d.output(kind == protocol.FrameErr, p)
		}
		return nil
	case protocol.FrameEnd:
		if d.end = append(d.end, p...); d.left > 0 {
			return nil
		}
		a, err := protocol.ParseAnswer(string(d.end))
		if err != nil {
			return fmt.Errorf("read an answer: %w", err)
		}
		d.answer = &a
		return nil
	}
	return fmt.Errorf("%q is no kind of frame", kind)
}
