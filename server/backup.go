package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/store/bolt"
)

// Backup writes a backup of the configured store: of the server that has it open,
// or of the files if no server answers. base is the server's address, "" for the
// configured one. It returns where the backup is from.
func Backup(ctx context.Context, cfg Config, base string, getenv func(string) string, w io.Writer) (from string, err error) {
	if cfg.Store.Engine == enginePostgres {
		return "", fmt.Errorf("store.engine is postgres: back the database up with pg_dump, and copy %s (docs/postgresql.md)", cfg.bundles())
	}
	c, err := NewClient(cfg, base, getenv)
	if err != nil {
		return "", err
	}
	base = c.bases[0] // where it does not listen, the files tell more than a proxy
	err = c.ask(ctx, base, reading("/admin/backup", "application/x-tar", func(res *http.Response) error {
		_, err := io.Copy(w, res.Body)
		return err
	}))
	if !nobodyListens(err) {
		return base, err
	}
	s, err := bolt.Inspect(cfg.Store.Path)
	if err != nil {
		return "", fmt.Errorf("no server answers at %s, and the files cannot be read: %w", base, err)
	}
	err = s.Backup(ctx, w)
	return cfg.Store.Path, errors.Join(err, s.Close())
}

// maxHealthWait is how long the server may take to say that it answers.
const maxHealthWait = 5 * time.Second

// Healthy returns nil if the server of this configuration answers on this machine, in the set-up too. It needs no token.
func Healthy(ctx context.Context, cfg Config) error {
	base := "http://" + reachable(cfg.Server.Address)
	cfg.Server.APITokenFile = ""
	c, err := NewClient(cfg, base, func(string) string { return "" })
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, maxHealthWait)
	defer cancel()
	return c.ask(ctx, base, reading("/healthz", "text/plain", func(*http.Response) error { return nil }))
}

// reachable is where a listening address is reached from this machine.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
