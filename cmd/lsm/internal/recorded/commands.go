// Package recorded holds the commands that lead from recorded traces to a velocity.
package recorded

import (
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
)

// Commands are those from recorded traces to a velocity.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newImport(a), newReady(a), newProcess(a), newBreaks(a), newStatics(a), newWavelet(a), newVelocity(a), newSemblance(a), newMoveout(a), newTomography(a), newLoop(a)}
}
