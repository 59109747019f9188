package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// Input is a file that a run read.
type Input struct {
	Role   string // what it was for: "survey", "velocity", "traveltime", ...
	Path   string // as configured
	SHA256 string // of the whole file, hexadecimal
}

// Hash reads a file once, in small pieces, and returns its digest.
func Hash(role, path string) (Input, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return Input{}, fmt.Errorf("provenance: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return Input{}, fmt.Errorf("provenance: %w", err)
	}
	return Input{Role: role, Path: path, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}
