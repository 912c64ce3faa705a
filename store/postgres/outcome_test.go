package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// cutter is a way to a server that breaks once at a commit: before the server gets it, or before its answer comes back.
// All servers' processes have one number behind it, as they may have after the start of another container.
type cutter struct {
	armed, answered atomic.Bool
}

// through returns a DSN that leads to the same schema by way of the cutter.
func (c *cutter) through(t *testing.T, dsn string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cutter")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const socket = ".s.PGSQL.5432"
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	host, _, _ := strings.Cut(strings.TrimPrefix(dsn, "host="), " ")
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := (&net.Dialer{}).DialContext(t.Context(), "unix", filepath.Join(host, socket))
			if err != nil {
				_ = client.Close()
				continue
			}
			go c.carry(client, server)
		}
	}()
	return strings.Replace(dsn, host, dir, 1)
}

// carry passes on what is said, until the commit that is to be cut.
func (c *cutter) carry(client, server net.Conn) {
	var deaf atomic.Bool
	go func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil || deaf.Load() {
				break
			}
			if at := bytes.Index(buf[:n], []byte("K\x00\x00\x00\x0c")); at >= 0 {
				copy(buf[at+5:n], "\x00\x00\x00\x07")
			}
			if _, err := client.Write(buf[:n]); err != nil {
				break
			}
		}
		_, _ = client.Close(), server.Close()
	}()
	defer func() { _, _ = client.Close(), server.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("commit\x00")) && c.armed.CompareAndSwap(true, false) {
			if !c.answered.Load() {
				return
			}
			deaf.Store(true)
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if deaf.Load() {
			_, _ = io.Copy(io.Discard, client) // until the other side has heard the answer, and closes
			return
		}
	}
}

// TestACommitWhoseAnswerIsLost is known to be made, or not to be made: who does it again does nothing twice.
func TestACommitWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]bool{"the answer is lost": true, "the commit is lost": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, way := config(t), &cutter{}
			way.answered.Store(made)
			direct := c.DSN
			c.DSN = way.through(t, c.DSN)
			s, ctx := open(t, c), t.Context()
			if err := s.Heartbeat(ctx, "n1", time.Hour); err != nil {
				t.Fatal(err)
			}
			one := claimed(t, s, "s1", 1)
			way.armed.Store(true)
			after, _, err := s.Apply(ctx, solve.Change{Solve: one.ID, Token: one.Lease.Token, Event: solve.Aborted{}, Reason: "why"})
			if (err == nil) != made || made && after.Reason != "why" {
				t.Errorf("%s, %v", after.Reason, err)
			}
			if way.armed.Load() {
				t.Fatal("nothing was cut")
			}
			now, failed := s.Solve(ctx, one.ID)
			if failed != nil || now.State.Final() != made {
				t.Errorf("the solve is %s, %v", now.State, failed)
			}
			if n := rows(t, direct, "event where record ->> 'event' = 'failed'"); (n == 1) != made {
				t.Errorf("%d events", n)
			}
		})
	}
}

// TestConnectionsAreToldApart although their servers' processes have the same number: what the first did is known after the second did more.
func TestConnectionsAreToldApart(t *testing.T) {
	t.Parallel()
	c, way := config(t), &cutter{}
	direct := c.DSN
	c.DSN = way.through(t, c.DSN) + " application_name=apart"
	s, ctx := open(t, c), t.Context()
	if err := s.Heartbeat(ctx, "n1", time.Hour); err != nil {
		t.Fatal(err)
	}
	sql(t, direct, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'apart'")
	patient(t, func() error { return s.Heartbeat(ctx, "n1", time.Hour) })
	if n := rows(t, direct, "outcome where n > 0"); n < 2 {
		t.Errorf("%d connections are known, want 2", n)
	}
}

// TestNobodyAsksAfterClose: a commit whose outcome is unknown has failed when the store is closed.
func TestNobodyAsksAfterClose(t *testing.T) {
	t.Parallel()
	s := open(t, config(t))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	lost := errors.New("the answer was lost")
	if err := s.Settle(ctx, lost); !errors.Is(err, lost) || ctx.Err() != nil {
		t.Errorf("%v; it asked until its context ended: %v", err, ctx.Err())
	}
}
