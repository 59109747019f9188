package fielddata

import "math"

// Line is the straight line that a 2-D survey is projected onto: x is the
// distance along it from its origin.
type Line struct {
	Azimuth float64    // degrees from north (the y of the headers) towards east (their x)
	Origin  [2]float64 // east and north of x = 0, m
	How     string     // "given", "fitted", or "as recorded" where all lies on one line of east or north

	Most float64 // m, greatest distance of a place off the line
	sum  float64
	n    int
}

// Off is the root mean square distance of the places off the line, m.
func (l *Line) Off() float64 { return math.Sqrt(l.sum / math.Max(1, float64(l.n))) }

func (l *Line) add(off float64) {
	l.Most = math.Max(l.Most, math.Abs(off))
	l.sum += off * off
	l.n++
}

// direction is the unit vector along the line, east and north; exact where the
// line runs along an axis.
func (l *Line) direction() (east, north float64) {
	switch l.Azimuth {
	case 90:
		return 1, 0
	case 0:
		return 0, 1
	}
	north, east = math.Cos(l.Azimuth*math.Pi/180), math.Sin(l.Azimuth*math.Pi/180)
	return east, north
}

// project gives the distance along the line and off it, to its right.
func (l *Line) project(east, north float64) (along, off float64) {
	e, n := l.direction()
	dx, dy := east-l.Origin[0], north-l.Origin[1]
	return e*dx + n*dy, n*dx - e*dy
}

// At is the point of the line at x.
func (l *Line) At(x float64) (east, north float64) {
	e, n := l.direction()
	return l.Origin[0] + e*x, l.Origin[1] + n*x
}

// fitLine lays a line through places: along the given azimuth, or with the least
// squared distances off it. Without a given origin x is 0 at the place that comes
// first along the line, to a millimetre: what is fitted are numbers that can be
// typed. But where all places lie due east or due north of each
// other, within the tolerance, x is their own coordinate.
func fitLine(o Options, xyz [][3]float64) Line {
	lo := [2]float64{math.Inf(1), math.Inf(1)}
	hi := [2]float64{math.Inf(-1), math.Inf(-1)}
	var mean [2]float64
	for _, p := range xyz {
		for a := range mean {
			lo[a], hi[a] = math.Min(lo[a], p[a]), math.Max(hi[a], p[a])
			mean[a] += p[a] / float64(len(xyz))
		}
	}
	if o.Azimuth == nil && o.Origin == nil {
		switch {
		case hi[1]-lo[1] <= o.Tolerance:
			return Line{Azimuth: 90, Origin: [2]float64{0, xyz[0][1]}, How: "as recorded"}
		case hi[0]-lo[0] <= o.Tolerance:
			return Line{Azimuth: 0, Origin: [2]float64{xyz[0][0], 0}, How: "as recorded"}
		}
	}
	l := Line{Origin: mean, How: "fitted"}
	if o.Azimuth != nil {
		l.Azimuth, l.How = *o.Azimuth, "given"
	} else {
		l.Azimuth = math.Round(1e6*principal(xyz, mean)) / 1e6
	}
	if o.Origin != nil {
		l.Origin = [2]float64{o.Origin[0], o.Origin[1]}
		return l
	}
	first := math.Inf(1)
	for _, p := range xyz {
		along, _ := l.project(p[0], p[1])
		first = math.Min(first, along)
	}
	east, north := l.At(first)
	l.Origin = [2]float64{math.Round(1000*east) / 1000, math.Round(1000*north) / 1000}
	return l
}

// principal is the azimuth of the principal axis of places, in degrees: that of
// the two that points more to the east than to the west, and between the two to
// the north.
func principal(xyz [][3]float64, mean [2]float64) float64 {
	var xx, xy, yy float64
	for _, p := range xyz {
		dx, dy := p[0]-mean[0], p[1]-mean[1]
		xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
	}
	angle := 0.5 * math.Atan2(2*xy, xx-yy) // from east towards north, in (-90°, 90°]
	azimuth := 90 - angle*180/math.Pi
	if azimuth > 135 { // more to the south than to the east
		azimuth -= 180
	}
	return azimuth
}
