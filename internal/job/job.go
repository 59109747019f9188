// Package job is the pipeline from a configuration to an image: it loads and
// checks the inputs, chooses the traveltime method and the engine, builds the
// operator, solves, and publishes the output. The commands run, migrate, model,
// traveltime and check are different walks through it.
package job

import (
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Job holds the loaded, checked inputs of one run. It is made by Open; its
// exported fields are read-only. Of a run on many ranks every rank has a Job of
// its own; methods that say so are collective.
type Job struct {
	Config *config.Config
	Survey *survey.Survey    // the traces of the whole run that data.offset and data.azimuth leave, but for Data: this rank's, shot by shot, if opened with them
	Places *survey.Positions // of the whole run
	Dead   int               // traces of the whole run without a sample other than zero

	Wavelet survey.Wavelet // that traces are convolved with, but for kirchhoff.wavelet_filter: Survey's, or with data.whiten another

	Image     grid.Grid // where the image lies
	ModelGrid grid.Grid // where the velocity is given; the zero Grid for a constant
	Velocity  []float64 // m/s, on ModelGrid; nil for a constant

	Times  traveltime.Method
	Engine string        // "reference", "cpu", "cuda" or "hip"
	Host   *device.Host  // this rank's processors
	Device device.Device // where its vectors are: Host, or a GPU

	began time.Time
	isa   string // instruction set of the cpu's kernels; "" for another engine

	// Alone says that this process runs this job and nothing else: the job may then
	// bound the heap of the process. It is set before Build.
	Alone bool

	card     *gpu.Device // nil: none
	sharers  []int       // ranks that use this card, this one among them
	cardFree int64       // bytes of it that this rank may take
	nccl     *nccl.Group // between the cards of all ranks; nil: none

	unwatch func() // takes back that the watch may end what nccl is in

	ranks
	recorded int                // traces in the survey file
	file     []int32            // numbers there of Survey's traces; nil: the same
	class    []int32            // by trace, the class of its image; nil: one image
	windows  []kirchhoff.Window // of opening angles, by class; nil: none
	order    []int32            // traces shot by shot; nil: as they are numbered
	starts   []int              // first traces of the shots in that order, and their number
	mine     share
	own      *survey.Positions // places of this rank's traces
	from     []int32           // what their numbers are in Places

	white   *whitener    // with data.whiten
	weight  []float64    // of this rank's traces; nil: all 1
	live    int          // traces of the whole run with a weight above 0, where weight is not nil
	w       *dist.Vector // of the data, the diagonal of W, once it is made; nil: all 1
	surface []float64    // z of the topography at the image's columns; nil: none
	s       *dist.Vector // of the image, the diagonal of S, once it is made

	made []config.Setting // that the survey's traces were made with, as far as its file tells

	residency
	traceFile *h5.SurveyReader // open survey file, if so
	found     found            // what reading all traces told
	available int64            // bytes of memory that there were for this rank when the job was opened
	rooms     []device.Buf     // that groups of traces were read into last, of no reader now

	// Try, if not nil, finds out whether an HDF5 file can be read without harm to this
	// process. What Open reads has been tried before.
	Try func(path string) error

	tables *h5.Tables // open table file, for traveltime.method = "table"
	start  []float32  // the start model, once LoadStart has read it
	inputs []provenance.Input
	kept   interface{ Intact() error } // tables kept in memory; nil: none
	saved  []string                    // this run's own checkpoints, oldest first
	report *progress.Reporter
}

// Need says what of the survey a walk uses.
type Need int

const (
	Geometry Need = iota // sources, receivers, sampling, wavelet
	Traces               // the recorded traces as well
)

// Open loads what the configuration names and checks that it fits together, on
// all ranks of the world, which must be given the same configuration. Errors
// carry the exit status that the command ends with, and are the same everywhere.
func Open(world comm.Comm, cfg *config.Config, need Need, report *progress.Reporter) (*Job, error) {
	return open(world, cfg, need, report, 0)
}

// open takes the first shots of the survey alone; 0: all of them.
func open(world comm.Comm, cfg *config.Config, need Need, report *progress.Reporter, shots int) (*Job, error) {
	j := &Job{Config: cfg, report: report, began: time.Now()}
	program() // before anything is loaded
	if err := comm.Together(world, j.join(world)); err != nil {
		return nil, err
	}
	for _, load := range []func() error{
		j.chooseEngine,
		j.sameHardware,
		j.shareCards,
		j.joinCards,
		j.rememberInputs,
		j.measureCard,
		j.loadSurvey,
		func() error { return j.classify(need) },
		j.loadVelocity,
		j.placeImage,
		j.checkMatching,
		j.chooseTimes,
		j.checkUnits,
		j.checkPlaces,
		j.loadSurface,
		func() error { return j.whitenWavelet(need) },
		func() error { return j.checkWeights(need) },
		func() error { return j.takeShare(shots) },
		j.chooseResidency,
		func() error { return j.loadTraces(need) },
		func() error { return j.countDead(need) },
		func() error { return j.checkTraces(need) },
		func() error { return j.weighTraces(need) },
		func() error { return j.found.total(j.shots) },
	} {
		if err := comm.Together(world, FileError(load())); err != nil {
			j.Close()
			return nil, err
		}
	}
	return j, nil
}

// join finds this rank's place among the others, in the run and on its machine.
func (j *Job) join(world comm.Comm) (err error) {
	if j.ranks, err = joinGrid(world, j.Config.Comm.Grid); err != nil {
		return err
	}
	threads, node, err := machine.Share(world.Host().AllGather)
	if err != nil {
		return err
	}
	j.node = node
	j.available = availableMemory(node)
	if t := j.Config.Machine.Threads; t > 0 {
		threads = t
	}
	j.Host = device.NewHost(threads)
	j.Host.OnMark = j.report.Time
	j.Device = j.Host
	return nil
}

// Close releases the files that the job keeps open.
func (j *Job) Close() {
	if j.tables != nil {
		j.tables.Close()
		j.tables = nil
	}
	if j.traceFile != nil {
		j.traceFile.Close()
		j.traceFile = nil
	}
	if j.nccl != nil {
		j.unwatch()
		j.nccl.Close() // all its sums are done
		j.nccl = nil
	}
	if j.card != nil {
		j.card.Close() // nothing is left to be done on it
		j.card = nil
	}
}

func (j *Job) chooseEngine() error {
	switch e := j.Config.Kirchhoff.Engine; e {
	case "auto", "cpu":
		var err error
		if j.isa, err = kirchhoff.ISA(); err != nil {
			return err
		}
		j.Engine = "cpu"
		if note := autoNote(machine.Accelerators("/dev")); e == "auto" && note != "" {
			j.report.Infof("%s", note)
		}
	case "reference":
		j.Engine = e
		if j.world.Size() > 1 && j.Config.Solver.Reproducible == "ranks" {
			return status.Hint(status.Usage(fmt.Errorf("solver.reproducible: \"ranks\" is not offered by kirchhoff.engine = \"reference\" on %d ranks", j.world.Size())),
				`reproducible = "run" gives the same bits on the same ranks; engine = "cpu" gives them on any number`)
		}
	case "cuda":
		return j.openCard(driver.CUDA)
	case "hip":
		return j.openCard(driver.HIP)
	}
	return nil
}

// loadSurvey reads everything but the traces.
func (j *Job) loadSurvey() error {
	file := j.Config.Survey.File.File
	defer j.report.Time("read survey")()
	var err error
	if j.Survey, j.file, j.recorded, err = selected(j.Config); err != nil {
		return err
	}
	if err := j.checkWavelet(); err != nil {
		return err
	}
	if j.Config.Kirchhoff.WaveletFilter {
		// The filter has no constant part, and in 3-D no part at Nyquist either.
		if n, least := len(j.Survey.Wavelet.Samples), j.Survey.Dim; n < least {
			return status.Usage(fmt.Errorf("kirchhoff.wavelet_filter: makes nothing of %s's wavelet of %s, needs at least %d", file, readable.Count(n, "sample"), least))
		}
	}
	// Rows of given tables keep their own times even at equal positions.
	j.Places = j.Survey.Distinct(j.Config.Traveltime.Method != "table")
	j.order, j.starts = shotOrder(j.Places)
	return nil
}

// total is the number of traces that the run takes of the survey.
func (j *Job) total() int { return j.starts[len(j.starts)-1] }

// takeShare finds out what this rank holds of the first shots, 0 for all.
func (j *Job) takeShare(shots int) error {
	if shots > 0 && shots < len(j.starts)-1 {
		j.starts = j.starts[:shots+1]
	}
	all, err := j.shares(j.grid)
	if err != nil {
		return err
	}
	j.mine = all[j.world.Rank()]
	j.own, j.from = j.Places.Subset(j.traces(j.mine))
	return nil
}

// loadTraces reads this rank's traces, to hold them or to find out about them.
func (j *Job) loadTraces(need Need) error {
	if need != Traces {
		return nil
	}
	file := j.Config.Survey.File.File
	if err := j.verifyOnce(func() (verifier, error) { return h5.OpenSurvey(file) }); err != nil {
		return err
	}
	defer j.report.Time("read survey")()
	r, err := h5.OpenSurvey(file)
	if err != nil {
		return err
	}
	r.Trust()
	if !r.HasData() {
		r.Close()
		return status.Hint(status.Input(fmt.Errorf("%s: dataset /data is missing", file)),
			`"lsm model" makes data from a reflectivity`)
	}
	if j.made, err = madeWith(r); err != nil {
		r.Close()
		return err
	}
	if j.stream {
		j.traceFile = r
		return j.surveyTraces()
	}
	defer r.Close()
	j.Survey.Data = make([]float32, (j.mine.last-j.mine.first)*j.Survey.NT)
	if err := r.ReadTraceList(j.Survey.Data, j.inFile(j.traces(j.mine))); err != nil {
		return err
	}
	j.whitenTraces(j.Survey.Data)
	j.found.dead = j.Survey.Dead()
	return nil
}

// countDead counts the dead traces of all ranks.
func (j *Job) countDead(need Need) error {
	if need != Traces {
		return nil
	}
	dead := []float64{float64(j.found.dead)}
	if err := j.shots.Host().AllReduce(dead, comm.Sum); err != nil {
		return err
	}
	if j.Dead = int(dead[0]); j.Dead == j.total() {
		what := fmt.Sprintf("all %d traces are", j.Dead)
		if j.Dead == 1 {
			what = "its only trace is"
		}
		return status.Input(fmt.Errorf("%s: %s dead (every sample is zero)", j.Config.Survey.File.File, what))
	}
	return nil
}

func (j *Job) loadVelocity() error {
	if !j.Config.Velocity.File.IsSet() {
		return nil
	}
	file, unit := j.Config.Velocity.File.File, j.Config.Velocity.Units
	g, v, err := ReadVelocity(file, unit)
	if err != nil {
		return err
	}
	if g.Dim() != j.Survey.Dim {
		return status.Input(fmt.Errorf("%s: velocity has %d axes, the survey's positions have %d columns", file, g.Dim(), j.Survey.Dim))
	}
	j.ModelGrid, j.Velocity = g, v
	return nil
}

// placeImage takes the image's grid from the configuration, or else from the
// velocity model.
func (j *Job) placeImage() error {
	c := j.Config.Image
	if !c.IsSet() {
		if j.Velocity == nil {
			return status.Usage(fmt.Errorf("image: origin, spacing and shape are needed with velocity.constant"))
		}
		j.Image = j.ModelGrid
		return j.checkAliasSpacing()
	}
	j.Image = c.Grid()
	if err := j.Image.Validate(); err != nil {
		return status.Usage(fmt.Errorf("image: %w", err))
	}
	if j.Image.Dim() != j.Survey.Dim {
		return status.Usage(fmt.Errorf("image: shape %v has %d axes, the survey's positions have %d columns", c.Shape, j.Image.Dim(), j.Survey.Dim))
	}
	if j.Velocity != nil && !j.Image.Inside(j.ModelGrid) {
		return status.Usage(fmt.Errorf("image: %s reaches outside the velocity model, %s", extent(j.Image), extent(j.ModelGrid)))
	}
	return j.checkAliasSpacing()
}

func (j *Job) chooseTimes() error {
	var err error
	switch m := j.Config.Traveltime.Method; {
	case m == "table":
		file := j.Config.Traveltime.File.File
		if err := j.verifyOnce(func() (verifier, error) { return h5.OpenTables(file) }); err != nil {
			return err
		}
		if j.tables, err = h5.OpenTables(file); err != nil {
			return err
		}
		j.tables.Trust()
		return j.useTables()
	case m == "analytic":
		if j.Velocity != nil {
			return status.Hint(status.Usage(fmt.Errorf("traveltime.method: %q needs velocity.constant, not a velocity file", m)),
				`method = "eikonal" takes any velocity model`)
		}
		j.Times, err = traveltime.NewAnalytic(j.Config.Velocity.Constant, j.Image)
		return err
	case j.Velocity == nil:
		// The exact answer costs less than the solver's.
		j.report.Infof("the velocity is constant: traveltimes are computed exactly instead of by the eikonal solver")
		j.Times, err = traveltime.NewAnalytic(j.Config.Velocity.Constant, j.Image)
		return err
	default:
		j.Times, err = traveltime.NewEikonal(j.Velocity, j.ModelGrid, j.Image)
		return err
	}
}

func (j *Job) useTables() error {
	t, file := j.tables, j.Config.Traveltime.File.File
	if !t.Grid().Equal(j.Image) {
		return status.Input(fmt.Errorf("%s: tables are on %s, the image on %s", file, extent(t.Grid()), extent(j.Image)))
	}
	if t.NumSources() != j.Survey.NumSources() || t.NumReceivers() != j.Survey.NumReceivers() {
		return status.Input(fmt.Errorf("%s: tables for %s and %s, the survey has %d and %d",
			file, readable.Count(t.NumSources(), "source"), readable.Count(t.NumReceivers(), "receiver"), j.Survey.NumSources(), j.Survey.NumReceivers()))
	}
	var err error
	j.Times, err = traveltime.NewTable(timeRows{t}, t.Grid(), j.Image)
	return err
}

// timeRows shows a table file to package traveltime.
type timeRows struct{ t *h5.Tables }

func (r timeRows) Row(dst []float64, role survey.Role, row int) error {
	return r.t.ReadRow(dst, role, h5.Time, row)
}

// checkPlaces makes sure that the eikonal solver can start at every place.
func (j *Job) checkPlaces() error {
	if j.Velocity == nil || j.Config.Traveltime.Method != "eikonal" {
		return nil
	}
	for i := range j.Places.Len() {
		if p := j.Places.At(i); !j.ModelGrid.Contains(p) {
			return status.Hint(status.Input(fmt.Errorf("%s: %s %d at %s m lies outside the velocity model, %s",
				j.Config.Survey.File.File, j.Places.Role[i], j.Places.Row[i], point(p), extent(j.ModelGrid))),
				"extend the velocity model so that it holds every source and receiver")
		}
	}
	return nil
}

// velocityOnImage is the velocity at every image point, for amplitude weights and
// anti-aliasing.
func (j *Job) velocityOnImage() []float64 {
	v := make([]float64, j.Image.Len())
	switch {
	case j.Velocity == nil:
		for i := range v {
			v[i] = j.Config.Velocity.Constant
		}
	case j.Image.Equal(j.ModelGrid):
		copy(v, j.Velocity)
	default:
		j.ModelGrid.Interpolate(v, j.Velocity, j.Image)
	}
	return v
}

func point(p []float64) string {
	s := "("
	for i, v := range p {
		if i > 0 {
			s += ", "
		}
		s += readable.Length(v)
	}
	return s + ")"
}

func extent(g grid.Grid) string {
	s := ""
	for a, name := range grid.AxisNames(g.Dim()) {
		if a > 0 {
			s += " × "
		}
		s += fmt.Sprintf("%s [%s, %s]", name, readable.Length(g.Origin[a]), readable.Length(g.End(a)))
	}
	return s + fmt.Sprintf(" m (%s)", g)
}
