// Package report makes one HTML page of a least-squares migration: what was run
// and how it went, its images, spectra, convergence, gathers, times, settings
// and origin.
//
// The page is one file that needs nothing else: pictures are data URIs, there is no
// script, and its content security policy forbids the browser to fetch anything. It is
// XML as well as HTML, follows the reader's choice of a light or dark screen, and prints
// in black on white.
//
// Whatever is not known of a run is left out, with a line that says which
// option or key would bring it. html/template escapes texts from files, and characters that a page
// must not hold are removed. The same run gives the same bytes.
package report

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// Run is all that is known of a run. Image is there, everything else may be
// missing.
type Run struct {
	File   string         // name of the image file, as the reader knows it
	Source string         // name of the image file as the page keeps it, see Source; "": File
	Image  *h5.Image      // with history, configuration and provenance
	Config *config.Config // parsed from Image.Config; nil: its text is shown unchanged

	Fields []h5.Field // of lsm target or image.halves, on the grid of Image

	Velocity *Model    // that the run read; nil: constant, or not known
	Arrivals *Arrivals // of the run's traveltimes; nil: not looked at

	Adjoint     *h5.Image // on the grid of Image
	AdjointFrom string    // the file, or how it was made

	// A few gathers of the images by class, if there are any, and those of the adjoint.
	ImageGathers, AdjointGathers []picture.ImageGather
	Classes                      picture.Classes
	ClassLimits                  []float64 // where the first class begins, …, and the last ends; nil: not known

	Gathers []Gather // a few shots
	DotTest *DotTest
	Log     *Log   // of lsm run --json
	Times   *Times // of the log

	Notes []string  // what the reader should know of how the page was made
	At    []float64 // m, where slices of a 3-D image cross; nil: at its centre
}

// DotTest is how far forward and adjoint are from belonging together.
type DotTest struct{ Error, Limit float64 }

// Passed reports whether they belong together.
func (d *DotTest) Passed() bool { return d.Error <= d.Limit }

// Gather is one shot: recorded traces, and what the image leaves unexplained.
type Gather struct {
	Name           string
	NT             int       // samples a trace
	DT, T0         float64   // s
	Offset         []float64 // m, one a trace, or nil
	Data, Residual []float32 // [traces, NT], as the solve weights them; nil if not known
	Weighted       bool      // mute or weights of the traces are in them
}

//go:embed page.html
var pageText string

//go:embed page.css
var styleText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"bar": bar, "bytes": readable.Bytes, "count": readable.Count, "duration": readable.Duration, "memory": progress.MemoryText,
	"style": func() template.CSS { return template.CSS(styleText) },
}).Parse(pageText))

// page holds the contents of the template: a run, and the pictures of it.
type page struct {
	*Run
	Images, Sure, VelocityModel, Weak, ByClass, Course part
	Spectra, Shots                                     []part
}

// Write writes the page. An error is an adjoint on another grid, slices outside
// the image, or a failure of w.
func Write(w io.Writer, r *Run) error {
	if r.Adjoint != nil && !r.Adjoint.Grid.Equal(r.Image.Grid) {
		return fmt.Errorf("report: the adjoint image lies on %v, the image on %v", r.Adjoint.Grid, r.Image.Grid)
	}
	p := &page{Run: r}
	for _, draw := range []func() error{
		p.drawImages, p.drawVelocity, p.drawArrivals, p.drawImageGathers, p.drawConvergence, p.drawDepthSpectra, p.drawTimeSpectra, p.drawShots,
	} {
		if err := draw(); err != nil {
			return err
		}
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, p); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := io.WriteString(w, clean(b.String()))
	return err
}

// Record is where the image came from.
func (r *Run) Record() provenance.Record { return provenance.FromAttrs(r.Image.Attrs) }

// Solved reports whether the image carries the history of a solver.
func (r *Run) Solved() bool { return len(r.Image.ResidualNorm) > 0 }

// Target reports whether lsm target made the image, from the Hessian and without a history.
func (r *Run) Target() bool { return r.Record().Command == "target" }

// Halved reports whether the file says how well the odd and the even shots agree.
func (r *Run) Halved() bool {
	return slices.ContainsFunc(r.Fields, func(f h5.Field) bool { return f.Name == "agreement" })
}

// Iterations is the number of iterations of the solver.
func (r *Run) Iterations() int { return r.Image.Iterations() }

// ResidualLeft is the last residual norm relative to the first, "" if there is no history or the
// first is not positive.
func (r *Run) ResidualLeft() string {
	h := r.Image.ResidualNorm
	if len(h) == 0 || !(h[0] > 0) {
		return ""
	}
	return percent(h[len(h)-1] / h[0])
}

// mostHead is how many bytes from the start of a page are searched for its origin.
const mostHead = 1 << 16

var origin = regexp.MustCompile(`<meta name="generator" content="lsm report"/>\s*<meta name="source" content="([^"]*)"/>`)

// Source reads Run.Source from the page at path. It is "" for a file that Write has not
// made.
func Source(path string) string {
	file, err := plainfile.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, mostHead))
	found := origin.FindSubmatch(head)
	if err != nil || found == nil {
		return ""
	}
	return html.UnescapeString(string(found[1]))
}
