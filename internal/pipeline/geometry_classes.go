package pipeline

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/kirchhoff-lsm/lsm/internal/config"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Classes are the groups of traces or of opening angles that image.gathers or image.halves makes
// an image of each. The zero Classes make one image of all traces and angles.
type Classes struct {
	N       int                // number of classes; 0: one image
	ByTrace []int32            // by trace of the survey, the class of its image; nil: by angle
	Windows []kirchhoff.Window // of opening angles, by class; nil: not by angle
	image   config.Image
}

// newClasses assigns traces or angles to the classes. Commands that use no traces have no
// classes.
func newClasses(im config.Image, s *survey.Survey, need Need) (Classes, error) {
	c := Classes{image: im}
	switch kind := c.image.Gathers; {
	case need == NeedGeometry:
	case c.image.Halves:
		if c.N, c.ByTrace = 2, findHalves(s); !slices.Contains(c.ByTrace, 1) {
			return c, status.Usage(fmt.Errorf("image.halves: all traces that are used are of one shot, halves need at least 2"))
		}
	case kind == "offset": // every trace of the survey has a class
		sectors := c.image.GatherAzimuths
		if sectors > 1 && s.Dim == 2 {
			return c, status.Usage(fmt.Errorf("image.gather_azimuths = %d: the survey is 2-D, want 1, azimuths are of 3-D surveys", sectors))
		}
		c.N = (len(c.image.GatherBins) - 1) * sectors
		c.ByTrace = make([]int32, s.NumTraces())
		for i := range c.ByTrace {
			c.ByTrace[i] = FindInterval(c.image.GatherBins, s.Offset(i))
			if sectors > 1 {
				c.ByTrace[i] = c.ByTrace[i]*int32(sectors) + findSector(s.Azimuth(i), sectors)
			}
		}
	case kind == "angle":
		c.Windows = angleWindows(c.image)
		c.N = len(c.Windows)
	}
	return c, nil
}

// findSector is the sector of an azimuth, degrees from 0 to below 180. Sector k is centred on k·180/n; what has no offset, and so
// no azimuth, is in the first.
func findSector(azimuth float64, n int) int32 {
	if math.IsNaN(azimuth) {
		return 0
	}
	return int32(math.Floor(azimuth*float64(n)/180+0.5)) % int32(n)
}

// findHalves assigns a survey's traces to the odd and the even ones of the sources that it uses.
func findHalves(s *survey.Survey) []int32 {
	half := make([]int32, s.NumTraces())
	number := make([]int32, s.NumSources())
	for i := range half {
		from, _ := s.Pair(i)
		number[from] = 1
	}
	used := int32(0)
	for from, uses := range number {
		number[from] = used % 2
		used += uses
	}
	for i := range half {
		from, _ := s.Pair(i)
		half[i] = number[from]
	}
	return half
}

// Of lists what belongs to each class, nil without classes. Traces are numbered by their
// place in the given list.
func (c Classes) Of(traces []int32) []kirchhoff.Class {
	if c.N == 0 {
		return nil
	}
	out := make([]kirchhoff.Class, c.N)
	for i, w := range c.Windows {
		out[i] = kirchhoff.Class{All: true, Opening: w}
	}
	if c.ByTrace == nil {
		return out
	}
	for i, trace := range traces {
		k := &out[c.ByTrace[trace]]
		k.Traces = append(k.Traces, int32(i))
	}
	return out
}

// Normalized reports whether the classes count by their illumination.
func (c Classes) Normalized() bool { return c.N > 0 && c.image.Normalize == "illumination" }

// String says what the classes hold; "" if there are none.
func (c Classes) String() string {
	if c.Halves() {
		return "2 images, of the odd and of the even shots, whose mean is the image: an application costs as much as for one"
	}
	if c.ByTrace == nil {
		if c.N > 0 {
			return fmt.Sprintf("%d images by %s angle: an application costs %d times that of one image", c.N, c.image.GatherAngle, c.N)
		}
		return ""
	}
	count := make([]int, c.N)
	for _, k := range c.ByTrace {
		count[k]++
	}
	each := readable.Count(slices.Max(count), "trace")
	if least := slices.Min(count); least < slices.Max(count) {
		each = fmt.Sprintf("%d to %s", least, each)
	}
	return fmt.Sprintf("%s by %s of %s each", readable.Count(c.N, "image"), c.By(), each)
}

// By names the property that the classes differ by.
func (c Classes) By() string {
	if c.image.Halves {
		return "half of the shots"
	}
	return c.Gathers().Name()
}

// Halves reports whether the classes are the odd and the even shots.
func (c Classes) Halves() bool { return c.N > 0 && c.image.Halves }

// Gathers describes the images by class for a file, nil where it has none.
func (c Classes) Gathers() *h5.Gathers {
	switch im := c.image; {
	case c.N == 0, im.Halves:
		return nil
	case c.Windows != nil:
		return &h5.Gathers{Kind: im.Gathers, Angle: im.GatherAngle, Centers: im.GatherBins, Limits: AngleLimits(im)}
	default:
		g, sectors := &h5.Gathers{Kind: im.Gathers, Limits: im.GatherBins}, im.GatherAzimuths
		for i := range c.N {
			k := i / sectors
			g.Centers = append(g.Centers, (im.GatherBins[k]+im.GatherBins[k+1])/2)
			if sectors > 1 {
				g.Azimuths = append(g.Azimuths, float64(i%sectors)*180/float64(sectors))
			}
		}
		return g
	}
}

// AngleLimits returns, in degrees of image.gather_angle, where the classes of angles of
// image.gather_bins begin, where each passes into the next, and where the last one ends.
// The first and the last class are as wide on their outer side as towards their
// neighbour, or open.
func AngleLimits(im config.Image) []float64 {
	centers, last, most := im.GatherBins, len(im.GatherBins)-1, im.LargestAngle()
	limits := make([]float64, last+2)
	for i := range last {
		limits[i+1] = (centers[i] + centers[i+1]) / 2
	}
	limits[last+1] = most
	if im.GatherEnds == "closed" {
		limits[0] = max(0, 2*centers[0]-limits[1])
		limits[last+1] = min(most, 2*centers[last]-limits[last])
	}
	return limits
}

// angleWindows are the windows of the classes, of opening angles. From the
// first centre to the last they add up to 1. Beyond, their sum falls as between classes:
// to 1/2 at the limit and to 0 as far again, or it stays 1 where the limit is 0 or 180.
func angleWindows(im config.Image) (out []kirchhoff.Window) {
	opening := 180 / im.LargestAngle() // 2 or 1: no rounding
	scaled := func(x []float64) []float64 {
		x = slices.Clone(x)
		floats.Scale(opening, x)
		return x
	}
	centers, limits := scaled(im.GatherBins), scaled(AngleLimits(im))
	last := len(centers) - 1
	for i, c := range centers {
		w := kirchhoff.Window{Rise1: c, Fall0: c}
		switch {
		case i > 0:
			w.Rise0 = centers[i-1]
		case limits[0] > 0:
			w.Rise0 = max(0, 2*limits[0]-c)
		default:
			w.Rise1 = 0
		}
		switch {
		case i < last:
			w.Fall1 = centers[i+1]
		case limits[i+1] < 180:
			w.Fall1 = min(180, 2*limits[i+1]-c)
		default:
			w.Fall0, w.Fall1 = 180, 180
		}
		out = append(out, w)
	}
	return out
}
