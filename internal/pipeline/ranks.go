package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Ranks are those that read together.
type Ranks struct {
	World  comm.Comm
	Report *progress.Reporter
}

// Root reports whether this rank reads and writes for all.
func (r *Ranks) Root() bool { return r.World.Rank() == 0 }

// Together makes an error of a file everyone's, with its exit status.
func (r *Ranks) Together(err error) error { return comm.Together(r.World, FileError(err)) }

// AtRoot calls do on rank 0. Its error is returned on all ranks.
func (r *Ranks) AtRoot(do func() error) error {
	var err error
	if r.Root() {
		err = do()
	}
	return r.Together(err)
}

// openVerified opens a file, once rank 0 has compared it with its digests for all ranks, in
// one pass.
func openVerified[F interface {
	VerifyOpen() error
	Trust()
	Close() error
}](r *Ranks, file string, open func(string) (F, error)) (f F, err error) {
	end := r.Report.Time("hash inputs")
	err = r.AtRoot(func() error {
		f, err := open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.VerifyOpen()
	})
	end()
	if err != nil {
		return f, err
	}
	if f, err = open(file); err == nil {
		f.Trust()
	}
	return f, err
}

// FileError gives the error of a file its exit status. If the machine refused something, the input is not
// at fault, though a stage that reads and writes is marked so.
func FileError(err error) error {
	if err == nil {
		return nil
	}
	switch code := status.Code(err); {
	case (code == status.Other || code == status.BadInput) && errors.Is(err, h5.ErrResource):
		return status.Resource(err)
	case code != status.Other:
		return err
	case errors.Is(err, h5.ErrOutput):
		return status.Usage(err)
	case errors.Is(err, h5.ErrInput):
		return status.Input(err)
	}
	return err
}

// inputRoles are the names of inputs in the provenance, by the keys that name the files.
var inputRoles = map[string]string{
	"survey.file":            "survey",
	"survey.wavelet_file":    "wavelet",
	"velocity.file":          "velocity",
	"velocity.receiver_file": "receiver_velocity",
	"traveltime.file":        "traveltime",
	"image.surface_file":     "surface",
}

// hashFiles hashes the files that every walk through the configuration reads.
func (in *Inputs) hashFiles(r Ranks, cfg *config.Config) error {
	for _, f := range cfg.Reads() {
		role := inputRoles[f.Key]
		if role == "" {
			continue // OpenImage hashes what it opens
		}
		d, err := r.hash(role, f.Path)
		if err != nil {
			return err
		}
		in.Digests = append(in.Digests, d)
	}
	return nil
}

// OpenImage opens an image on all ranks, once rank 0 has looked through it, and finds its
// digest. The image must lie on the given grid. role names it in the provenance of the
// outputs made from it.
func (r *Ranks) OpenImage(role string, path config.Path, want grid.Grid) (image *h5.ImageReader, d provenance.Input, err error) {
	err = r.AtRoot(func() error { return h5.Guarded(path.File) })
	if err == nil {
		d, err = r.hash(role, path)
	}
	if err == nil {
		err = r.AtRoot(func() error { return lookThrough(path.File, want) })
	}
	if err != nil {
		return nil, d, err
	}
	if image, err = h5.OpenImage(path.File); err == nil {
		image.Trust()
	}
	if err := r.Together(err); err != nil {
		if image != nil {
			image.Close()
		}
		return nil, d, err
	}
	return image, d, nil
}

// lookThrough reads an image once. It must lie on the given grid.
func lookThrough(file string, want grid.Grid) error {
	image, err := h5.OpenImage(file)
	if err != nil {
		return err
	}
	defer image.Close()
	if g := image.Grid(); !g.Equal(want) {
		return status.Input(fmt.Errorf("%s: the image is on %s, this run's grid is %s", file, ExtentText(g), ExtentText(want)))
	}
	peak, part := float32(0), make([]float32, min(1<<20, want.Len()))
	for first := 0; first < want.Len(); first += len(part) {
		part = part[:min(len(part), want.Len()-first)]
		if err := image.Read(part, first); err != nil {
			return err
		}
		peak = max(peak, survey.Peak(part))
	}
	return checkMagnitude(file, "point of the image", float64(peak), leastSample, greatestSample)
}

// PointText writes a position, m.
func PointText(p []float64) string {
	var list []string
	for _, v := range p {
		list = append(list, readable.Length(v))
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// ExtentText says where a grid lies.
func ExtentText(g grid.Grid) string {
	return fmt.Sprintf("%s (%s)", g.Extent(), g)
}

// hash hashes an input file, for the output's provenance and the checkpoint's plan,
// and makes sure that it is the same file on all ranks. The first of the ranks that see
// one file reads it for the others. It is collective.
func (r *Ranks) hash(role string, path config.Path) (in provenance.Input, err error) {
	defer r.Report.Time("hash inputs")()
	place := ""
	err = FileError(h5.Sniff(path.File))
	if err == nil {
		place, err = machine.FilePlace(path.File)
		err = status.Input(err)
	}
	if err := comm.Together(r.World, err); err != nil {
		return in, err
	}
	places, err := r.World.Host().AllGather([]byte(place))
	if err != nil {
		return in, err
	}
	first := slices.IndexFunc(places, func(p []byte) bool { return string(p) == place }) // that sees this rank's file
	in = provenance.Input{Role: role, Path: path.Text}
	if first == r.World.Rank() {
		in, err = provenance.Hash(role, path.File)
	}
	if err := comm.Together(r.World, status.Input(err)); err != nil {
		return in, err
	}
	sums, err := r.World.Host().AllGather([]byte(in.SHA256))
	if err != nil {
		return in, err
	}
	in.Path, in.SHA256 = path.Text, string(sums[first])
	where, err := filepath.Abs(path.File)
	if err != nil {
		where = path.File
	}
	err = comm.Same(r.World, []comm.Fact{{Name: fmt.Sprintf("%s: the SHA-256 of the %s file", path.Text, role), Value: in.SHA256, Origin: where}})
	if err != nil {
		return in, status.Hint(status.Input(err), "give all ranks the same file; copies on several machines must have the same bytes")
	}
	return in, nil
}

// CallOnRoot calls do on rank 0 and returns its value there. Other ranks get the zero value.
// An error is returned on all ranks.
func CallOnRoot[T any](r *Ranks, do func() (T, error)) (v T, err error) {
	err = r.AtRoot(func() (err error) {
		v, err = do()
		return err
	})
	return v, err
}

// PublishFile makes a file that all ranks fill and rank 0 writes, completely or not at all.
// The writer is nil on the other ranks.
func PublishFile[W interface {
	Abort()
	Commit() error
}](r *Ranks, create func() (W, error), fill func(w W) error) error {
	w, err := CallOnRoot(r, create)
	if err != nil {
		return err
	}
	if r.Root() {
		defer w.Abort()
	}
	if err := fill(w); err != nil {
		return FileError(err)
	}
	return r.AtRoot(func() error { return w.Commit() })
}
