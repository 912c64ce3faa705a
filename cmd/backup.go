package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/server"
)

func newBackup(s streams) *cobra.Command {
	url := ""
	c := &cobra.Command{
		Use: "backup FILE.tar", Short: "Back up the store, of a running server too", Args: wants(1, "one file to write"),
		Long: "Write a tar with a consistent copy of the database, the transcripts and the artifacts.\n" +
			"The command asks the running server for it (GET /admin/backup, with the API token); if none\n" +
			"answers, it reads the files. To restore a backup, stop the server, unpack the tar into an empty\n" +
			"directory, set store.path to the database in it, and start. See docs/operations.md.",
	}
	c.Flags().StringVar(&url, "url", "", "where the server is (default: server.address)")
	return withConfig(c, func(ctx context.Context, cfg server.Config, args []string) error {
		if _, err := os.Lstat(args[0]); !errors.Is(err, fs.ErrNotExist) {
			return usage(fmt.Errorf("%s is there already: name a new file", args[0]))
		}
		from, size := "", int64(0)
		err := durable.Write(args[0], func(f *os.File) (err error) {
			if from, err = server.Backup(ctx, cfg, url, os.Getenv, f); err != nil {
				return err
			}
			info, err := f.Stat()
			size = info.Size()
			return err
		})
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: %d bytes, from %s\n", args[0], size, from)
		return nil
	})
}
