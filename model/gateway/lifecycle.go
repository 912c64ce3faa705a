package gateway

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Runs lists the runs that something is kept for.
func (g *Gateway) Runs() ([]string, error) {
	entries, err := os.ReadDir(g.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list runs of the gateway: %w", err)
	}
	var out []string
	seen := map[string]bool{}
	for _, e := range entries {
		run := strings.TrimSuffix(e.Name(), ".open")
		if checkRun(run) == nil && !seen[run] {
			seen[run] = true
			out = append(out, run)
		}
	}
	return out, nil
}

// Forget removes what is kept for a run that is over. Forgetting an unknown one is no error.
func (g *Gateway) Forget(run string) error {
	if err := checkRun(run); err != nil {
		return fmt.Errorf("forget a run at the gateway: %w", err)
	}
	g.mu.Lock()
	s, l := g.sessions[run], g.sockets[run]
	delete(g.sockets, run)
	g.mu.Unlock()
	if s != nil {
		g.closeSession(s)
	}
	if l != nil {
		l.close()
	}
	err := errors.Join(os.RemoveAll(filepath.Join(g.dir, run)), os.RemoveAll(g.openMarker(run)))
	if err != nil {
		return fmt.Errorf("forget run %s at the gateway: %w", run, err)
	}
	return nil
}

// Stop ends every call and lets none in any more: agents are told to come again. No run
// ends by that, whatever becomes of its session afterwards.
func (g *Gateway) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	for _, s := range g.sessions {
		s.close(errNotOpen)
	}
}

// Close is Stop, waits until every call is settled, and stops listening. The next gateway
// in the same directory lets the runs in again. It may be called twice.
func (g *Gateway) Close() error {
	g.Stop()
	g.mu.Lock()
	g.closed = true
	sessions, all := g.sessions, []*listening{}
	for _, l := range g.sockets {
		all = append(all, l)
	}
	if g.local != nil {
		all = append(all, g.local)
	}
	g.sessions, g.sockets, g.local = map[string]*session{}, map[string]*listening{}, nil
	g.mu.Unlock()
	for _, s := range sessions {
		s.calls.Wait()
	}
	for _, l := range all {
		l.close()
	}
	return nil
}
