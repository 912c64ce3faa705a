package bolt

import (
	"fmt"
	"os"
)

// Bytes is the size of the database's file.
func (s *Store) Bytes() (int64, error) {
	info, err := os.Stat(s.cfg.Path)
	if err != nil {
		return 0, fmt.Errorf("look at the store's file: %w", err)
	}
	return info.Size(), nil
}

// Commits counts the transactions that this process has made durable.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }
