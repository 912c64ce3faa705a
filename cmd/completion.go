package cmd

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newCompletion(s streams) *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print a shell's completions: bash, zsh or fish", Args: wants(1, "a shell: bash, zsh or fish"),
		Long: "Print what teaches a shell to complete yudai's commands, flags and solves. For the shells that are open now:\n" +
			"  bash:  source <(yudai completion bash)\n" +
			"  zsh:   source <(yudai completion zsh)\n" +
			"  fish:  yudai completion fish | source\n" +
			"For later ones, put that line into ~/.bashrc, ~/.zshrc (behind compinit) or ~/.config/fish/config.fish.",
		ValidArgs: shells,
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return c.Root().GenBashCompletionV2(s.out, true)
			case "zsh":
				return c.Root().GenZshCompletion(s.out)
			case "fish":
				return c.Root().GenFishCompletion(s.out, true)
			}
			return usage(fmt.Errorf("there are no completions for %q%s: take bash, zsh or fish", args[0], didYouMean("", args[0], shells)))
		},
	}
}
