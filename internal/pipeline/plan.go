package pipeline

import (
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Plan is the computation of a run. It is the same on all ranks except for the hardware. New
// makes it and nothing changes it: methods that decide more return a new plan.
type Plan struct {
	Config   *config.Config
	Inputs   *Inputs
	Hardware Hardware
	Need     Need

	Geometry *Geometry
	Times    *Times
	Classes  Classes // of the images by class
	Mute     Mute
	Wavelet  survey.Wavelet       // of the traces, without kirchhoff.wavelet_filter: the survey's, or the whitened one with data.whiten
	White    *Whitener            // with data.whiten; otherwise nil
	Filters  imaging.MatchOptions // with solver.method = "matching"
	Spikes   bool                 // the operator's wavelet is a spike, see OfSpikes

	Branches []float64 // of rays with several arrivals: the share of places and boxes in which each branch has some
	Held     Residency // once Holding has said it
	Found    Found     // once Knowing has said it
}

// Need says what of the survey a command uses.
type Need int

const (
	NeedGeometry   Need = iota // sources, receivers, sampling, wavelet
	NeedPlanning               // the recorded traces as well, if the survey file has any
	NeedTraces                 // the recorded traces as well
	NeedTracesOnce             // the recorded traces, to which the operator is applied once
)

// Hardware is the part of a rank's machine that a plan needs to know.
type Hardware struct {
	Engine   string // "reference", "cpu", "cuda" or "hip"
	Threads  int
	Memory   int64       // bytes that this process may take, its program included
	Resident int64       // bytes of it that the program takes
	Card     *CardMemory // nil: none
}

// CardMemory is a GPU.
type CardMemory struct {
	Multiprocessors int
	Free            int64 // bytes that this rank may take
}

// Found is the information that only the traces have.
type Found struct {
	Dead int              // traces without a sample other than zero
	Live int              // traces with a weight above 0; 0 where all have weight 1
	Made []config.Setting // that the traces were made with, as far as their file tells
}

// Residency says where traces and tables are while the solver runs. It is the same on all
// ranks: a mixture of coarse and full tables would make an image that neither makes alone.
type Residency struct {
	Stream bool   // traces are read as they are needed, never held
	Tables string // as kirchhoff.tables; "auto": not decided yet; "exact": in full or, where they do not fit, recomputed, to the same bits
}

// CoarseFactor is the distance, in points, between those that coarse tables keep.
const CoarseFactor = 2

// Precision names the precision of the operator's traveltimes. Full tables and recomputed
// tables have the same.
func (r Residency) Precision() string {
	if r.Tables == "coarse" {
		return "coarse"
	}
	return "exact"
}

// NewPlan makes the plan of a configuration. It returns an error if the configuration, its
// files and the hardware do not fit together.
func NewPlan(cfg *config.Config, in *Inputs, hw Hardware, need Need) (*Plan, error) {
	if err := checkWavelet(cfg, in.Survey); err != nil {
		return nil, err
	}
	g, err := NewGeometry(cfg, in)
	if err != nil {
		return nil, err
	}
	filters, err := chooseFilters(cfg.Solver, g.Image, hw.Threads)
	if err != nil {
		return nil, err
	}
	t, err := NewTimes(cfg, in, g)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Config: chooseSpreading(cfg, t), Inputs: in, Hardware: hw, Need: need, Geometry: g, Times: t,
		Mute: newMute(cfg.Data, in.Survey), Wavelet: in.Survey.Wavelet, Filters: filters,
	}
	if err := checkPlan(p); err != nil {
		return nil, err
	}
	if p.Classes, err = newClasses(cfg.Image, in.Survey, need); err != nil {
		return nil, err
	}
	if cfg.Data.Whiten > 0 && need != NeedGeometry {
		p.White, p.Wavelet = whitenWavelet(cfg, g)
	}
	return p, nil
}

