package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "completion SHELL",
		Short:       "Completion script for bash, zsh or fish",
		Example:     "  lsm completion bash > /etc/bash_completion.d/lsm",
		GroupID:     groupMachine,
		Args:        arguments("SHELL"),
		ValidArgs:   []string{"bash", "zsh", "fish"},
		Annotations: exits(),
		RunE: func(cmd *cobra.Command, args []string) error {
			var b bytes.Buffer
			var err error
			switch args[0] {
			case "bash":
				err = cmd.Root().GenBashCompletionV2(&b, true)
			case "zsh":
				err = cmd.Root().GenZshCompletion(&b)
			case "fish":
				err = cmd.Root().GenFishCompletion(&b, true)
			default:
				err = status.Usage(fmt.Errorf("completion: shell %q is not one of bash, zsh, fish", args[0]))
			}
			if err != nil {
				return err
			}
			a.text("completion", b.String())
			return nil
		},
	}
}
