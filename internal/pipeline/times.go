package pipeline

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Times says through which media waves travel, and by which method their traveltimes are found. Waves
// go from a source to an image point and from there to a receiver. Both legs lie in Source, unless
// waves are converted: then the second lies in Receiver.
type Times struct {
	Method    traveltime.Method // of both legs
	Source    traveltime.Medium // with the values that were read, none at first
	Receiver  traveltime.Medium // the same; used only with converted waves
	Converted bool
	Tables    *h5.Tables // given times; nil: none
}

// NewTimes makes the configured traveltime method for the places and the image of a geometry.
func NewTimes(cfg *config.Config, in *Inputs, g *Geometry) (*Times, error) {
	t := &Times{Converted: cfg.Velocity.Converted(), Tables: in.Tables}
	if t.Tables != nil {
		if err := checkTables(t.Tables, cfg.Traveltime.File.File, g); err != nil {
			return nil, err
		}
	}
	return t.with(in.Velocity, in.Receiver, cfg, g, in)
}

// with returns the times through two media.
func (t *Times) with(source, receiver traveltime.Medium, cfg *config.Config, g *Geometry, in *Inputs) (*Times, error) {
	u := *t
	u.Source, u.Receiver = source, receiver
	s := traveltime.Spec{Image: g.Image, Rays: rayOptions(cfg.Traveltime, g, in)}
	if t.Tables != nil {
		s.TablesGrid = t.Tables.Grid()
		s.Arrivals = t.Tables.NumArrivals()
		s.Tables = func(dst []float64, role survey.Role, row int) error {
			return t.Tables.ReadRow(dst, role, h5.Time, row)
		}
		s.ArrivalRows = func(dst *traveltime.Arrivals, role survey.Role, row int) error {
			for q, v := range map[h5.Quantity][]float64{h5.Time: dst.Time, h5.Amplitude: dst.Amplitude, h5.Turns: dst.Turns, h5.Gradient: dst.Gradient} {
				if err := t.Tables.ReadRow(v, role, q, row); err != nil {
					return err
				}
			}
			return nil
		}
	}
	var legs [2]traveltime.Method
	for role := range u.media() {
		s.Medium = u.Leg(survey.Role(role))
		m, err := traveltime.New(cfg.Traveltime.Method, s)
		if err != nil {
			return nil, blameModel(in.Models[role].File, err)
		}
		legs[role] = m
	}
	if u.Method = legs[survey.AtSource]; !u.Converted {
		return &u, nil
	}
	var err error
	u.Method, err = traveltime.NewConverted(legs[survey.AtSource], legs[survey.AtReceiver])
	return &u, err
}

// blameModel adds the name of the model file, "" for none, to the error of a traveltime method.
func blameModel(file string, err error) error {
	if file == "" {
		return err
	}
	if err = fmt.Errorf("%s: %w", file, err); status.Code(err) == status.Other {
		err = status.Input(err)
	}
	return err
}

// checkTables makes sure that the table file is for this image and survey.
func checkTables(t *h5.Tables, file string, g *Geometry) error {
	if !t.Grid().Equal(g.Image) {
		return status.Input(fmt.Errorf("%s: tables are on %s, the image on %s", file, ExtentText(t.Grid()), ExtentText(g.Image)))
	}
	if s := g.Survey; t.NumSources() != s.NumSources() || t.NumReceivers() != s.NumReceivers() {
		return status.Input(fmt.Errorf("%s: tables for %s and %s, the survey has %d and %d",
			file, readable.Count(t.NumSources(), "source"), readable.Count(t.NumReceivers(), "receiver"), s.NumSources(), s.NumReceivers()))
	}
	return nil
}

// legRole is the role of the places whose medium is used for places in a role.
func (t *Times) legRole(role survey.Role) survey.Role {
	if t.Converted {
		return role
	}
	return survey.AtSource
}

// media are the media of the legs, by role; without converted waves the first is that of both.
func (t *Times) media() []traveltime.Medium {
	return mediaOf(t.Source, t.Receiver, t.Converted)
}

