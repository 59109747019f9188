package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// imagesOfTwo are the images of a file of two surveys, in their order.
var imagesOfTwo = []string{"baseline", "monitor", "difference"}

// surveys are what to draw of a file: what was loaded, or of an image of two surveys those that
// --survey asks for. Without it a file that is alone gives all three, on one scale.
func (d *drawing) surveys(file string, it *item, alone bool) ([]*item, error) {
	if err := d.knowsSurvey(); err != nil {
		return nil, err
	}
	if !it.image {
		return []*item{it}, nil
	}
	r, err := h5.ReadRepeat(file)
	if err != nil || r == nil {
		return []*item{it}, err
	}
	d.used = append(d.used, "survey")
	if d.survey == "" && alone {
		d.common = true
	}
	var out []*item
	for i, values := range [][]float32{it.values, r.Monitor, r.Difference} {
		name := imagesOfTwo[i]
		if want := cmp.Or(d.survey, map[bool]string{true: name, false: imagesOfTwo[0]}[alone]); want != name {
			continue
		}
		one := *it
		one.title, one.values = it.title+": "+name, values
		out = append(out, &one)
	}
	return out, nil
}

// knowsSurvey is an error if --survey names no image of two surveys.
func (d *drawing) knowsSurvey() error {
	if d.survey != "" && !slices.Contains(imagesOfTwo, d.survey) {
		return status.Usage(fmt.Errorf("plot: --survey is %q, want baseline, monitor or difference", d.survey))
	}
	return nil
}

// readImageOf reads an image file, or one of the images of a file of two surveys, which must
// be asked for.
func readImageOf(path, which string) (*h5.Image, error) {
	im, err := h5.ReadImage(path)
	if err != nil {
		return nil, err
	}
	r, err := h5.ReadRepeat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case which != "" && !slices.Contains(imagesOfTwo, which):
		return nil, status.Usage(fmt.Errorf("--survey is %q, want baseline, monitor or difference", which))
	case r == nil && which != "":
		return nil, status.Usage(fmt.Errorf("--survey %s: %s is the image of one survey", which, path))
	case r != nil && which == "":
		return nil, status.Hint(status.Usage(fmt.Errorf("%s holds the images of two surveys", path)), "--survey baseline, monitor or difference says which to take")
	case which == "monitor":
		im.Data = r.Monitor
	case which == "difference":
		im.Data = r.Difference
	}
	return im, nil
}

// stretchRepeat writes both images of a repeat survey, stretched.
func stretchRepeat(ctx context.Context, w *h5.ImageWriter, r *h5.Repeat, s *velocity.Stretch) error {
	x := make([]float32, s.To.Len())
	if err := s.Apply(ctx, x, r.Monitor); err != nil {
		return err
	}
	if err := w.WriteMonitor(x, 0); err != nil {
		return err
	}
	if err := s.Apply(ctx, x, r.Difference); err != nil {
		return err
	}
	return w.WriteDifference(x, 0)
}

// repeats adds the images of a repeat survey, where both files have them on one grid.
func (d *difference) repeats(a, b string) error {
	x, err := h5.ReadRepeat(a)
	if err != nil || x == nil {
		return err
	}
	y, err := h5.ReadRepeat(b)
	if err != nil || y == nil {
		return err
	}
	place, points := d.describe, d.count
	d.describe = func(number int) string {
		if number < points {
			return place(number)
		}
		return place(number-points) + " of the monitor"
	}
	add(d, x.Monitor, y.Monitor)
	return nil
}
