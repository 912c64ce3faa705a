//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Enabled says whether this build has failpoints.
const Enabled = true

// point is what the environment asked for, and how often each name was hit.
type point struct {
	name   string
	action Action
	nth    int // from 1
	stall  time.Duration
	log    *os.File

	mu   sync.Mutex
	hits map[string]int
}

var environment = sync.OnceValue(func() *point {
	p, err := load(os.Getenv)
	if err != nil {
		panic(err)
	}
	return p
})

func load(getenv func(string) string) (*point, error) {
	p := &point{hits: map[string]int{}}
	var err error
	if text := getenv("YUDAI_FAILPOINT"); text != "" {
		name, rest, _ := strings.Cut(text, "=")
		action, nth, _ := strings.Cut(rest, "@")
		p.name, p.action = name, Action(action)
		if p.nth, err = strconv.Atoi(nth); err != nil {
			return nil, fmt.Errorf("YUDAI_FAILPOINT: %w", err)
		}
	}
	if text := getenv("YUDAI_FAILPOINT_STALL"); text != "" {
		if p.stall, err = time.ParseDuration(text); err != nil {
			return nil, fmt.Errorf("YUDAI_FAILPOINT_STALL: %w", err)
		}
	}
	if path := getenv("YUDAI_FAILPOINT_LOG"); path != "" {
		if p.log, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
			return nil, fmt.Errorf("YUDAI_FAILPOINT_LOG: %w", err)
		}
	}
	return p, nil
}

// Hit marks a point. Its name is the parts, joined by dots.
func Hit(parts ...string) {
	p := environment()
	if p.log == nil && p.name == "" {
		return
	}
	if p.due(strings.Join(parts, ".")) {
		p.act()
	}
}

// due counts a hit and says whether it is the one.
func (p *point) due(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hits[name]++
	n := p.hits[name]
	if p.log != nil {
		fmt.Fprintf(p.log, "%s@%d\n", name, n)
	}
	return name == p.name && n == p.nth
}

func (p *point) act() {
	switch p.action {
	case Kill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	case Stop:
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case Stall:
		time.Sleep(p.stall)
	}
}

// Mutated says whether the program runs with the mutation.
func Mutated(m Mutation) bool { return m == mutation() }

var mutation = sync.OnceValue(func() Mutation { return Mutation(os.Getenv("YUDAI_MUTATION")) })
