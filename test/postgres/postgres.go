// Package postgres starts a PostgreSQL server of its own for tests: a directory in
// memory where there is one, a unix socket, no port, no password. As root it runs
// under another user. Nothing of it is left when it stops.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is one running server.
type Server struct {
	dir   string
	as    *syscall.SysProcAttr
	tools string   // directory of its programs
	life  *os.File // while it is open, the server may run
	guard *exec.Cmd
}

// patience is how long the server may take to start, on a busy machine.
const patience = 60 * time.Second

// Missing says why no server can be started here; nil if one can.
func Missing() error {
	_, err := tools()
	return err
}

// tools finds the directory of the server's programs. Debian leaves them off the PATH,
// where there is only the client's wrapper.
func tools() (string, error) {
	path, err := exec.LookPath("initdb")
	if err == nil {
		return filepath.Dir(path), nil
	}
	if _, err := exec.LookPath("psql"); err != nil {
		return "", fmt.Errorf("find PostgreSQL: %w", err)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.Join(errors.New("find PostgreSQL: there is only the client"), err)
	}
	return filepath.Dir(slices.Max(found)), nil
}

// Start makes an empty server and starts it.
func Start(ctx context.Context) (*Server, error) {
	bin, err := tools()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/dev/shm", "yudai-postgres-")
	if err != nil {
		dir, err = os.MkdirTemp("", "yudai-postgres-")
	}
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	s := &Server{dir: dir, tools: bin}
	if err = s.unprivileged(); err == nil {
		err = s.watch(context.WithoutCancel(ctx))
	}
	if err == nil {
		err = s.create(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w", err), s.Stop(ctx))
	}
	return s, nil
}

// watch starts a process that ends the server when this one has ended, even by SIGKILL.
func (s *Server) watch(ctx context.Context) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	s.life = write
	c := exec.CommandContext(ctx, "sh", "-c", `cat; "$0" -D "$1/data" -m immediate stop; rm -rf "$1"`, filepath.Join(s.tools, "pg_ctl"), s.dir)
	c.Stdin, c.Dir, c.SysProcAttr = read, "/", &syscall.SysProcAttr{Setpgid: true} // an interrupt is not for it
	if s.as != nil {
		c.SysProcAttr.Credential = s.as.Credential
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.guard = c
	return nil
}

func (s *Server) create(ctx context.Context) error {
	if err := s.run(ctx, "initdb", "-D", s.data(), "-U", "yudai", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"); err != nil {
		return err
	}
	return s.Launch(ctx)
}

// Launch starts the server again after [Server.Halt].
func (s *Server) Launch(ctx context.Context) error {
	how := "-k " + s.dir + " -c listen_addresses= -c fsync=off -c max_connections=500"
	return s.run(ctx, "pg_ctl", "-D", s.data(), "-w", "-t", strconv.Itoa(int(patience.Seconds())), "-l", filepath.Join(s.dir, "log"), "-o", how, "start")
}

// Halt ends the server as a loss of power would. Its data stay.
func (s *Server) Halt(ctx context.Context) error {
	return s.run(ctx, "pg_ctl", "-D", s.data(), "-w", "-m", "immediate", "stop")
}

// Promote lets the server begin another timeline, as after a failover: it starts
// as a standby of nobody and is made the primary.
func (s *Server) Promote(ctx context.Context) error {
	if err := s.run(ctx, "pg_ctl", "-D", s.data(), "-w", "-m", "fast", "stop"); err != nil {
		return err
	}
	signal := filepath.Join(s.data(), "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		return err
	}
	if s.as != nil {
		if err := os.Chown(signal, int(s.as.Credential.Uid), int(s.as.Credential.Gid)); err != nil {
			return err
		}
	}
	if err := s.Launch(ctx); err != nil {
		return err
	}
	return s.run(ctx, "pg_ctl", "-D", s.data(), "-w", "promote")
}

// Stop ends the server and removes its data.
func (s *Server) Stop(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.data(), "postmaster.pid")); err == nil {
		_ = s.Halt(context.WithoutCancel(ctx)) // it may be down
	}
	err := os.RemoveAll(s.dir)
	if s.guard != nil {
		_ = s.life.Close()
		_ = s.guard.Wait() // it found nothing to stop
	}
	return err
}

// DSN names a schema of the server's only database.
func (s *Server) DSN(schema string) string {
	return fmt.Sprintf("host=%s user=yudai dbname=postgres search_path=%s", s.dir, schema)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// unprivileged gives the directory to a user who is not root: PostgreSQL refuses root.
func (s *Server) unprivileged() error {
	if os.Geteuid() != 0 {
		return nil
	}
	who, err := user.Lookup("nobody")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(who.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(who.Gid)
	if err != nil {
		return err
	}
	s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return os.Chown(s.dir, uid, gid)
}

// run runs one of the server's programs.
func (s *Server) run(ctx context.Context, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := exec.CommandContext(ctx, filepath.Join(s.tools, program), args...)
	c.SysProcAttr, c.Dir, c.Env = s.as, s.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "LC_ALL=C"}
	said, err := os.Create(filepath.Join(s.dir, program+".out")) // a pipe would be held by the server
	if err != nil {
		return err
	}
	defer func() { _ = said.Close() }()
	c.Stdout, c.Stderr = said, said
	if err := c.Run(); err != nil {
		text, _ := os.ReadFile(said.Name())
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(string(text)))
	}
	return nil
}
