// Package migrate holds the commands that run the operator of a configuration.
package migrate

import (
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
)

// Commands are those that run the operator of a configuration.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newRun(a), newMigrate(a), newModel(a), newTarget(a), newCheck(a), newTraveltime(a), newOperator(a)}
}
