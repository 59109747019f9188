package analysis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/moveout"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Settings are the settings of a scan in metres (or seconds) instead of points. 0 stands for a
// default that follows from the image.
type Settings struct {
	Gamma     []float64 // the least and the greatest γ
	Every     float64   // m from one place that is analysed to the next
	Around    float64   // m on either side whose semblances are added
	Window    float64   // m, or s, over which a semblance sums
	Mute      float64
	Stiffness float64
	Threshold float64
	Threads   int
}

// gammaStep is the step from one γ to the next.
const gammaStep = 0.005

// Check returns what is wrong with the settings.
func (s Settings) Check() error {
	switch {
	case len(s.Gamma) != 2 || !(s.Gamma[0] >= 0.3 && s.Gamma[0] < 1 && s.Gamma[1] > 1 && s.Gamma[1] <= 3):
		return fmt.Errorf("--gamma is %v, must be two values, from 0.3 to below 1 and from above 1 to 3", s.Gamma)
	case !(s.Every >= 0) || !(s.Around >= 0) || !(s.Window >= 0):
		return fmt.Errorf("--every %g, --around %g and --window %g must not be negative", s.Every, s.Around, s.Window)
	case !(s.Mute > 0):
		return fmt.Errorf("--mute is %g, must be positive", s.Mute)
	case !(s.Stiffness >= 0):
		return fmt.Errorf("--stiffness is %g, must not be negative", s.Stiffness)
	case !(s.Threshold >= 0 && s.Threshold < 1):
		return fmt.Errorf("--threshold is %g, must be from 0 to below 1", s.Threshold)
	}
	return nil
}

// defaultPlaces is the number of places along an axis, on a line and on a surface.
var defaultPlaces = [3]float64{1: 100, 2: 25}

// options are the settings on a grid.
func (s Settings) options(g grid.Grid) moveout.Options {
	last := g.Dim() - 1
	o := moveout.Options{Least: s.Gamma[0], Greatest: s.Gamma[1], Step: gammaStep, Mute: s.Mute, Stiffness: s.Stiffness, Threshold: s.Threshold, Threads: s.Threads}
	for a := range last {
		every := cmp.Or(s.Every, max(g.Spacing[a], (g.End(a)-g.Origin[a])/defaultPlaces[last]))
		around := cmp.Or(s.Around, every/2)
		o.Every[a], o.Around[a] = counts.Near(every/g.Spacing[a], 1, g.Shape[a]), counts.Near(around/g.Spacing[a], 0, g.Shape[a])
	}
	o.Window = cmp.Or(s.Window, 10*g.Spacing[last])
	return o
}

// Scan is the result of scanning the gathers of an image file.
type Scan struct {
	Gathers      moveout.Gathers
	Options      moveout.Options
	Spectra      []moveout.Spectrum
	Trajectories [][]float64
	Picks        []moveout.Pick
	Unresolved   int // picks that were dropped: their peaks are nearly as wide as what is scanned

	path    string
	reader  *h5.GatherReader
	limits  []float64
	sectors moveout.Sectors // of gathers by offset and azimuth
	made    provenance.Record
}

// Open scans the image file path. In time it needs the model that the image was migrated with. The
// file of the recorded survey says where midpoints and datum lie; "" for not known. The scan keeps the file open until Close.
func Open(ctx context.Context, path, model, recorded string, s Settings, report *progress.Reporter) (*Scan, error) {
	r, err := h5.OpenGathers(path)
	if err != nil {
		return nil, pipeline.FileError(err)
	}
	if r == nil {
		return nil, noOffsets(path, "has no /gathers")
	}
	c := &Scan{path: path, reader: r}
	if err := c.scan(ctx, path, model, recorded, s, report); err != nil {
		r.Close()
		return nil, pipeline.FileError(err)
	}
	return c, nil
}

func noOffsets(path, what string) error {
	return status.Hint(status.Input(fmt.Errorf("%s: %s, want gathers by offset", path, what)),
		`image.gathers = "offset" with image.gather_bins makes them`)
}

// Close closes the file.
func (c *Scan) Close() { c.reader.Close() }