// checkPlan refuses what each stage takes, and what does not fit together.
func checkPlan(p *Plan) error {
	for _, err := range []error{
		checkScale(p.Config, p.Times),
		checkArrivals(p.Config.Kirchhoff, p.Times),
		checkRays(p.Config.Kirchhoff, p.Times, p.Geometry.Image.Dim()),
		checkUnits(p.Config.Survey, p.Geometry, p.Times),
		checkPlaces(p.Config.Survey, p.Geometry, p.Times, p.Inputs.Turned),
		checkWeights(p.Config, p.Geometry.Survey, p.Need),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// First returns the plan for the first shots of the survey. 0 means all shots.
func (p *Plan) First(shots int) *Plan {
	q, g := *p, *p.Geometry
	if shots > 0 && shots < g.Shots.Len() {
		g.Shots.starts = g.Shots.starts[:shots+1]
	}
	q.Geometry = &g
	return &q
}

// Holding returns the plan with traces and tables held as r says.
func (p *Plan) Holding(r Residency) *Plan {
	q := *p
	q.Held = r
	return &q
}

// With returns the plan with the parts of the velocity models that Times.Source and Times.Receiver
// hold when they are source and receiver. Traveltimes can then be solved where ModelSlabs lie within
// those parts.
func (p *Plan) With(source, receiver traveltime.Medium) (*Plan, error) {
	q := *p
	var err error
	q.Times, err = p.Times.with(source, receiver, p.Config, p.Geometry, p.Inputs)
	return &q, err
}

// OfSpikes returns the plan of an operator whose wavelet is a spike: from what it makes of an image
// lsm wavelet finds the wavelet of the traces.
func (p *Plan) OfSpikes() *Plan {
	q := *p
	q.Spikes = true
	return &q
}

// Knowing returns the plan with what was found when the traces were read.
func (p *Plan) Knowing(f Found) *Plan {
	q := *p
	q.Found = f
	return &q
}

// Remarks describe choices of the program that may surprise the user.
func (p *Plan) Remarks() (list []string) {
	if p.Classes.ByTrace != nil && p.Inputs.Numbers != nil {
		list = append(list, p.Inputs.SelectionText(p.Config))
	}
	if p.Times.Method.Name() != p.Config.Traveltime.Method {
		list = append(list, "the velocity is constant: traveltimes are computed exactly instead of by the eikonal solver")
	}
	if p.Need != NeedPlanning { // whose findings say it
		if text := p.Inputs.FrameText(); text != "" {
			list = append(list, "frame: "+text)
		}
		for _, r := range RemarkMedia(p.Config.Velocity, p.Times, p.Inputs.Models) {
			list = append(list, r.Topic+": "+r.Text)
		}
	}
	return list
}

// Exact reports whether sums must be the same on any number of ranks.
func (p *Plan) Exact() bool {
	return p.Config.Solver.Reproducible == "ranks" && p.Hardware.Engine != "reference"
}

// Type is the precision in which the engine works.
func (p *Plan) Type() device.Type {
	if p.Hardware.Engine == "reference" {
		return device.F64
	}
	return device.F32
}

// Weighted reports whether any weight of the data differs from 1.
func (p *Plan) Weighted() bool {
	d := p.Config.Data
	if d.Weights == "survey" {
		for _, w := range p.Geometry.Survey.Weight {
			if w != 1 {
				return true
			}
		}
	}
	return p.Mute.On() || Coherent(p.Config.Data, p.Need) || d.Dead == "mask" && p.Found.Dead > 0
}

// Problem describes the operator of a share for the engines, without the velocities that
// dynamic weights need.
func (p *Plan) Problem(s *Share) *kirchhoff.Problem {
	c := p.Config.Kirchhoff
	k := &kirchhoff.Problem{
		Grid:          p.Geometry.Image,
		Slab:          s.Slab,
		Positions:     s.Places,
		NT:            p.Geometry.Survey.NT,
		DT:            p.Geometry.Survey.DT,
		T0:            p.Geometry.Survey.T0,
		Wavelet:       p.Wavelet,
		WaveletFilter: kirchhoff.FilterNamed(c.WaveletFilter),
		Times:         p.Times.Method,
		Present:       p.Branches,
		Dynamic:       c.Dynamic,
		Threads:       p.Hardware.Threads,
	}
	if p.Spikes {
		k.Wavelet, k.WaveletFilter = survey.Wavelet{Samples: []float64{1}, DT: k.DT}, kirchhoff.NoFilter
	}
	if p.White != nil { // its wavelet is filtered
		k.WaveletFilter = kirchhoff.NoFilter
	}
	p.Geometry.setAperture(k)
	if p.Geometry.windows != nil {
		for _, place := range s.From {
			k.AllWindows = append(k.AllWindows, p.Geometry.windows[place])
		}
	}
	if len(c.DipLimit) == 2 {
		k.DipLimit = c.DipLimit
	}
	if o := c.OpeningLimit; len(o) == 2 {
		k.Opening = kirchhoff.Window{Fall0: o[0], Fall1: o[1]}
	}
	if w := p.Classes.Windows; w != nil {
		k.Opening = w[0]
	}
	if c.Antialias != "off" {
		k.Antialias = p.Geometry.AliasSpacing()
	}
	if k.Antialias != nil || p.Times.Tables == nil {
		k.Slowest = p.Inputs.Slowest
		if p.Geometry.Image.Domain == grid.Time {
			k.Slowest /= 2 // where the velocity changes sideways times change faster
		}
	}
	if c.Dynamic {
		k.MaxDistance = p.Geometry.farthest()
		if len(c.AngleLimit) == 2 {
			k.AngleLimit = c.AngleLimit
		}
		askRays(k, c)
		if t := p.Times.Tables; p.Times.givesAmplitudes() {
			k.Amplitude = func(own int) ([]float64, error) {
				b, place := make([]float64, p.Geometry.Image.Len()), s.From[own]
				return b, t.ReadRow(b, p.Geometry.Places.Role[place], h5.Amplitude, int(p.Geometry.Places.Row[place]))
			}
		}
	}
	return k
}
