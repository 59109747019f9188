// Package plan decides what a run computes: from a configuration, what its files say and
// what hardware there is to an immutable plan. It opens no file, touches no device and
// talks to no other rank, so that a plan can be made for any number of ranks anywhere.
package plan

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/inputs"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Plan is what a run computes, the same on all ranks but for the hardware. It is made by
// New and never changed: methods that decide more return a new one.
type Plan struct {
	Config *config.Config
	*inputs.Inputs
	Hardware
	Need Need

	Image   grid.Grid // where the image lies
	Times   traveltime.Method
	Shots   Shots    // in which traces are dealt to ranks
	Classes Classes  // of the images by class
	Surface *Surface // topography; nil: none that cuts the image
	Mute    Mute
	Wavelet survey.Wavelet // that traces are convolved with, but for kirchhoff.wavelet_filter: the survey's, or with data.whiten another
	White   *Whitener      // with data.whiten; else nil

	Held  Residency // once Holding has said it
	Found Found     // once Knowing has said it
}

// Need says what of the survey a command uses.
type Need int

const (
	Geometry Need = iota // sources, receivers, sampling, wavelet
	Traces               // the recorded traces as well
)

// Hardware is what a plan has to know of the machine of a rank.
type Hardware struct {
	Engine   string // "reference", "cpu", "cuda" or "hip"
	Threads  int
	Memory   int64 // bytes that this process may take, its program included
	Resident int64 // bytes of it that the program takes
	Card     *Card // nil: none
}

// Card is a GPU.
type Card struct {
	Multiprocessors int
	Free            int64 // bytes that this rank may take
}

// Found is what only the traces tell.
type Found struct {
	Dead int              // traces without a sample other than zero
	Live int              // traces with a weight above 0; 0 where all have weight 1
	Made []config.Setting // that the traces were made with, as far as their file tells
}

// Residency says where traces and tables are while the solver runs: the same on all
// ranks, for an image of which one rank's part came from rounded times and another's did
// not would be neither.
type Residency struct {
	Stream bool   // traces are read as they are needed, never held
	Tables string // as kirchhoff.tables; "auto": not decided yet; "exact": in full or, where they do not fit, recomputed, to the same bits
}

// Work is how a rank goes through its traces.
type Work struct {
	kirchhoff.Work
	Compact bool // times are held in 16 bits
	Coarse  bool // tables are interpolated from coarse ones
}

// CoarseFactor is the distance, in points, between those that coarse tables keep.
const CoarseFactor = 2

// Precision says what traveltimes the operator has. Tables in full and tables that are
// recomputed have the same.
func (r Residency) Precision() string {
	switch r.Tables {
	case "uint16", "coarse":
		return r.Tables
	}
	return "exact"
}

