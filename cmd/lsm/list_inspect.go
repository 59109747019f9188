package main

import "github.com/spf13/cobra"

// inspectCommands are those that look at files, make and convert them.
func inspectCommands(a *app) []*cobra.Command {
	return []*cobra.Command{newInfo(a), newPlot(a), newView(a), newReport(a), newCompare(a), newConvert(a), newExport(a), newMetadata(a), newSynth(a), newAVA(a)}
}
