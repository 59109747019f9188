package fielddata

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// Midpoints says that sources and receivers lie half an offset (byte 37) before and behind
// midpoints of a line, as in CDP gathers whose headers have nothing else.
type Midpoints struct {
	On      bool
	Spacing float64 // m, of CDP numbers, which are then the midpoints; 0: CDP x and y of the headers
}

// midpoint is where the CDP of the trace that is read lies.
func (in *input) midpoint() (at [2]float64) {
	if spacing := in.opt.Midpoints.Spacing; spacing > 0 {
		v, _ := in.get(segy.CDP)
		return [2]float64{v * spacing, 0}
	}
	for a, field := range [2]segy.Field{segy.CDPX, segy.CDPY} {
		at[a] = cmp.Or(in.double(field), segy.Scaled(field.Value(in.t.Header, in.order), in.horizontal)) * in.unit
	}
	return at
}

// spreadOut moves sources and receivers apart from their midpoints, along the given line or
// the one that the midpoints lie on.
func (im *Import) spreadOut() error {
	if !im.opt.Midpoints.On {
		return nil
	}
	var middle [][3]float64
	least, most := math.Inf(1), math.Inf(-1)
	for t := range im.kept {
		middle = append(middle, t.place[source])
		least, most = math.Min(least, t.offset), math.Max(most, t.offset)
	}
	switch {
	case middle == nil:
		return im.nothingLeft()
	case least == 0 && most == 0:
		return status.Input(fmt.Errorf("%s: --midpoints: no trace has an offset in its header (byte 37)", im.Files[0].File.Path))
	case im.opt.Midpoints.Spacing == 0 && im.opt.Azimuth == nil && single(middle):
		err := status.Input(fmt.Errorf("%s: --midpoints: all CDPs lie at one place, so no line can be laid through them", im.Files[0].File.Path))
		return status.Hint(err, "--azimuth gives its direction, --midpoints METRES takes CDP numbers that far apart")
	}
	line := fitLine(im.opt, middle)
	east, north := line.direction()
	for t := range im.kept {
		for role, side := range [2]float64{source: -0.5, receiver: 0.5} {
			t.place[role][0] += side * t.offset * east
			t.place[role][1] += side * t.offset * north
		}
	}
	im.Notes = append(im.Notes, fmt.Sprintf("sources and receivers are put half an offset (byte 37, %s) before and behind the midpoints, along azimuth %.4f°",
		Between(least, most, "m"), line.Azimuth))
	return nil
}

// single reports whether all places are one.
func single(list [][3]float64) bool {
	for _, p := range list {
		if p[0] != list[0][0] || p[1] != list[0][1] {
			return false
		}
	}
	return true
}
