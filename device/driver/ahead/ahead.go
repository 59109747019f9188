// Package ahead carries the project's programs for NVIDIA's cards as PTX, which was made
// when they were last changed. It is for machines without NVRTC, and for cards that
// NVRTC makes worse code for (driver.Source.Native). The driver finishes it for the card
// that it has. A file's name holds a hash of what it was made of, so the file of another
// program is never taken.
package ahead

//go:generate go test -run TestFresh -update .

import (
	"bytes"
	"compress/bzip2"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Arch is what the programs are made for: they run on cards of compute capability
// 8.0 and newer.
const Arch = "compute_80"

//go:embed ptx
var files embed.FS

// PTX is the program made of src. Its error, a missing resource, is a program that is
// not carried.
func PTX(src driver.Source) (driver.Binary, error) {
	packed, err := files.ReadFile("ptx/" + name(src))
	if errors.Is(err, fs.ErrNotExist) {
		return driver.Binary{}, status.Resource(fmt.Errorf("%s is not carried as PTX: it was changed after that was made", src.Name))
	}
	if err != nil {
		return driver.Binary{}, err
	}
	image, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return driver.Binary{}, fmt.Errorf("PTX of %s: %w", src.Name, err)
	}
	return driver.Binary{Image: image}, nil
}

// name is the file of a program.
func name(src driver.Source) string {
	return strings.TrimSuffix(src.Name, ".cu") + "-" + src.Hash()[:16] + ".ptx.bz2"
}
