package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/store/bolt"
)

// Backup writes a backup of the configured store: of the server that has it open,
// or of the files if no server answers. base is the server's address, "" for the
// configured one. It returns where the backup is from.
func Backup(ctx context.Context, cfg Config, base string, getenv func(string) string, w io.Writer) (from string, err error) {
	if base == "" {
		base = "http://" + reachable(cfg.Server.Address)
	}
	err = fetchBackup(ctx, cfg, strings.TrimSuffix(base, "/")+"/admin/backup", getenv, w)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return base, err
	}
	s, err := bolt.Inspect(cfg.Store.Path)
	if err != nil {
		return "", fmt.Errorf("no server answers at %s, and the files cannot be read: %w", base, err)
	}
	err = s.Backup(ctx, w)
	return cfg.Store.Path, errors.Join(err, s.Close())
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

// maxRefusal is how much of a server's refusal is shown, in bytes.
const maxRefusal = 1 << 10

func fetchBackup(ctx context.Context, cfg Config, url string, getenv func(string) string, w io.Writer) error {
	return fetch(ctx, cfg, url, "application/x-tar", getenv, func(body io.Reader) error {
		_, err := io.Copy(w, body)
		return err
	})
}

// fetch asks a server for something by the API, of one kind of content.
func fetch(ctx context.Context, cfg Config, url, kind string, getenv func(string) string, receive func(io.Reader) error) error {
	token, err := cfg.Server.APIToken(getenv, os.ReadFile)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	if !token.Empty() {
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	client := &http.Client{
		Transport: &http.Transport{ResponseHeaderTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects: name it with --url")
		},
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if have := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || have != kind {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal)) // the status says enough
		return fmt.Errorf("ask %s: it answers %s: %q", url, resp.Status, text)
	}
	if err := receive(resp.Body); err != nil {
		return fmt.Errorf("receive the answer of %s: %w", url, err)
	}
	return nil
}