func (c *Scan) scan(ctx context.Context, path, model, recorded string, s Settings, report *progress.Reporter) error {
	r := c.reader
	g := r.Grid()
	switch {
	case r.Kind != "offset":
		return noOffsets(path, "has gathers by "+r.Name())
	case len(r.Centers)/r.Sectors() < moveout.LeastTraces:
		return status.Input(fmt.Errorf("%s: has %d offset classes, a semblance needs %d", path, len(r.Centers)/r.Sectors(), moveout.LeastTraces))
	case g.Shape[g.Dim()-1] < 4:
		return status.Input(fmt.Errorf("%s: the image has %d points along its last axis, a scan needs 4", path, g.Shape[g.Dim()-1]))
	}
	image, err := h5.ReadImage(path)
	if err != nil {
		return err
	}
	c.made = provenance.FromAttrs(image.Attrs)
	c.readClasses(ctx)
	c.Gathers.Grid, c.Gathers.Image = g, image.Data
	if err := c.readSpeeds(path, model); err != nil {
		return err
	}
	c.Options = s.options(g)
	if err := c.readMidpoints(path, recorded); err != nil {
		return err
	}
	if err := c.tell(report); err != nil {
		return err
	}
	stage := report.Stage("picks")
	defer stage.End()
	n := len(c.Gathers.Places(c.Options))
	stage.Total(n, "places")
	c.Options.Progress = progressOf(report, stage, n)
	if c.Spectra, err = moveout.Scan(&c.Gathers, c.Options); err != nil {
		return err
	}
	c.Trajectories = moveout.Trajectories(&c.Gathers, c.Options, c.Spectra)
	c.Picks, c.Unresolved = moveout.Picks(&c.Gathers, c.Options, c.Spectra, c.Trajectories)
	if err := moveout.Shift(&c.Gathers, c.Options, c.Picks); err != nil || !c.HasEllipses() {
		return err
	}
	return moveout.FitEllipses(&c.Gathers, c.sectors, c.Options, c.Picks)
}

// HasEllipses reports whether the image has gathers by offset and azimuth from which ellipses follow.
func (c *Scan) HasEllipses() bool { return len(c.sectors.Azimuths) >= moveout.LeastSectors }

// tell prints the size of the cube of a scan, and refuses one that does not fit into
// memory.
func (c *Scan) tell(report *progress.Reporter) error {
	g, o := c.Gathers.Grid, c.Options
	if g.Dim() == 2 {
		return nil
	}
	places, nz, classes := len(c.Gathers.Places(o)), g.Shape[g.Dim()-1], len(c.Gathers.Offsets)
	columns := (2*o.Around[0] + 1) * (2*o.Around[1] + 1)
	// Semblances and trajectories in float64, weights of classes; the directions of layers (imaging.Layers).
	bytes := 8*float64(places)*float64(nz)*float64(len(o.Gammas())+3) + 4*float64(places*classes)*float64(nz) + 4*16*float64(g.Len())
	report.Infof("picks: %s of up to %s, %d values of γ; %s of memory", readable.Count(places, "place"), readable.Count(columns, "column"), len(o.Gammas()), readable.Bytes(int64(bytes)))
	return counts.Fit("the semblances of the places (--every)", bytes)
}

// progressOf counts n pieces of work in a stage, and prints the expected time of long ones once the
// first are done.
func progressOf(report *progress.Reporter, stage *progress.Stage, n int) func() {
	var mu sync.Mutex
	begin, done, told := time.Now(), 0, false
	return func() {
		stage.Add(1)
		mu.Lock()
		defer mu.Unlock()
		done++
		took := time.Since(begin).Seconds()
		if whole := took * float64(n) / float64(done); !told && took > 2 {
			if told = true; whole > 20 {
				report.Infof("  about %s in all", readable.Duration(whole))
			}
		}
	}
}

// limits are where classes of offsets begin and the last one ends, halfway between centres where the file
// does not say.
func limits(g h5.Gathers, centers []float64) []float64 {
	if g.Limits != nil {
		return g.Limits
	}
	n := len(centers)
	list := []float64{max(0, centers[0]-(centers[1]-centers[0])/2)}
	for i := 1; i < n; i++ {
		list = append(list, (centers[i-1]+centers[i])/2)
	}
	return append(list, centers[n-1]+(centers[n-1]-centers[n-2])/2)
}

