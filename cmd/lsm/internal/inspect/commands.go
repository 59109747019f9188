// Package inspect holds the commands that look at files, make and convert them.
package inspect

import (
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
)

// Commands are those that look at files, make and convert them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newInfo(a), newPlot(a), newView(a), newReport(a), newCompare(a), newConvert(a), newExport(a), newSynth(a), newAVA(a)}
}
