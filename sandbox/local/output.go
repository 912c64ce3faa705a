package local

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// writerPatience is how long a caller's writer may block before its output is
// dropped. A variable of a stream, not of the package, so that tests can differ.
const writerPatience = 2 * time.Second

// budget is what both streams of a command may pass on together.
type budget struct {
	left      atomic.Int64
	truncated atomic.Bool
}

// take returns how much of n may still be passed on.
func (b *budget) take(n int) int {
	for {
		left := b.left.Load()
		give := min(int64(n), left)
		if b.left.CompareAndSwap(left, left-give) {
			if give < int64(n) {
				b.truncated.Store(true)
			}
			return int(give)
		}
	}
}

// stream reads one pipe to its end and hands the bytes to a writer. Reading
// never waits for the writer longer than its patience: a command must not hang
// because of who listens. Memory is bounded by the queue.
type stream struct {
	pipe     *os.File
	budget   *budget
	last     *tail // keeps the end, cap or not
	patience time.Duration
	queue    chan []byte
	read     chan struct{} // the pipe ended
	written  chan struct{} // the writer has everything it will get
	dropping atomic.Bool
	waiting  atomic.Bool  // pull waits for the pipe
	beats    atomic.Int64 // counts finished writes
	reads    atomic.Int64 // counts finished reads
	once     sync.Once
}

const (
	chunkSize = 32 << 10
	queueSize = 32
)

// newStream starts copying from pipe to w, which may be nil.
func newStream(pipe *os.File, w io.Writer, b *budget, patience time.Duration) *stream {
	s := &stream{
		pipe: pipe, budget: b, last: &tail{}, patience: patience,
		queue: make(chan []byte, queueSize), read: make(chan struct{}), written: make(chan struct{}),
	}
	go s.pull(w != nil)
	go s.push(w)
	return s
}

// pull reads the pipe.
func (s *stream) pull(wanted bool) {
	defer close(s.read)
	defer close(s.queue)
	buf := make([]byte, chunkSize)
	for {
		s.waiting.Store(true)
		n, err := s.pipe.Read(buf)
		s.reads.Add(1)
		s.waiting.Store(false)
		if n > 0 {
			_, _ = s.last.Write(buf[:n])
			give := n
			if wanted {
				give = s.budget.take(n)
			}
			if wanted && give > 0 {
				s.offer(append([]byte(nil), buf[:give]...))
			}
		}
		if err != nil {
			return
		}
	}
}

// offer queues a chunk, or gives the writer up.
func (s *stream) offer(chunk []byte) {
	if s.dropping.Load() {
		s.budget.truncated.Store(true)
		return
	}
	select {
	case s.queue <- chunk:
		return
	default:
	}
	late := time.NewTimer(s.patience)
	defer late.Stop()
	for {
		seen := s.beats.Load()
		select {
		case s.queue <- chunk:
			return
		case <-late.C:
			if s.beats.Load() == seen {
				s.dropping.Store(true)
				s.budget.truncated.Store(true)
				return
			}
			late.Reset(s.patience)
		}
	}
}

// push writes what was read; after an error or once given up it only drains.
func (s *stream) push(w io.Writer) {
	defer close(s.written)
	for chunk := range s.queue {
		if s.dropping.Load() {
			s.budget.truncated.Store(true)
			continue
		}
		if _, err := w.Write(chunk); err != nil {
			s.dropping.Store(true)
			s.budget.truncated.Store(true)
		}
		s.beats.Add(1)
	}
}

// finish waits until the output of a command that has ended is delivered. The
// pipe may still be held open by something the command handed it to, and the
// writer may block: both are waited for only while they make progress.
func (s *stream) finish() {
	s.drain()
	for {
		seen := s.beats.Load()
		wait := s.patience
		if s.dropping.Load() { // given up already: only let a Write that returns now return
			wait = min(wait, 50*time.Millisecond)
		}
		late := time.NewTimer(wait)
		select {
		case <-s.written:
			late.Stop()
			s.close()
			return
		case <-late.C:
		}
		if s.beats.Load() == seen {
			s.dropping.Store(true)
			s.budget.truncated.Store(true)
			s.close()
			return
		}
	}
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

// sameWriter reports whether both are one writer; values that cannot be
// compared are two.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a != nil && a == b
}
