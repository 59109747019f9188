package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"gonum.org/v1/hdf5"
)

// Set by the linker, from git; see the Makefile.
var (
	version = "0.1.0-dev"
	commit  = ""
)

// build says which build this is: the commit comes from the linker, or from
// Go's own stamp.
func build() (v, c string) {
	v, c = version, commit
	if info, ok := debug.ReadBuildInfo(); ok && c == "" {
		dirty := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				c = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = "-dirty"
			}
		}
		if c != "" {
			c += dirty
		}
	}
	return v, c
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Version, commit, libraries, instruction set",
		GroupID:     groupMachine,
		Args:        arguments(),
		Annotations: exits(),
		RunE:        func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	v, c := build()
	of := c
	if of == "" {
		of = "unknown"
	}
	name, features := cpuFeatures()
	a.report.Printf("lsm %s, commit %s\n", v, of)
	a.report.Printf("built by %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	a.report.Printf("HDF5 %s\n", hdf5Version())
	a.report.Printf("CPU %s: %s\n", name, strings.Join(features, " "))
	a.report.Event("version", "version", v, "commit", c, "go", runtime.Version(),
		"platform", fmt.Sprintf("%s/%s", runtime.GOOS, runtime.GOARCH), "hdf5", hdf5Version(),
		"cpu", name, "cpu_features", features)
	return nil
}

func hdf5Version() string {
	v, err := hdf5.LibVersion()
	if err != nil {
		return "unknown"
	}
	return v.String()
}
