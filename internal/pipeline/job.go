package pipeline

import (
	"time"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// The methods that commands use.

// Config is the configuration with what was decided: kirchhoff.spreading = "auto" is replaced.
func (j *Job) Config() *config.Config { return j.plan.Config }

// Geometry says where traces and image lie.
func (j *Job) Geometry() *Geometry { return j.plan.Geometry }

// Classes returns the classes of the job's images.
func (j *Job) Classes() Classes { return j.plan.Classes }

// Wavelet returns the wavelet of the traces, see Plan.
func (j *Job) Wavelet() survey.Wavelet { return j.plan.Wavelet }

// HasTraces reports whether the job has read traces.
func (j *Job) HasTraces() bool { return j.traces != nil }

// Mutes reports whether the traces are muted.
func (j *Job) Mutes() bool { return j.plan.Mute.On() }

// Streams reports whether traces are read as they are needed.
func (j *Job) Streams() bool { return j.plan.Held.Stream }

// Host is this rank's processors.
func (j *Job) Host() *device.Host { return j.process.Host }

// Device is where vectors of this rank are.
func (j *Job) Device() device.Device { return j.process.Device }

// Digests returns the digests of the files that the configuration names.
func (j *Job) Digests() []provenance.Input { return j.inputs.Digests }

// EngineText says which engine computes, and why where kirchhoff.engine = "auto" chose.
func (j *Job) EngineText() string {
	if j.process.Choice != "" {
		return j.process.Choice
	}
	return j.plan.Hardware.Engine
}

// Built is the job's operator, nil before Build.
func (j *Job) Built() *Operator { return j.op }

// Whole gathers an image on rank 0. It returns nil on the others, and is collective.
func (j *Job) Whole(v *dist.Vector) ([]float32, error) { return j.process.Whole(v) }

// UseSpikes gives the operator a spike for a wavelet: from what it makes of an image FitWavelet finds
// the wavelet of the traces. It comes before Build.
func (j *Job) UseSpikes() { j.plan = j.plan.OfSpikes() }

// FilterFits reports whether the traces are, as far as is known, of the kirchhoff.wavelet_filter of the run.
func (j *Job) FilterFits() bool { return filterFits(j.plan) }

// PredictsFile reports whether the operator maps the image that a run writes to the predicted traces. A
// banded run with images by class keeps only the filtered images, so it does not.
func (j *Job) PredictsFile() bool {
	return !Banded(j.plan.Config.Solver, j.plan.Geometry.Image) || j.plan.Classes.N == 0
}

// Forecast predicts the run on the given number of ranks, laid out as comm.grid.
func (j *Job) Forecast(grid []int, ranks int) (*Forecast, error) {
	p, err := LoadAll(j.plan)
	if err != nil {
		return nil, err
	}
	return NewForecast(p, grid, ranks)
}

// Work counts the work of one application of an operator.
type Work struct {
	Traces     int   // of the survey
	Triples    int64 // of a trace and an image point of this rank
	TableBytes int64 // of this rank
}

// Work returns the work of this rank's part of the operator.
func (j *Job) Work() Work {
	return Work{j.plan.Geometry.Shots.Traces(), j.plan.Problem(j.share).Triples(), j.op.engine.TableBytes()}
}

// Kernel holds the properties that determine the speed of an operator's kernels.
type Kernel struct {
	Engine  string
	OnCard  bool
	Threads int
	Exact   bool // sums are
	Taps    int  // samples of the wavelet
	Dim     int
	Dynamic bool // with amplitude weights
}

// Kernel returns the properties of the job's operator.
func (j *Job) Kernel() Kernel {
	p := j.plan
	return Kernel{p.Hardware.Engine, p.Hardware.Card != nil, p.Hardware.Threads, p.Exact(), len(p.Wavelet.Samples), p.Geometry.Image.Dim(), p.Config.Kirchhoff.Dynamic}
}

// ReadingTime is the duration of one reading of streamed traces; 0 if they are not streamed.
func (j *Job) ReadingTime() time.Duration {
	if j.traces == nil {
		return 0
	}
	return j.traces.Took
}