// readSpeeds reads the velocity of the migration of an image in time.
func (c *Scan) readSpeeds(path, model string) error {
	g := c.Gathers.Grid
	switch {
	case g.Domain == grid.Depth && model != "":
		return status.Usage(fmt.Errorf("moveout: --velocity is for images in time, %s lies in depth", path))
	case g.Domain == grid.Depth:
		return nil
	case model == "":
		return status.Usage(fmt.Errorf("moveout: %s lies in time: --velocity must name the model that it was migrated with", path))
	}
	in, err := provenance.Hash("velocity", model)
	if err != nil {
		return status.Input(err)
	}
	if want := digest(c.made, "velocity"); want != "" && want != in.SHA256 {
		return status.Input(fmt.Errorf("%s: %s was migrated with another velocity model", model, path))
	}
	on, v, err := pipeline.ReadVelocity(model, "auto")
	if err != nil {
		return err
	}
	if on.Domain != grid.Time || !g.Inside(on) {
		return status.Input(fmt.Errorf("%s: the model, %s, does not hold the image, %s", model, pipeline.ExtentText(on), pipeline.ExtentText(g)))
	}
	c.Gathers.Speeds = make([]float64, g.Len())
	on.Interpolate(c.Gathers.Speeds, v, g)
	return nil
}

// readMidpoints reads where the midpoints of the classes lie, and how deep sources and receivers.
func (c *Scan) readMidpoints(path, file string) error {
	if file == "" {
		return nil
	}
	in, err := provenance.Hash("survey", file)
	if err != nil {
		return status.Input(err)
	}
	if want := digest(c.made, "survey"); want != "" && want != in.SHA256 {
		return status.Input(fmt.Errorf("%s: %s was made from another survey", file, path))
	}
	s, _, err := h5.ReadSurveyHeader(file)
	if err != nil {
		return err
	}
	if err := alike(file, s, path, c.Gathers.Grid.Dim()); err != nil {
		return err
	}
	type point [2]float64
	distinct := make([]map[point]bool, len(c.limits)-1)
	for i := range distinct {
		distinct[i] = map[point]bool{}
	}
	for i := range s.NumTraces() {
		if class := pipeline.FindInterval(c.limits, s.Offset(i)); class >= 0 {
			from, to := s.Pair(i)
			var middle point
			for a := range s.Dim - 1 {
				middle[a] = (s.Source(from)[a] + s.Receiver(to)[a]) / 2
			}
			distinct[class][middle] = true
		}
	}
	c.Gathers.Midpoints = make([][]float64, len(distinct))
	for class, points := range distinct {
		list := slices.SortedFunc(maps.Keys(points), func(a, b point) int { return slices.Compare(a[:], b[:]) })
		for _, middle := range list {
			c.Gathers.Midpoints[class] = append(c.Gathers.Midpoints[class], middle[:s.Dim-1]...)
		}
	}
	if c.Gathers.Grid.Domain == grid.Depth {
		c.Gathers.Datum = datum(c.Gathers.Grid, c.Gathers.Places(c.Options), s, c.limits[len(c.limits)-1])
	}
	return nil
}

// alike refuses a survey whose number of axes differs from that of the other input.
func alike(file string, s *survey.Survey, other string, dim int) error {
	if s.Dim != dim {
		return status.Input(fmt.Errorf("%s: the survey is %d-D, %s is %d-D", file, s.Dim, other, dim))
	}
	return nil
}

// datum is the mean z of sources and receivers up to a distance from columns of g, or that of the
// nearest one; 0 for other columns.
func datum(g grid.Grid, places []int, s *survey.Survey, reach float64) []float64 {
	last := g.Dim() - 1
	nz := g.Shape[last]
	out, x := make([]float64, g.Len()/nz), make([]float64, g.Dim())
	for _, column := range places {
		g.Point(x, column*nz)
		sum, n, nearest := 0.0, 0, math.Inf(1)
		for _, positions := range [][]float64{s.Sources, s.Receivers} {
			for i := 0; i < len(positions); i += g.Dim() {
				off := 0.0
				for a := range last {
					off = math.Hypot(off, positions[i+a]-x[a])
				}
				if off <= reach {
					sum += positions[i+last]
					n++
				}
				if off < nearest {
					nearest, out[column] = off, positions[i+last]
				}
			}
		}
		if n > 0 {
			out[column] = sum / float64(n)
		}
	}
	return out
}

