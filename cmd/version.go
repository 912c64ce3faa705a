package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
)

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, and the commit it was built from", Args: wants(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			built := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
			if origin := server.Origin(); origin != "" {
				built = origin + ", " + built
			}
			_, err := fmt.Fprintf(s.out, "yudai %s (%s)\n", server.Version(), built)
			return err
		},
	}
}
