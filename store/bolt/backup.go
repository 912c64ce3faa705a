package bolt

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// noteSuffix names the note that comes with a backup, beside the database: a store
// that finds it knows that time has passed without it.
const noteSuffix = ".restored"

// Backup writes a tar with a consistent copy of the database, the transcripts
// and the artifacts, while the store is in use. To restore it, unpack it into the
// directory of store.path. The database counts what is committed of each
// transcript, so files that are newer than its copy do no harm.
//
// The first file is a note: what was written to GitHub after the backup was made
// is unknown to the copy, and Open makes it ask, see [Store.wakeRestored].
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if err := s.backup(ctx, tar.NewWriter(w)); err != nil {
		return fmt.Errorf("back up store: %w", err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, out *tar.Writer) error {
	now, name := s.cfg.Now().UTC().Truncate(time.Second), filepath.Base(s.cfg.Path)
	note := fmt.Sprintf("This store is a backup of %s.\nAt its next start yudai looks up on GitHub what may have been "+
		"written since, and removes this file.\n",
		now.Format(time.RFC3339))
	if err := putFile(out, name+noteSuffix, now, int64(len(note)), strings.NewReader(note)); err != nil {
		return err
	}
	_, err := read(ctx, s, func(t *tx) (int64, error) {
		if err := out.WriteHeader(fileHeader(name, now, t.b.Size())); err != nil {
			return 0, err
		}
		return t.b.WriteTo(out)
	})
	if err != nil {
		return err
	}
	for _, sub := range []string{"transcripts", "artifacts"} {
		if err := s.backupFiles(ctx, out, sub); err != nil {
			return err
		}
	}
	return out.Close()
}

// backupFiles adds the files below a directory. One that vanishes meanwhile was pruned.
func (s *Store) backupFiles(ctx context.Context, out *tar.Writer, sub string) error {
	err := filepath.WalkDir(filepath.Join(s.dir, sub), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") { // one that is being written
			return nil
		}
		return s.backupFile(out, path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was stored yet
	}
	return err
}

func (s *Store) backupFile(out *tar.Writer, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	name, err := filepath.Rel(s.dir, path)
	if err != nil {
		return err
	}
	// A transcript can lose bytes that no commit counts while it is read.
	return putFile(out, filepath.ToSlash(name), info.ModTime(), info.Size(), io.MultiReader(f, zeros{}))
}

// zeros never ends.
type zeros struct{}

// Read fills the buffer.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func fileHeader(name string, at time.Time, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: size, ModTime: at, Format: tar.FormatPAX}
}

func putFile(out *tar.Writer, name string, at time.Time, size int64, data io.Reader) error {
	if err := out.WriteHeader(fileHeader(name, at.Truncate(time.Second), size)); err != nil {
		return err
	}
	_, err := io.CopyN(out, data, size)
	return err
}
