package cmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/setup"
)

func newDoctor(s streams) *cobra.Command {
	path, repo := "", ""
	c := &cobra.Command{
		Use: "doctor", Short: "Check this machine and the configuration, and say what to do", Args: wants(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			bad := 0
			d := server.NewDoctor(path, os.Getenv)
			found := d.Check(c.Context())
			if c.Flags().Changed("repo") {
				found = d.CheckRepo(c.Context(), repo)
			}
			for f := range found {
				mark := "ok  "
				switch f.Level {
				case setup.Warn:
					mark = "warn"
				case setup.Bad:
					mark = "BAD "
					bad++
				}
				fmt.Fprintf(s.out, "%s  %-12s %s\n", mark, f.What, f.Text)
				if f.Fix != "" {
					fmt.Fprintf(s.out, "      %-12s → %s\n", "", f.Fix)
				}
			}
			if bad > 0 {
				return errors.New("this machine or its configuration does not fit: correct what is marked BAD")
			}
			return nil
		},
	}
	configFlag(c.Flags(), &path)
	c.Flags().StringVar(&repo, "repo", "", "check the settings of this local repository (.github/yudai.yml) instead of the machine")
	return c
}
