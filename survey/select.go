package survey

import "math"

// Select is the survey of the given traces alone, in the order given and without Data:
// a list of pairs over the same rows of Sources and Receivers.
func (s *Survey) Select(traces []int32) *Survey {
	out := *s
	out.Fixed, out.Data, out.Weight = false, nil, nil
	out.SourceIndex = make([]int32, len(traces))
	out.ReceiverIndex = make([]int32, len(traces))
	if s.Weight != nil {
		out.Weight = make([]float32, len(traces))
	}
	for k, i := range traces {
		src, rec := s.Pair(int(i))
		out.SourceIndex[k], out.ReceiverIndex[k] = int32(src), int32(rec)
		if s.Weight != nil {
			out.Weight[k] = s.Weight[i]
		}
	}
	return &out
}

// Offset is the horizontal distance, m, between source and receiver of trace i.
func (s *Survey) Offset(i int) float64 {
	src, rec := s.Pair(i)
	d := s.Receiver(rec)[0] - s.Source(src)[0]
	if s.Dim == 2 {
		return math.Abs(d)
	}
	return math.Hypot(d, s.Receiver(rec)[1]-s.Source(src)[1])
}

// Azimuth is the direction from source to receiver of trace i of a 3-D survey, in
// degrees from the y axis towards the x axis, in [0, 180): a trace and its reverse
// have the same. It is NaN where there is no offset.
func (s *Survey) Azimuth(i int) float64 {
	src, rec := s.Pair(i)
	dx, dy := s.Receiver(rec)[0]-s.Source(src)[0], s.Receiver(rec)[1]-s.Source(src)[1]
	if dx == 0 && dy == 0 {
		return math.NaN()
	}
	a := math.Atan2(dx, dy) * 180 / math.Pi
	if a < 0 {
		a += 180
	}
	return math.Mod(a, 180)
}
