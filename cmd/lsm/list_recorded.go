package main

import "github.com/spf13/cobra"

// recordedCommands are those from recorded traces to a velocity.
func recordedCommands(a *app) []*cobra.Command {
	return []*cobra.Command{newImport(a), newReady(a), newProcess(a), newWavelet(a), newVelocity(a), newMoveout(a), newTomography(a), newLoop(a)}
}
