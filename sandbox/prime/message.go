package prime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of the service command_session.CommandSession that we need, coded
// by hand: they are few and small.

// spec is what a session runs (CommandSpec).
type spec struct {
	cmd  string
	args []string
	envs map[string]string
	cwd  string
	user string // an existing user of the machine; "" is the machine's own choice
}

// encode makes a StartRequest. That there is no input is said, not left out.
func (s spec) encode() []byte {
	var b []byte
	b = appendString(b, 1, s.cmd)
	for _, a := range s.args {
		b = appendString(b, 2, a)
	}
	for _, k := range slices.Sorted(maps.Keys(s.envs)) {
		pair := appendString(appendString(nil, 1, k), 2, s.envs[k])
		b = protowire.AppendBytes(protowire.AppendTag(b, 3, protowire.BytesType), pair)
	}
	if s.cwd != "" {
		b = appendString(b, 4, s.cwd)
	}
	if s.user != "" {
		b = appendString(b, 5, s.user)
	}
	req := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), b)
	return protowire.AppendVarint(protowire.AppendTag(req, 4, protowire.VarintType), 0)
}

func appendString(b []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

// event is what a stream says: output, or the end of the command, or nothing that matters.
type event struct {
	stdout, stderr []byte
	ended          bool
	code           int
	failure        string // why the command did not run, with ended
}

// decodeEvent reads a StartResponse.
func decodeEvent(data []byte) (event, error) {
	var e event
	err := fields(data, func(n protowire.Number, body []byte, _ uint64) error {
		if n != 1 {
			return nil
		}
		return fields(body, func(n protowire.Number, body []byte, _ uint64) error {
			switch n {
			case 2:
				return fields(body, func(n protowire.Number, body []byte, _ uint64) error {
					switch n {
					case 1:
						e.stdout = append(e.stdout, body...)
					case 2:
						e.stderr = append(e.stderr, body...)
					}
					return nil
				})
			case 3:
				e.ended = true
				return e.decodeEnd(body)
			}
			return nil // start, keep-alive, and what comes later
		})
	})
	return e, err
}

// decodeEnd reads an EndEvent. Its exit code is a sint32, and absent where it is 0.
func (e *event) decodeEnd(data []byte) error {
	return fields(data, func(n protowire.Number, body []byte, v uint64) error {
		switch n {
		case 1:
			e.code = int(int32(protowire.DecodeZigZag(v & (1<<32 - 1)))) //nolint:gosec // a sint32 by definition
		case 4:
			e.failure = string(body)
		}
		return nil
	})
}

// fields passes every field of a message on: bytes or number, by its type.
func fields(data []byte, field func(n protowire.Number, body []byte, v uint64) error) error {
	for len(data) > 0 {
		n, typ, size := protowire.ConsumeTag(data)
		if size < 0 {
			return fmt.Errorf("read message: %w", protowire.ParseError(size))
		}
		data = data[size:]
		var body []byte
		var v uint64
		switch typ {
		case protowire.BytesType:
			body, size = protowire.ConsumeBytes(data)
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(data)
		default:
			size = protowire.ConsumeFieldValue(n, typ, data)
		}
		if size < 0 {
			return fmt.Errorf("read message: %w", protowire.ParseError(size))
		}
		data = data[size:]
		if err := field(n, body, v); err != nil {
			return err
		}
	}
	return nil
}

// Flags of a frame.
const (
	frameCompressed = 1
	frameEnd        = 2
)

// mostFrame bounds what a frame may claim to hold.
const mostFrame = 16 << 20

// frame puts a message in its frame: a byte of flags, the length, the message.
func frame(flags byte, message []byte) []byte {
	b := make([]byte, 5, 5+len(message))
	b[0] = flags
	binary.BigEndian.PutUint32(b[1:], uint32(len(message))) //nolint:gosec // ours are small
	return append(b, message...)
}

// frames reads frames one after the other into one buffer.
type frames struct {
	r   io.Reader
	buf []byte
}

// next returns the next frame; its message holds until the next call. io.EOF says
// that the stream ended between two frames.
func (f *frames) next() (flags byte, message []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(binary.BigEndian.Uint32(head[1:]))
	switch {
	case n > mostFrame:
		return 0, nil, fmt.Errorf("a frame of %d bytes", n)
	case head[0]&frameCompressed != 0:
		return 0, nil, errors.New("a compressed frame, which nobody asked for")
	}
	f.buf = f.buf[:0]
	for len(f.buf) < n { // what was only claimed takes no memory
		step := min(n-len(f.buf), 64<<10)
		f.buf = slices.Grow(f.buf, step)
		got, err := io.ReadFull(f.r, f.buf[len(f.buf):len(f.buf)+step])
		f.buf = f.buf[:len(f.buf)+got]
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
	}
	return head[0], f.buf, nil
}
