package cmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/yudai-dev/yudai/server"
)

func newModels(s streams) *cobra.Command {
	check, asJSON := false, false
	c := &cobra.Command{
		Use: "models", Short: "List the configured models, with prices, and whether they can be used", Args: wants(0, "no arguments"),
		Long: "List the configured models: where their requests go, what a million tokens cost (in, out), and what is\n" +
			"missing. A star marks those that are tried where a request names none. With --check each model is asked\n" +
			"something short, for a few tokens; the command fails if a marked one does not answer.",
	}
	c.Flags().BoolVar(&check, "check", false, "ask each model")
	jsonFlag(c, &asJSON)
	return withConfig(c, func(ctx context.Context, cfg server.Config, _ []string) error {
		set, err := cfg.ModelSet(os.Getenv)
		if err != nil {
			return usage(err)
		}
		fine, failed := "can be used", false
		if check {
			fine = "answers"
		}
		all, rows := set.About(ctx, cfg.Solver.Defaults.Models, check), [][]string{{"", "Model", "Provider", "Server", "Price", "State"}}
		for _, m := range all {
			mark, price := "", "unknown"
			if m.Default {
				mark, failed = "*", failed || m.Problem != ""
			}
			if m.Price != nil {
				price = fmt.Sprintf("$%g, $%g", m.Price.Input, m.Price.Output)
			}
			rows = append(rows, []string{mark, m.Name, m.Provider, cmp.Or(m.Host, "-"), price, cmp.Or(m.Problem, fine)})
		}
		if asJSON {
			err = printJSON(s.out, "  ", all)
		} else {
			err = printTable(s.out, rows)
		}
		if check && failed && err == nil {
			err = errors.New("a model that solves use by themselves does not answer: mend it, or take it out of solver.defaults.models")
		}
		return err
	})
}

// printTable prints rows in columns that line up.
func printTable(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// jsonFlag is the flag of commands that can print for programs.
func jsonFlag(c *cobra.Command, asJSON *bool) {
	c.Flags().BoolVar(asJSON, "json", false, "print JSON")
}

// controls are the characters that JSON may hold as they are, and that control a terminal or turn the direction of text.
var controls = regexp.MustCompile(`[\x{7f}-\x{9f}\x{61c}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]`)

// printJSON prints a value for programs, on one line if nothing indents it. It escapes controls.
func printJSON(out io.Writer, indent string, value any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(value); err != nil {
		return err
	}
	_, err := io.WriteString(out, controls.ReplaceAllStringFunc(text.String(), func(c string) string {
		return fmt.Sprintf(`\u%04x`, []rune(c)[0])
	}))
	return err
}
