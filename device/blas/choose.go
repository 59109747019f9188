package blas

import (
	"fmt"
	"os"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Names are the libraries of the host that Choose knows.
func Names() []string { return []string{"auto", "gonum", "openblas"} }

// Choose returns a library of the host by its name. "auto" is OpenBLAS if there is one, otherwise
// gonum's, unless the environment variable LSM_BLAS names one of the two. All ranks of a run must
// choose the same, since two libraries round differently.
func Choose(name string, threads int) (Library, error) {
	variable := name == "auto"
	if variable {
		name = os.Getenv("LSM_BLAS")
	}
	switch name {
	case "gonum":
		return Gonum(threads), nil
	case "openblas":
		return OpenBLAS(threads)
	case "":
		if l, err := OpenBLAS(threads); err == nil {
			return l, nil
		}
		return Gonum(threads), nil
	}
	if variable {
		return nil, status.Usage(fmt.Errorf("blas: LSM_BLAS is %q, want gonum or openblas", name))
	}
	return nil, status.Usage(fmt.Errorf("blas: library %q is unknown, want auto, gonum or openblas", name))
}
