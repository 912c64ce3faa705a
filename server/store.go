package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/reconcile"
	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/store/postgres"
	"github.com/yudai-dev/yudai/web"
)

// store is what the server's parts need of an engine, and what it needs itself. The promises are in storetest.
type store interface {
	api.Solves
	bundle.Store
	ghapp.EffectStore
	reconcile.Store
	solver.Store
	web.Store
	measuredStore
	// Prune removes what is older than store.keep_deliveries and store.keep_logs.
	Prune(ctx context.Context, now time.Time) error
	Close() error
}

// The engines.
const (
	engineBolt     = "bolt"
	enginePostgres = "postgres"
)

// StoreConfig is the section "store".
type StoreConfig struct {
	// What stores solves: bolt is a file, postgres a PostgreSQL database (docs/postgresql.md).
	Engine string `yaml:"engine"`
	// The environment variable that holds the connection string of the database, for the engine postgres:
	// postgres://user:password@host/database, or pairs such as host=/run/postgresql dbname=yudai.
	DSNEnv string `yaml:"dsn_env"`
	// A file that holds it, read if the variable is empty; "" is none.
	DSNFile     string `yaml:"dsn_file"`
	bolt.Config `yaml:",inline"`
}

// Validate reports every bad value by its key.
func (c StoreConfig) Validate(report setting.Report) {
	report.Unless(c.Engine == engineBolt || c.Engine == enginePostgres,
		"engine", fmt.Sprintf("%q is no engine: write bolt or postgres", c.Engine))
	report.Unless(c.DSNEnv == "" || solve.VariableName(c.DSNEnv),
		"dsn_env", "must be the name of an environment variable, not the connection string itself")
	c.Config.Validate(report)
}

// dir is where this node keeps what is not in its database.
func (c StoreConfig) dir() string { return filepath.Dir(c.Path) }

// dsn finds the connection string, and the name of where it is set.
func (c StoreConfig) dsn(getenv func(string) string) (text, setting string, err error) {
	if c.DSNEnv != "" {
		text, setting = strings.TrimSpace(getenv(c.DSNEnv)), "the environment variable "+c.DSNEnv+" (store.dsn_env)"
	}
	if text == "" && c.DSNFile != "" {
		data, err := os.ReadFile(c.DSNFile)
		if err != nil {
			return "", "", fmt.Errorf("read store.dsn_file: %w", err)
		}
		text, setting = strings.TrimSpace(string(data)), c.DSNFile+" (store.dsn_file)"
	}
	if setting == "" {
		return "", "", errors.New("open store: store.engine is postgres: set store.dsn_env or store.dsn_file")
	}
	return text, setting, nil
}

// openStore opens the configured engine for an App.
func (s *Server) openStore(ctx context.Context, app int64, getenv func(string) string) (store, error) {
	c := s.cfg.Store
	c.Ended = s.metrics.ended
	if c.Engine != enginePostgres {
		opened, err := bolt.Open(c.Config)
		if err != nil {
			return nil, fmt.Errorf("store.path: %w", err)
		}
		return opened, nil
	}
	dsn, setting, err := c.dsn(getenv)
	if err != nil {
		return nil, err
	}
	home, err := s.lockHome(c.dir())
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if _, err := os.Stat(c.Path); err == nil {
		s.log.Warn().Msg("store.engine is postgres: nobody looks at what " + c.Path + " holds")
	}
	return s.openPostgres(ctx, postgres.Config{
		DSN: dsn, Setting: setting, Installation: "GitHub App " + strconv.FormatInt(app, 10), Home: home, Process: thisProcess(),
		KeepDeliveries: c.KeepDeliveries, KeepLogs: c.KeepLogs, Ended: c.Ended,
	})
}

// leaseMargin is how much longer than a lease a start waits for the end of another home's.
const leaseMargin = 5 * time.Second

// openPostgres waits for the lease of a process of another home, which may be dead.
func (s *Server) openPostgres(ctx context.Context, c postgres.Config) (store, error) {
	opened, err := postgres.Open(ctx, c)
	if errors.Is(err, postgres.ErrTaken) {
		s.log.Warn().Err(err).Msg("waiting for the lease to run out")
	}
	for end := time.Now().Add(s.cfg.Solver.LeaseTime + leaseMargin); errors.Is(err, postgres.ErrTaken) && time.Now().Before(end); {
		if clock.Sleep(ctx, time.Second) != nil {
			break
		}
		opened, err = postgres.Open(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// homeFile holds the name of a directory, for the database that belongs to it.
const homeFile = "node"

// lockHome keeps other processes from the directory until this one ends, and returns its name.
func (s *Server) lockHome(dir string) (name string, err error) {
	if err := durable.MakeDirs(dir); err != nil {
		return "", err
	}
	if s.home, err = os.Open(dir); err != nil {
		return "", err
	}
	err = syscall.Flock(int(s.home.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return "", fmt.Errorf("another yudai uses %s: stop it, or give this one a directory of its own with store.path", dir)
	}
	if err != nil {
		return "", fmt.Errorf("lock %s (store.path): %w", dir, err)
	}
	file := filepath.Join(dir, homeFile)
	data, err := os.ReadFile(file)
	if name = strings.TrimSpace(string(data)); err == nil && name != "" && !strings.Contains(name, " ") {
		return name, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	name = rand.Text()
	return name, durable.WriteFile(file, []byte(name+"\n"))
}

// thisProcess tells people where it is.
func thisProcess() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s, process %d", cmp.Or(host, "a machine without a name"), os.Getpid())
}

// backup writes a copy of the store; nil where the engine leaves that to other programs.
func (s *Server) backup() func(context.Context, io.Writer) error {
	if b, ok := s.store.(*bolt.Store); ok {
		return b.Backup
	}
	return nil
}
