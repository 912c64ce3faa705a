package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// TrackRecord reads the track record of a repository, owner/name: of the server that has the store open, or of its file if no
// server answers. base is the server's address, "" for the configured one.
func TrackRecord(ctx context.Context, cfg Config, base, repo string, getenv func(string) string) (rates []solve.Rate, err error) {
	owner, name, ok := strings.Cut(repo, "/")
	if !ok {
		return nil, fmt.Errorf("%q is no repository: write it as owner/name", repo)
	}
	c, err := NewClient(cfg, base, getenv)
	if err != nil {
		return nil, err
	}
	base = c.bases[0]
	at := "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name) + "/record"
	err = c.ask(ctx, base, reading(at, "application/json", func(res *http.Response) error {
		var told api.TrackRecord
		err := json.NewDecoder(res.Body).Decode(&told)
		for _, arm := range told.Arms {
			rates = append(rates, arm.Rate)
		}
		return err
	}))
	if !nobodyListens(err) {
		return rates, err
	}
	if cfg.Store.Engine == enginePostgres {
		return nil, fmt.Errorf("no server answers at %s, and store.engine is postgres: start yudai serve, which reads the database", base)
	}
	s, err := bolt.Inspect(cfg.Store.Path)
	if err != nil {
		return nil, fmt.Errorf("no server answers at %s, and the files cannot be read: %w", base, err)
	}
	records, err := s.TrackRecords(ctx)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	return solve.RatesOf(repo, records)
}
