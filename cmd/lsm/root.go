package main

import "github.com/spf13/cobra"

// commands are those of lsm, in groups as its help shows them.
func commands(a *app) []group {
	return []group{
		{title: "Migrate", commands: migrateCommands(a)},
		{title: "From recorded data to a velocity", commands: recordedCommands(a)},
		{title: "Look at files, make and convert them", commands: inspectCommands(a)},
		{title: "This machine, this program", commands: append([]*cobra.Command{newBench(a), newDoctor(a)}, ownCommands(a)...)},
	}
}
