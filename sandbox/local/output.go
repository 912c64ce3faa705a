package local

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yudai-dev/yudai/sandbox/output"
)

// stream reads one pipe to its end and feeds the bytes to a writer. Reading
// never waits for the writer longer than its patience: a command must not hang
// because of who listens.
type stream struct {
	pipe    *os.File
	feed    *output.Feed
	last    *tail         // keeps the end, cap or not
	read    chan struct{} // the pipe ended
	waiting atomic.Bool   // pull waits for the pipe
	reads   atomic.Int64  // counts finished reads
	once    sync.Once
}

const chunkSize = 32 << 10

// newStream starts copying from pipe to w, which may be nil.
func newStream(pipe *os.File, w io.Writer, b *output.Budget, patience time.Duration) *stream {
	s := &stream{pipe: pipe, feed: output.New(w, b, patience), last: &tail{}, read: make(chan struct{})}
	go s.pull()
	return s
}

// pull reads the pipe.
func (s *stream) pull() {
	defer close(s.read)
	defer s.feed.End()
	buf := make([]byte, chunkSize)
	for {
		s.waiting.Store(true)
		n, err := s.pipe.Read(buf)
		s.reads.Add(1)
		s.waiting.Store(false)
		if n > 0 {
			_, _ = s.last.Write(buf[:n])
			_, _ = s.feed.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// finish waits until the output of a command that has ended is delivered. The
// pipe may still be held open by something the command handed it to, and the
// writer may block: both are waited for only while they make progress.
func (s *stream) finish() {
	s.drain()
	s.feed.Wait()
	s.close()
}

// pipeGrace is how long an open pipe may stay silent after its command ended.
const pipeGrace = 300 * time.Millisecond

// drain waits for the end of the pipe, or for it to fall silent.
func (s *stream) drain() {
	tick := time.NewTicker(pipeGrace)
	defer tick.Stop()
	seen := int64(-1)
	for {
		select {
		case <-s.read:
			return
		case <-tick.C:
		}
		now := s.reads.Load()
		if s.waiting.Load() && now == seen {
			_ = s.pipe.SetReadDeadline(time.Now())
			<-s.read
			return
		}
		seen = now
	}
}

func (s *stream) close() { s.once.Do(func() { _ = s.pipe.Close() }) }
