package h5

import (
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
)

// Attributes of a frame: of the array that lies in it, or of the root.
const (
	frameOrigin  = "frame_origin"  // [2], east and north of x = y = 0, m
	frameAzimuth = "frame_azimuth" // of x, degrees from north towards east
	frameHanded  = "frame_handed"  // "right": y to the left of x, as north of east; or "left"
	frameLines   = "frame_lines"   // [4], inline number at y = 0, m between inlines, the same of crosslines along x
)

// frame is the frame that attributes, or else those of the root, describe; nil for none.
func (f *File) frame(from Attrs) (*grid.Frame, error) {
	some := func(a Attrs) bool { return a.Has(frameOrigin) || a.Has(frameAzimuth) }
	if !some(from) {
		from = f.Attrs()
	}
	if !some(from) {
		return nil, nil
	}
	origin, err := from.Floats(frameOrigin, 2)
	if err != nil {
		return nil, err
	}
	out := &grid.Frame{Origin: [2]float64(origin)}
	if out.Azimuth, err = from.Float(frameAzimuth); err != nil {
		return nil, err
	}
	if from.Has(frameHanded) {
		text, err := from.Text(frameHanded)
		if err != nil {
			return nil, err
		}
		if text = strings.TrimSpace(text); text != "left" && text != "right" {
			return nil, from.fault(frameHanded, "is %q, want right or left", text)
		}
		out.Left = text == "left"
	}
	if from.Has(frameLines) {
		v, err := from.Floats(frameLines, 4)
		if err != nil {
			return nil, err
		}
		out.Lines = grid.Lines{Inline: v[0], InlineStep: v[1], Crossline: v[2], CrosslineStep: v[3]}
	}
	if err := out.Validate(); err != nil {
		return nil, from.fault(frameOrigin, "%w", err)
	}
	return out, nil
}

// Frame is the frame in which a dataset's grid lies, nil for that of the map.
func (f *File) Frame(d *Dataset) (*grid.Frame, error) { return f.frame(d.Attrs()) }

// frameAttrs are the attributes that frame reads.
func frameAttrs(f *grid.Frame) []Attr {
	if f == nil {
		return nil
	}
	attrs := []Attr{{frameOrigin, []float64{f.Origin[0], f.Origin[1]}}, {frameAzimuth, f.Azimuth}, {frameHanded, f.Handed()}}
	if l := f.Lines; l != (grid.Lines{}) {
		attrs = append(attrs, Attr{frameLines, []float64{l.Inline, l.InlineStep, l.Crossline, l.CrosslineStep}})
	}
	return attrs
}

// isFrameAttr reports whether an attribute is one of a frame.
func isFrameAttr(a Attr) bool {
	return slices.Contains([]string{frameOrigin, frameAzimuth, frameHanded, frameLines}, a.Name)
}

// ReadFrame is the frame of a survey, a model, an image or tables: that of its arrays or of its
// root. It is nil for a file without one.
func ReadFrame(path string) (*grid.Frame, error) {
	return reading(path, func(f *File) (*grid.Frame, error) {
		for _, name := range []string{"/velocity", "/image", "/reflectivity", "/source_time"} {
			if !f.Has(name) {
				continue
			}
			d, err := f.Dataset(name)
			if err != nil {
				return nil, err
			}
			if found, err := f.frame(d.Attrs()); err != nil || found != nil {
				return found, err
			}
		}
		return f.frame(f.Attrs())
	})
}
