package e2b

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A stream of the daemon is a row of envelopes: a byte of flags, the length in
// four bytes, the biggest first, and so many bytes of JSON.
const (
	flagCompressed = 1
	flagEnd        = 2
	headLength     = 5
	// maxEnvelope bounds one: the daemon sends 32 KiB of output at a time.
	maxEnvelope = 4 << 20
)

// errNoEnd says that a stream was over before its last envelope: the connection
// was lost, whatever came before.
var errNoEnd = errors.New("the stream ended early")

// envelope frames one message to send.
func envelope(message any) ([]byte, error) {
	data, err := json.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	out := make([]byte, headLength, headLength+len(data))
	binary.BigEndian.PutUint32(out[1:], uint32(len(data))) //nolint:gosec // far below 4 GiB
	return append(out, data...), nil
}

// opened reads the envelopes of a stream.
type opened struct {
	from io.Reader
	buf  []byte
}

// next returns the content of the next envelope until the last one, and then
// io.EOF if the call succeeded, or its error. A stream that just stops is
// errNoEnd. The content is valid until the next call.
func (o *opened) next() ([]byte, error) {
	var head [headLength]byte
	if _, err := io.ReadFull(o.from, head[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoEnd, err)
	}
	n := binary.BigEndian.Uint32(head[1:])
	if head[0]&flagCompressed != 0 || head[0]&^(flagCompressed|flagEnd) != 0 || n > maxEnvelope {
		return nil, fmt.Errorf("%w: no envelope: flags %d, %d bytes", errNoEnd, head[0], n)
	}
	if int(n) > cap(o.buf) {
		o.buf = make([]byte, n)
	}
	o.buf = o.buf[:n]
	if _, err := io.ReadFull(o.from, o.buf); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoEnd, err)
	}
	if head[0]&flagEnd == 0 {
		return o.buf, nil
	}
	return nil, lastWord(o.buf)
}

// lastWord reads the last envelope: io.EOF for success.
func lastWord(data []byte) error {
	var last struct {
		Error *refusal `json:"error"`
	}
	if err := json.Unmarshal(data, &last); err != nil {
		return fmt.Errorf("%w: the last envelope: %w", errNoEnd, err)
	}
	if last.Error != nil {
		return last.Error
	}
	return io.EOF
}

// refusal is an error of the daemon's own.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error says what the daemon said.
func (r *refusal) Error() string { return oneLine(r.Code + ": " + r.Message) }
