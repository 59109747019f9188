package pipeline

import (
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Inputs is the contents of the files of a configuration, except for the samples of the
// traces.
type Inputs struct {
	Survey   *survey.Survey    // the traces that data.offset and data.azimuth leave, without samples
	Recorded int               // traces in the survey file
	HasData  bool              // whether it holds their samples
	Numbers  []int32           // numbers there of Survey's traces; nil: the same
	Chunks   h5.Chunks         // in which they lie there
	Places   *survey.Positions // the survey's distinct places
	Turned   string            // how positions came into the model's frame, in words; "" where they lie as in the file

	Velocity traveltime.Medium // with the values that ReadSlabs has read, none at first; with converted waves of those from the sources
	Receiver traveltime.Medium // the same of converted waves, to the receivers; without them of no meaning
	Slowest  float64           // m/s, the least velocity at the image's points, in any direction
	Tables   *h5.Tables        // open table file, for traveltime.method = "table"; otherwise nil
	Relief   Relief            // of image.surface_file; zero without one
	Digests  []provenance.Input

	Models [2]ModelFile // of Velocity and Receiver, by survey.Role
}

// Relief is the z, in m, of the topography at the columns of a grid, downwards.
type Relief struct {
	Grid grid.Grid
	Z    []float64
}

// ReadInputs reads everything but traces, on all ranks.
func ReadInputs(r Ranks, cfg *config.Config) (*Inputs, error) {
	in := new(Inputs)
	for _, step := range []func(Ranks, *config.Config) error{
		in.hashFiles, in.readSurvey, in.readVelocity, in.openTables, in.readRelief,
	} {
		if err := r.Together(step(r, cfg)); err != nil {
			in.Close()
			return nil, err
		}
	}
	return in, nil
}

// media are the media of the legs, by survey.Role; without converted waves the first is that of both.
func (in *Inputs) media(converted bool) []traveltime.Medium {
	return mediaOf(in.Velocity, in.Receiver, converted)
}

// Close closes the files that stay open.
func (in *Inputs) Close() {
	if in.Tables != nil {
		in.Tables.Close()
		in.Tables = nil
	}
	for role := range in.Models {
		if m := &in.Models[role]; m.Reader != nil {
			m.Reader.Close()
			m.Reader = nil
		}
	}
}

func (in *Inputs) readSurvey(r Ranks, cfg *config.Config) error {
	defer r.Report.Time("read survey")()
	of, err := SelectTraces(cfg)
	if err != nil {
		return err
	}
	in.Survey, in.Numbers, in.Recorded, in.HasData, in.Chunks, in.Turned = of.Survey, of.Numbers, of.Recorded, of.HasData, of.Chunks, of.Turned
	in.Places = DistinctPlaces(in.Survey, cfg)
	return nil
}

// DistinctPlaces lists the distinct places of a survey. Rows of given tables keep their own times
// even at equal positions. A source and a receiver of converted waves do the same.
func DistinctPlaces(s *survey.Survey, cfg *config.Config) *survey.Positions {
	if cfg.Velocity.Converted() {
		return s.DistinctRoles()
	}
	return s.Distinct(!cfg.Traveltime.Given())
}

func (in *Inputs) openTables(r Ranks, cfg *config.Config) (err error) {
	if !cfg.Traveltime.Given() {
		return nil
	}
	in.Tables, err = openVerified(&r, cfg.Traveltime.File.File, h5.OpenTables)
	return err
}

func (in *Inputs) readRelief(r Ranks, cfg *config.Config) (err error) {
	if cfg.Image.Surface != "file" {
		return nil
	}
	in.Relief.Grid, in.Relief.Z, err = h5.ReadSurface(cfg.Image.SurfaceFile.File, in.Survey.Dim)
	return err
}