// mediaOf are the media of the legs, by role.
func mediaOf(source, receiver traveltime.Medium, converted bool) []traveltime.Medium {
	if converted {
		return []traveltime.Medium{source, receiver}
	}
	return []traveltime.Medium{source}
}

// Leg returns the medium of the waves from, or to, places in a role.
func (t *Times) Leg(role survey.Role) traveltime.Medium {
	if t.legRole(role) == survey.AtReceiver {
		return t.Receiver
	}
	return t.Source
}

// Solver returns what finds the traveltimes of places in a role in parts of a model; nil: nothing does.
func (t *Times) Solver(role survey.Role) traveltime.Solver {
	s, _ := traveltime.Leg(t.Method, role).(traveltime.Solver)
	return s
}

// Speeds returns the least and the greatest velocity, in m/s, that make the length of waves
// in an image: of converted waves the harmonic means of those of the two legs.
func (t *Times) Speeds() (least, greatest float64) {
	least, greatest = t.Source.Range()
	if t.Converted {
		slow, fast := t.Receiver.Range()
		least, greatest = 2/(1/least+1/slow), 2/(1/greatest+1/fast)
	}
	return least, greatest
}

// givesAmplitudes reports whether the spreading of the only arrivals comes from a table file.
func (t *Times) givesAmplitudes() bool {
	return t.Tables != nil && t.Tables.NumArrivals() == 0 && t.Tables.Has(survey.AtSource, h5.Amplitude) && t.Tables.Has(survey.AtReceiver, h5.Amplitude)
}

// VerticalTimes are the two-way times, in s, from the top of an image to the points of a slab of its first
// axis, straight down through the medium of one leg and up through that of the other: [column][depth].
// read returns the two media with the values of slabs; the second counts only for converted waves.
func (t *Times) VerticalTimes(image grid.Grid, slab [2]int, read func(slabs [2][2]int) (source, receiver traveltime.Medium, err error)) ([]float32, error) {
	z := image.Dim() - 1
	nz, h := image.Shape[z], image.Spacing[z]
	times := make([]float32, (slab[1]-slab[0])*(image.Len()/image.Shape[0]))
	if image.Domain == grid.Time {
		for i := range times {
			times[i] = float32(h * float64(i%nz))
		}
		return times, nil
	}
	var slabs [2][2]int
	for role, m := range t.media() {
		slabs[role] = m.Below(image, slab)
	}
	source, receiver, err := read(slabs)
	if err != nil {
		return nil, err
	}
	legs := []traveltime.Medium{source, source}
	if t.Converted {
		legs[1] = receiver
	}
	for _, m := range legs {
		v, down := m.On(image, slab), 0.0
		for i := range times {
			if i%nz == 0 {
				down = 0
			} else {
				down += 0.5 * h * (1/v[i-1] + 1/v[i])
			}
			times[i] += float32(down)
		}
	}
	return times, nil
}

// Remark is a fact that may surprise the user.
type Remark struct {
	Topic, Text string
	Doubtful    bool // it may not be meant
}

// RemarkMedia says that waves are converted, and how the models are anisotropic, or that this is
// ignored.
func RemarkMedia(v config.Velocity, t *Times, models [2]ModelFile) (list []Remark) {
	if t.Converted {
		of := func(m traveltime.Medium, file string) string {
			if m.IsConstant() {
				return readable.Speed(m.Constant) + " m/s"
			}
			return fmt.Sprintf("%s, %s to %s m/s", file, readable.Speed(m.Least), readable.Speed(m.Greatest))
		}
		list = append(list, Remark{Topic: "converted waves", Text: fmt.Sprintf("from the sources %s; to the receivers %s", of(t.Source, v.File.File), of(t.Receiver, v.ReceiverFile.File))})
	}
	for _, m := range models {
		if m.Anisotropy != "" {
			list = append(list, Remark{"anisotropy", m.Anisotropy, !m.Used})
		}
	}
	return list
}
