package docker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/api/pkg/stdcopy"
)

// demultiplex passes on the frames of a stream that carries two: each has a head
// of eight bytes, the stream's number and the length of what follows. Unlike
// stdcopy it tells an end between two frames from an end within one, and holds
// no more than a piece of a frame.
func demultiplex(r io.Reader, out func(stderr bool, data []byte)) error {
	head, buf := make([]byte, 8), make([]byte, 32<<10)
	for {
		if _, err := io.ReadFull(r, head); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		kind := stdcopy.StdType(head[0])
		if kind > stdcopy.Systemerr || head[1]|head[2]|head[3] != 0 {
			return fmt.Errorf("read output: %x is no head of a frame", head)
		}
		for left := int64(binary.BigEndian.Uint32(head[4:])); left > 0; {
			n, err := r.Read(buf[:min(left, int64(len(buf)))])
			if n > 0 && kind == stdcopy.Systemerr {
				return fmt.Errorf("read output: the engine says: %s", buf[:n])
			}
			if n > 0 {
				out(kind == stdcopy.Stderr, buf[:n])
			}
			left -= int64(n)
			if err != nil && left > 0 {
				return fmt.Errorf("read output: it ends within a frame: %w", err)
			}
		}
	}
}
