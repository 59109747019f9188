package main

import "github.com/spf13/cobra"

// commands are those of lsm, in groups as its help shows them.
func commands(a *app) []group {
	return []group{
		{title: "Migrate", commands: []*cobra.Command{newRun(a), newMigrate(a), newModel(a), newCheck(a), newTraveltime(a)}},
		{title: "From recorded data to a velocity", commands: []*cobra.Command{newImport(a), newReady(a), newProcess(a), newWavelet(a), newVelocity(a),
			newMoveout(a), newTomography(a), newLoop(a)}},
		{title: "Look at files, make and convert them", commands: []*cobra.Command{newInfo(a), newPlot(a), newView(a), newReport(a), newCompare(a),
			newConvert(a), newExport(a), newMetadata(a), newSynth(a), newAVA(a)}},
		{title: "This machine, this program", commands: []*cobra.Command{newBench(a), newDoctor(a), newVersion(a), newCompletion(a), newCompileKernel(a), newTryLibrary(a), newHelp(a)}},
	}
}
