package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// Commands are those about the program itself.
func Commands(a *App) []*cobra.Command {
	return []*cobra.Command{newVersion(a), newCompletion(a), newManual(a), newCompileKernel(a), newTryLibrary(a), newHelp(a)}
}

func newVersion(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, libraries and instruction set",
		RunE:  func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *App) printVersion() error {
	v, c := provenance.Build()
	name, features := machine.CPU()
	isa, err := kirchhoff.ISA()
	if err != nil {
		return err
	}
	a.Report.Printf("lsm %s, commit %s\n", v, cmp.Or(c, "unknown"))
	a.Report.Printf("built by %s and %s for %s/%s\n", runtime.Version(), h5.Compiler(), runtime.GOOS, runtime.GOARCH)
	hdf5 := h5.LibraryVersion()
	if built := h5.Built(); built != hdf5 {
		hdf5 += ", built with " + built
	}
	a.Report.Printf("HDF5 %s\n", hdf5)
	a.Report.Printf("MPI %s\n", cmp.Or(mpi.About(), "none: \"lsm doctor\" says what was looked for"))
	a.Report.Printf("CPU %s: %s; %s kernels\n", name, strings.Join(features, " "), isa)
	a.Report.Event("version", "version", v, "commit", c, "go", runtime.Version(), "compiler", h5.Compiler(),
		"platform", fmt.Sprintf("%s/%s", runtime.GOOS, runtime.GOARCH), "hdf5", h5.LibraryVersion(), "hdf5_built", h5.Built(),
		"mpi", mpi.About(), "cpu", name, "cpu_features", features, "isa", isa)
	return nil
}
