package job

import (
	"fmt"
	"path/filepath"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// roles are the names of inputs in the provenance, by the keys that name the files.
var roles = map[string]string{
	"survey.file":        "survey",
	"velocity.file":      "velocity",
	"traveltime.file":    "traveltime",
	"image.surface_file": "surface",
}

// rememberInputs hashes the files that every walk through the configuration reads.
func (j *Job) rememberInputs() error {
	for _, f := range j.Config.Reads() {
		if role := roles[f.Key]; role != "" { // LoadStart remembers what it reads
			if err := j.remember(role, f.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// remember hashes an input file, for the output's provenance and the checkpoint's plan,
// and makes sure that it is the same file on all ranks. Of the ranks that see one file
// the first reads it for the others. It is collective.
func (j *Job) remember(role string, path config.Path) error {
	defer j.report.Time("hash inputs")()
	place := ""
	err := FileError(h5.Sniff(path.File))
	if err == nil {
		place, err = machine.FilePlace(path.File)
		err = status.Input(err)
	}
	if err := comm.Together(j.world, err); err != nil {
		return err
	}
	places, err := j.world.Host().AllGather([]byte(place))
	if err != nil {
		return err
	}
	first := 0 // of the ranks that see this rank's file
	for string(places[first]) != place {
		first++
	}
	in := provenance.Input{Role: role, Path: path.Text}
	if first == j.world.Rank() {
		in, err = provenance.Hash(role, path.File)
	}
	if err := comm.Together(j.world, status.Input(err)); err != nil {
		return err
	}
	sums, err := j.world.Host().AllGather([]byte(in.SHA256))
	if err != nil {
		return err
	}
	in.Path, in.SHA256 = path.Text, string(sums[first])
	where, err := filepath.Abs(path.File)
	if err != nil {
		where = path.File
	}
	err = comm.Same(j.world, []comm.Fact{{Name: fmt.Sprintf("%s: the SHA-256 of the %s file", path.Text, role), Value: in.SHA256, Origin: where}})
	if err != nil {
		return status.Hint(status.Input(err), "give all ranks the same file; copies on several machines must have the same bytes")
	}
	j.inputs = append(j.inputs, in)
	return nil
}
