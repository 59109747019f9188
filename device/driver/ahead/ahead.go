// Package ahead carries the project's programs for NVIDIA's cards as PTX, compiled when
// the programs were last changed. It serves machines without NVRTC, and cards for which
// the NVRTC at hand makes worse code (accel.Source.Native). The driver compiles the PTX for the card
// at hand. Operators with an aperture, with limits of the dip or the opening angle, with
// anti-aliasing, or with their elements squared (for image.gather_normalize) are
// not carried: they need NVRTC. The solver of traveltimes is not carried either, since the host can
// do its work. A file's name holds a hash of its source and options, so the PTX of another program
// is never used.
package ahead

//go:generate go test -run TestFresh -update .

import (
	"bytes"
	"compress/bzip2"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Arch is the target of the carried programs. They run on cards of compute capability 8.0
// and newer.
const Arch = "compute_80"

//go:embed ptx
var files embed.FS

// PTX returns the carried program for src. If none is carried, the error is a missing
// resource.
func PTX(src accel.Source) (accel.Binary, error) {
	packed, err := files.ReadFile("ptx/" + name(src))
	if err != nil {
		return accel.Binary{}, status.Resource(fmt.Errorf("%s is not among the programs carried as PTX", src.Name))
	}
	image, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return accel.Binary{}, fmt.Errorf("PTX of %s: %w", src.Name, err)
	}
	return accel.Binary{Image: image}, nil
}

// name is the file of a program.
func name(src accel.Source) string {
	return strings.TrimSuffix(src.Name, ".cu") + "-" + src.Hash()[:16] + ".ptx.bz2"
}