// digest is the digest of an input in a role, "" for none.
func digest(r provenance.Record, role string) string {
	i := slices.IndexFunc(r.Inputs, func(in provenance.Input) bool { return in.Role == role })
	if i < 0 {
		return ""
	}
	return r.Inputs[i].SHA256
}

// WritePicks writes the picks of a scan. The inputs of the image go with them.
func (c *Scan) WritePicks(path string, force bool) error {
	if len(c.Picks) == 0 && c.Unresolved > 0 {
		return status.Hint(status.Numerical(fmt.Errorf("moveout: all of %d picks are unresolved: their peaks take more than %g of the values of --gamma", c.Unresolved, moveout.MostWidth)),
			"larger offsets tell velocities apart: a larger --mute takes more of them")
	}
	if len(c.Picks) == 0 {
		return status.Hint(status.Numerical(fmt.Errorf("moveout: no reflector has a semblance of %g along a curve inside --gamma: there is nothing to pick", c.Options.Threshold)),
			"a lower --threshold, another --mute or a wider --gamma may find some; gathers of unequal strength need image.gather_normalize")
	}
	dim := c.Gathers.Grid.Dim()
	p := &h5.Picks{Domain: c.Gathers.Grid.Domain, Limits: c.limits, Mute: c.Options.Mute}
	for _, q := range c.Picks {
		for i, to := range columns(&p.Columns, dim, c.HasEllipses()) {
			*to = append(*to, *values(&q, dim, c.HasEllipses())[i])
		}
		p.Shifts = append(p.Shifts, q.Shifts...)
	}
	image, err := provenance.Hash("image", c.path)
	if err != nil {
		return status.Input(err)
	}
	r := provenance.New("moveout")
	r.Inputs = append([]provenance.Input{image}, c.made.Inputs...)
	return pipeline.FileError(h5.WritePicks(path, p, h5.WriteOptions{Force: force, Attrs: r.Attrs()}))
}

// columns and values are the same things of a file and of a pick, in one order: of a line, and what a cube and one by azimuth have
// besides.
func columns(c *h5.PickColumns, dim int, ellipses bool) []*[]float64 {
	list := []*[]float64{&c.X, &c.Z, &c.Gamma, &c.Semblance, &c.Width, &c.Certainty, &c.Slope, &c.Far, &c.Speed, &c.Datum}
	if dim == 3 {
		list = append(list, &c.Y, &c.SlopeY)
	}
	if ellipses {
		list = append(list, &c.FastAxis, &c.Anisotropy, &c.AnisotropyDeviation)
	}
	return list
}

func values(p *moveout.Pick, dim int, ellipses bool) []*float64 {
	list := []*float64{&p.X, &p.Z, &p.Gamma, &p.Semblance, &p.Width, &p.Certainty, &p.Slope, &p.Far, &p.Speed, &p.Datum}
	if dim == 3 {
		list = append(list, &p.Y, &p.SlopeY)
	}
	if ellipses {
		list = append(list, &p.Ellipse.Fast, &p.Ellipse.Percent, &p.Ellipse.Deviation)
	}
	return list
}

// Picks is a file of picks.
type Picks struct {
	*h5.Picks
	Dim  int // 2 of a line, 3 of a cube
	List []moveout.Pick
	Made provenance.Record
}

// ReadPicks reads a file of picks.
func ReadPicks(path string) (*Picks, error) {
	p, err := h5.ReadPicks(path)
	if err != nil {
		return nil, pipeline.FileError(err)
	}
	attrs, err := h5.ReadAttrs(path)
	if err != nil {
		return nil, pipeline.FileError(err)
	}
	out := &Picks{Picks: p, Dim: 2, Made: provenance.FromAttrs(attrs), List: make([]moveout.Pick, len(p.Columns.X))}
	if p.Columns.Y != nil {
		out.Dim = 3
	}
	ellipses := p.Columns.FastAxis != nil
	for i := range out.List {
		for k, to := range values(&out.List[i], out.Dim, ellipses) {
			*to = (*columns(&p.Columns, out.Dim, ellipses)[k])[i]
		}
		if n := len(p.Limits) - 1; p.Shifts != nil {
			out.List[i].Shifts = p.Shifts[i*n : (i+1)*n]
		}
	}
	return out, nil
}
