package cmd

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
)

func newConfig(s streams) *cobra.Command {
	defaults := false
	c := &cobra.Command{
		Use: "config --defaults", Short: "Print every key of the configuration with its default and its meaning",
		Args: wants(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if !defaults {
				return usage(errors.New("config needs --defaults; `yudai doctor` checks a configuration"))
			}
			_, err := io.WriteString(s.out, server.DefaultsYAML)
			return err
		},
	}
	c.Flags().BoolVar(&defaults, "defaults", false, "print the built-in configuration, as a file that serve --config accepts")
	return c
}
