package inspect

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/report"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// computeMissing computes what is in no file: where first arrivals are weak, the adjoint, the
// residual of the image, and a dot test.
func (c *collector) computeMissing() error {
	r := c.run
	if !c.compute {
		return nil
	}
	if r.Image.Config == "" {
		return status.Input(fmt.Errorf("%s: holds no configuration to compute from", r.File))
	}
	cfg, err := c.parse(r.Image.Config, append([]string{"comm.backend=self", "comm.grid=[0,1]", "image.halves=false", "output.filter=none"}, c.a.Set...))
	if err != nil {
		return status.Input(fmt.Errorf("%s: its configuration cannot be used: %w", r.File, err))
	}
	j, err := c.a.Open(cfg, pipeline.NeedTraces)
	if status.Code(err) == status.BadInput {
		return status.Hint(err, "--folder DIR says which folder the paths of the run's configuration start from")
	} else if err != nil {
		return err
	}
	defer j.Close()
	src := c.a.Source("report")
	for _, in := range provenance.FromAttrs(j.Attrs(src, "")).Inputs {
		if want, known := c.inputs[in.Role]; known && want != in.SHA256 {
			return status.Input(fmt.Errorf("%s: %s is not the one that the run read: its SHA-256 is another", in.Path, in.Role))
		}
	}
	if !j.Geometry().Image.Equal(r.Image.Grid) {
		return status.Input(fmt.Errorf("%s: lies on %v, its configuration gives %v", r.File, r.Image.Grid, j.Geometry().Image))
	}
	if err := c.findWeak(j); err != nil {
		return err
	}
	op, err := j.Build(c.ctx)
	if err != nil {
		return err
	}
	e, err := op.DotTest(c.ctx)
	if err != nil {
		return err
	}
	r.DotTest = &report.DotTest{Error: e, Limit: op.DotLimit()}
	d, err := j.Data()
	if err != nil {
		return err
	}
	if c.adjoint == "" {
		migrated, err := op.Migrate(c.ctx, d)
		if err != nil {
			return err
		}
		c.adjoint, c.adjointComputed = filepath.Join(c.scratch, "adjoint.h5"), true
		if err := j.WriteAdjoint(c.adjoint, migrated, src); err != nil {
			return err
		}
	}
	if c.residual != "" || cfg.Data.Whiten > 0 || !j.PredictsFile() { // no file tells it
		return nil
	}
	return c.computeResidual(j, op, d, src)
}

// computeResidual writes the residual of the run's image, of the traces d of its job.
func (c *collector) computeResidual(j *pipeline.Job, op *pipeline.Operator, d *dist.Vector, src pipeline.Source) error {
	r := c.run
	c.residual = filepath.Join(c.scratch, "residual.h5")
	if j.Classes().N > 0 {
		predicted, err := op.ModelGathers(c.ctx, r.File)
		if err != nil {
			return err
		}
		if err := dist.Axpby(1, d, -1, predicted); err != nil {
			return err
		}
		return j.WriteTraces(c.residual, predicted, src)
	}
	image, err := h5.OpenImage(r.File)
	if err != nil {
		return err
	}
	defer image.Close()
	x, err := op.ImageVector(image.ReadReflectivity)
	if err != nil {
		return err
	}
	return j.WriteResidual(c.ctx, c.residual, d, x, src)
}

// findWeak looks where first arrivals of the run are weak.
func (c *collector) findWeak(j *pipeline.Job) error {
	if !c.run.MayBeWeak() {
		return nil
	}
	f, err := j.Forecast([]int{0, 1}, 1)
	if err != nil {
		return err
	}
	weak, found, err := f.FindWeak(c.ctx, c.a.Report)
	if err != nil {
		return pipeline.BlameInput(err)
	}
	c.run.Arrivals = &report.Arrivals{Says: found.Text, Warning: found.Level == "warning"}
	if weak != nil {
		c.run.Arrivals.Weak = weak.Weak
	}
	return nil
}

// readImageGathers reads a few image gathers of the image, and the gathers of the adjoint at the
// same places.
func (c *collector) readImageGathers() error {
	r := c.run
	found, err := gathersOf(r.File, c.gathers)
	if err != nil {
		return err
	}
	if found == nil {
		if len(c.gathers) > 0 {
			return noGathers(r.File)
		}
		return nil
	}
	r.Classes, r.ClassLimits, r.ImageGathers = found.classes, found.limits, found.list
	if r.Adjoint == nil {
		return nil
	}
	beside, err := gathersOf(c.adjoint, c.gathers)
	if err != nil || beside == nil {
		return err
	}
	if beside.classes.Name != r.Classes.Name || !slices.Equal(beside.classes.Centers, r.Classes.Centers) || !beside.grid.Equal(found.grid) {
		c.note("%s has gathers of other classes than the image. They are not shown.", c.adjoint)
		return nil
	}
	r.AdjointGathers = beside.list
	return nil
}

