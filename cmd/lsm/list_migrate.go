package main

import "github.com/spf13/cobra"

// migrateCommands are those that run the operator of a configuration.
func migrateCommands(a *app) []*cobra.Command {
	return []*cobra.Command{newRun(a), newMigrate(a), newModel(a), newTarget(a), newCheck(a), newTraveltime(a)}
}