// New makes the plan of a configuration, and refuses what does not fit together.
func New(cfg *config.Config, in *inputs.Inputs, hw Hardware, need Need) (*Plan, error) {
	p := &Plan{
		Config: cfg, Inputs: in, Hardware: hw, Need: need,
		Shots: newShots(in.Places), Mute: newMute(cfg.Data, in.Survey), Wavelet: in.Survey.Wavelet,
	}
	for _, step := range []func() error{
		p.checkWavelet,
		p.placeImage,
		p.checkAliasSpacing,
		p.checkMatching,
		p.chooseTimes,
		p.checkUnits,
		p.checkPlaces,
		p.findSurface,
		p.checkWeights,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	p.Classes = newClasses(p)
	p.whiten()
	return p, nil
}

// First is the plan of the first shots of the survey; 0: of all.
func (p *Plan) First(shots int) *Plan {
	q := *p
	if shots > 0 && shots < q.Shots.Len() {
		q.Shots.starts = q.Shots.starts[:shots+1]
	}
	return &q
}

// Holding is the plan with traces and tables held in one way.
func (p *Plan) Holding(r Residency) *Plan {
	q := *p
	q.Held = r
	return &q
}

// Knowing is the plan once the traces were read.
func (p *Plan) Knowing(f Found) *Plan {
	q := *p
	q.Found = f
	return &q
}

// Remarks say what was chosen where that may surprise.
func (p *Plan) Remarks() (list []string) {
	if p.Classes.ByTrace != nil && p.Numbers != nil {
		list = append(list, p.SelectionText(p.Config))
	}
	if p.Times.Name() != p.Config.Traveltime.Method {
		list = append(list, "the velocity is constant: traveltimes are computed exactly instead of by the eikonal solver")
	}
	return list
}

// Exact reports whether sums are to be the same on any number of ranks.
func (p *Plan) Exact() bool {
	return p.Config.Solver.Reproducible == "ranks" && p.Engine != "reference"
}

// Type is the precision in which the engine works.
func (p *Plan) Type() device.Type {
	if p.Engine == "reference" {
		return device.F64
	}
	return device.F32
}

// RecordEnd is the time of the last sample of the traces, s.
func (p *Plan) RecordEnd() float64 {
	return p.Survey.T0 + float64(p.Survey.NT-1)*p.Survey.DT
}

// DataShape is [ns, nr, nt] for a fixed spread, [ntrace, nt] otherwise; traces lie shot
// by shot.
func (p *Plan) DataShape() []int {
	if s := p.Survey; s.Fixed && p.Shots.order == nil && p.Shots.Traces() == s.NumTraces() {
		return []int{s.NumSources(), s.NumReceivers(), s.NT}
	}
	return []int{p.Shots.Traces(), p.Survey.NT}
}

// Weighted reports whether any weight of the data differs from 1.
func (p *Plan) Weighted() bool {
	d := p.Config.Data
	if d.Weights == "survey" {
		for _, w := range p.Survey.Weight {
			if w != 1 {
				return true
			}
		}
	}
	return p.Mute.On() || d.Weights == "rms" || d.Dead == "mask" && p.Found.Dead > 0
}

func (p *Plan) checkWavelet() error {
	file := p.Config.Survey.File.File
	if err := inputs.CheckWavelet(file, p.Survey.Wavelet); err != nil || !p.Config.Kirchhoff.WaveletFilter {
		return err
	}
	// The filter has no constant part, and in 3-D no part at Nyquist either.
	if n, least := len(p.Survey.Wavelet.Samples), p.Survey.Dim; n < least {
		return status.Usage(fmt.Errorf("kirchhoff.wavelet_filter: makes nothing of %s's wavelet of %s, needs at least %d", file, readable.Count(n, "sample"), least))
	}
	return nil
}

// placeImage takes the image's grid from the configuration, or else from the velocity
// model.
func (p *Plan) placeImage() error {
	c := p.Config.Image
	if !c.IsSet() {
		if p.Velocity.IsConstant() {
			return status.Usage(fmt.Errorf("image: origin, spacing and shape are needed with velocity.constant"))
		}
		p.Image = p.Velocity.Grid
		return nil
	}
	p.Image = c.Grid()
	if err := p.Image.Validate(); err != nil {
		return status.Usage(fmt.Errorf("image: %w", err))
	}
	if p.Image.Dim() != p.Survey.Dim {
		return status.Usage(fmt.Errorf("image: shape %v has %d axes, the survey's positions have %d columns", c.Shape, p.Image.Dim(), p.Survey.Dim))
	}
	if !p.Velocity.IsConstant() && !p.Image.Inside(p.Velocity.Grid) {
		return status.Usage(fmt.Errorf("image: %s reaches outside the velocity model, %s", inputs.Extent(p.Image), inputs.Extent(p.Velocity.Grid)))
	}
	return nil
}

// checkWeights makes sure that the survey has the weights asked for.
func (p *Plan) checkWeights() error {
	if p.Need == Traces && p.Config.Data.Weights == "survey" && p.Survey.Weight == nil {
		return status.Hint(status.Input(fmt.Errorf("%s: dataset /weight is missing, data.weights = \"survey\" needs it", p.Config.Survey.File.File)),
			`weights = "rms" finds weights in the traces themselves`)
	}
	return nil
}

func (p *Plan) chooseTimes() (err error) {
	if p.Tables != nil {
		if err := p.checkTables(); err != nil {
			return err
		}
	}
	p.Times, err = p.timesOn(p.Image)
	return err
}

// timesOn is the configured method for an image on g.
func (p *Plan) timesOn(g grid.Grid) (traveltime.Method, error) {
	s := traveltime.Spec{Image: g, Velocity: p.Velocity.Values, Model: p.Velocity.Grid, Constant: p.Velocity.Constant}
	if p.Tables != nil {
		s.Tables, s.TablesGrid = timeRows{p.Tables}, p.Tables.Grid()
	}
	return traveltime.New(p.Config.Traveltime.Method, s)
}

// checkTables makes sure that the table file is for this image and survey.
func (p *Plan) checkTables() error {
	t, s, file := p.Tables, p.Survey, p.Config.Traveltime.File.File
	if !t.Grid().Equal(p.Image) {
		return status.Input(fmt.Errorf("%s: tables are on %s, the image on %s", file, inputs.Extent(t.Grid()), inputs.Extent(p.Image)))
	}
	if t.NumSources() != s.NumSources() || t.NumReceivers() != s.NumReceivers() {
		return status.Input(fmt.Errorf("%s: tables for %s and %s, the survey has %d and %d",
			file, readable.Count(t.NumSources(), "source"), readable.Count(t.NumReceivers(), "receiver"), s.NumSources(), s.NumReceivers()))
	}
	return nil
}

// timeRows shows a table file to package traveltime.
type timeRows struct{ t *h5.Tables }

func (r timeRows) Row(dst []float64, role survey.Role, row int) error {
	return r.t.ReadRow(dst, role, h5.Time, row)
}

// checkPlaces makes sure that the traveltimes can start at every place.
func (p *Plan) checkPlaces() error {
	g := p.Times.Domain()
	if g == nil {
		return nil
	}
	for i := range p.Places.Len() {
		if at := p.Places.At(i); !g.Contains(at) {
			return status.Hint(status.Input(fmt.Errorf("%s: %s %d at %s m lies outside the velocity model, %s",
				p.Config.Survey.File.File, p.Places.Role[i], p.Places.Row[i], inputs.Point(at), inputs.Extent(*g))),
				"extend the velocity model so that it holds every source and receiver")
		}
	}
	return nil
}