// readTold reads the log of the run.
func (c *collector) readTold() error {
	r := c.run
	if c.log == "" {
		return nil
	}
	file, err := plainfile.Open(c.log)
	if err != nil {
		return status.Input(err)
	}
	defer file.Close()
	if r.Log, err = report.ReadLog(file); err != nil {
		return status.Input(fmt.Errorf("%s: %w", c.log, err))
	}
	if !r.Log.Belongs(r.Image.ResidualNorm) {
		return status.Input(fmt.Errorf("%s: is the log of another run: its last residual is %g, that of %s is %g",
			c.log, *r.Log.Residual, r.File, r.Image.ResidualNorm[len(r.Image.ResidualNorm)-1]))
	}
	r.Times = r.Log.Times
	return nil
}

// readShots reads a few shots of the survey and of its residual.
func (c *collector) readShots() error {
	r, path := c.run, c.survey
	if c.residual != "" && r.Config != nil && r.Config.Data.Whiten > 0 {
		c.note("%s is that of whitened traces, not of those recorded. It is not shown.", c.residual)
		c.residual = ""
	}
	var files [2]*h5.SurveyReader // of the data and of the residual, nil for none
	var s *survey.Survey          // of the traces that are counted
	var keep []int32              // those of the data that are counted; nil: all
	for i, path := range []string{path, c.residual} {
		if path == "" {
			continue
		}
		file, err := OpenTraces(path, "")
		if err != nil {
			return err
		}
		defer file.Close()
		files[i] = file
	}
	if path != "" {
		in, err := pipeline.SelectTraces(r.Config)
		if err != nil {
			return err
		}
		s, keep = in.Survey, in.Numbers
	}
	if residual := files[1]; residual != nil && s == nil {
		s = residual.Survey()
	} else if residual != nil {
		if err := sameTraces(s, residual.Survey()); err != nil {
			return status.Input(fmt.Errorf("%s does not hold the traces of %s: %w", c.residual, path, err))
		}
	}
	if s == nil {
		return nil
	}
	weights := c.weights(s, files[0])
	shots, err := chooseShots(s, c.shots)
	if err != nil {
		return err
	}
	for _, shot := range shots {
		traces, offset := shotTraces(s, shot)
		if len(traces) == 0 {
			return status.Usage(fmt.Errorf("report: no trace belongs to shot %d", shot))
		}
		g := report.Gather{Name: fmt.Sprintf("Shot %d, %s", shot, Extent(s.Source(shot), s.Dim)), NT: s.NT, DT: s.DT, T0: s.T0, Offset: offset}
		if g.Data, err = readTraces(files[0], traces, keep); err != nil {
			return err
		}
		if g.Residual, err = readTraces(files[1], traces, nil); err != nil {
			return err
		}
		weigh(&g, weights, traces)
		r.Gathers = append(r.Gathers, g)
	}
	return nil
}

// weights returns the weights of the run's traces, nil if the page lacks the data or the
// configuration.
func (c *collector) weights(s *survey.Survey, data *h5.SurveyReader) *pipeline.TraceWeights {
	if data == nil || c.run.Config == nil {
		return nil
	}
	return pipeline.NewTraceWeights(c.run.Config.Data, s)
}

// weigh multiplies data and residual of a shot by the weights with which the solve counts them, over
// the largest of its traces, and says so where any is not 1.
func weigh(g *report.Gather, weights *pipeline.TraceWeights, traces []int32) {
	if weights == nil {
		return
	}
	mutes, factors := make([]float32, len(traces)*g.NT), make([]float64, len(traces))
	for i, trace := range traces {
		at := i * g.NT
		factors[i] = weights.Of(int(trace), g.Data[at:at+g.NT], mutes[at:at+g.NT])
	}
	most := slices.Max(factors)
	for i := range mutes {
		w := mutes[i]
		if most > 0 {
			w *= float32(factors[i/g.NT] / most)
		}
		g.Weighted = g.Weighted || w != 1
		g.Data[i] *= w
		if g.Residual != nil {
			g.Residual[i] *= w
		}
	}
}

// readTraces reads traces of a file by their numbers among those that are kept, nil for
// all. Without a file it returns nil.
func readTraces(file *h5.SurveyReader, traces, keep []int32) ([]float32, error) {
	if file == nil {
		return nil, nil
	}
	if keep != nil {
		traces = slices.Clone(traces)
		for i, n := range traces {
			traces[i] = keep[n]
		}
	}
	v := make([]float32, len(traces)*file.Survey().NT)
	return v, file.ReadTraceList(v, traces)
}

// shownShots is how many gathers are shown unless told otherwise.
const shownShots = 3

// chooseShots returns the requested rows. If none are requested, it returns some that have
// traces, spread over the survey except for its ends, where spreads are cut short.
func chooseShots(s *survey.Survey, asked []int) ([]int, error) {
	for _, shot := range asked {
		if shot < 0 || shot >= s.NumSources() {
			return nil, status.Usage(fmt.Errorf("report: shot %d: the survey has sources 0 to %d", shot, s.NumSources()-1))
		}
	}
	if len(asked) > 0 {
		return asked, nil
	}
	has := make([]bool, s.NumSources())
	for i := range s.NumTraces() {
		src, _ := s.Pair(i)
		has[src] = true
	}
	var all, some []int
	for shot, ok := range has {
		if ok {
			all = append(all, shot)
		}
	}
	for k := range shownShots {
		some = append(some, all[(2*k+1)*len(all)/(2*shownShots)])
	}
	return slices.Compact(some), nil
}
