package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
)

func newVersion(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: wants(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(s.out, "yudai %s (%s, %s/%s)\n", server.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
