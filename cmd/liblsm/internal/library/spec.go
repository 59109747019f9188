package library

/*
#include "lsm.h"
*/
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/cmd/liblsm/internal/operators"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// spec reads the caller's structure. Its slices are the caller's arrays.
func spec(p *C.lsm_problem) (*operators.Spec, error) {
	switch {
	case p == nil:
		return nil, status.Usage(fmt.Errorf("the problem is NULL"))
	case p.size != C.sizeof_lsm_problem:
		return nil, status.Usage(fmt.Errorf("size of lsm_problem is %d, this library's is %d: the program was made with another lsm.h", p.size, C.sizeof_lsm_problem))
	case (p.traces != 0) != (p.source_index != nil) || (p.traces != 0) != (p.receiver_index != nil):
		return nil, status.Usage(fmt.Errorf("traces is %d: traces, source_index and receiver_index go together", p.traces))
	case p.axes != 2 && p.axes != 3:
		return nil, status.Usage(fmt.Errorf("axes are %d, must be 2 or 3", p.axes))
	}
	dim := int(p.axes)
	g := grid.Grid{}
	points := 1.0
	for a := range dim {
		g.Shape = append(g.Shape, int(p.shape[a]))
		g.Origin = append(g.Origin, float64(p.origin[a]))
		g.Spacing = append(g.Spacing, float64(p.spacing[a]))
		points *= float64(p.shape[a])
	}
	l := lengths{sources: float64(p.sources), receivers: float64(p.receivers)}
	pairs, traces := l.sources*l.receivers, float64(p.traces)
	if p.traces == 0 {
		traces = pairs
	}
	s := &operators.Spec{
		Grid:               g,
		Sources:            array(&l, "source_positions", p.source_positions, l.sources*float64(dim)),
		Receivers:          array(&l, "receiver_positions", p.receiver_positions, l.receivers*float64(dim)),
		SourceIndex:        indices(&l, "source_index", p.source_index, float64(p.traces)),
		ReceiverIndex:      indices(&l, "receiver_index", p.receiver_index, float64(p.traces)),
		Traveltimes:        text(p.traveltimes),
		Constant:           float64(p.constant),
		Velocity:           array(&l, "velocity", p.velocity, points),
		SourceTimes:        array(&l, "source_times", p.source_times, l.sources*points),
		ReceiverTimes:      array(&l, "receiver_times", p.receiver_times, l.receivers*points),
		PairTimes:          array(&l, "pair_times", p.pair_times, pairs*points),
		NT:                 int(p.samples),
		DT:                 float64(p.interval),
		T0:                 float64(p.start),
		Wavelet:            array(&l, "wavelet", p.wavelet, float64(p.wavelet_samples)),
		WaveletZero:        int(p.wavelet_zero),
		WaveletFilter:      filter(&l, p.wavelet_filter),
		Dynamic:            p.dynamic != 0,
		SourceAmplitudes:   array(&l, "source_amplitudes", p.source_amplitudes, l.sources*points),
		ReceiverAmplitudes: array(&l, "receiver_amplitudes", p.receiver_amplitudes, l.receivers*points),
		AngleLimit:         pair(p.angle_limit),
		Aperture:           pair(p.aperture),
		ApertureTaper:      pair(p.aperture_taper),
		Engine:             text(p.engine),
		Threads:            int(p.threads),
	}
	s.FirstDepth = indices(&l, "first_depth", p.first_depth, traces)
	return s, l.err
}

// filter is the wavelet filter of a number of lsm.h.
func filter(l *lengths, number C.int32_t) kirchhoff.WaveletFilter {
	filters := []kirchhoff.WaveletFilter{kirchhoff.NoFilter, kirchhoff.PyLopsFilter, kirchhoff.HalfDerivatives}
	if number < 0 || int(number) >= len(filters) {
		if l.err == nil {
			l.err = status.Usage(fmt.Errorf("wavelet_filter is %d, must be 0, 1 or 2", number))
		}
		return kirchhoff.NoFilter
	}
	return filters[number]
}

// lengths holds the lengths of arrays, as numbers that do not overflow, and the first fault.
type lengths struct {
	sources, receivers float64
	err                error
}

// check reports whether n elements of 8 bytes can be in memory.
func (l *lengths) check(name string, n float64) bool {
	if l.err == nil && !(n >= 0 && n < math.MaxInt64/8) {
		l.err = status.Usage(fmt.Errorf("%s would have %g values", name, n))
	}
	return l.err == nil
}

// array is a C array of n values, nil for NULL.
func array(l *lengths, name string, at *C.double, n float64) []float64 {
	if at == nil || !l.check(name, n) {
		return nil
	}
	return unsafe.Slice((*float64)(at), int(n))
}

// indices is a C array of n indices, nil for NULL.
func indices(l *lengths, name string, at *C.int32_t, n float64) []int32 {
	if at == nil || !l.check(name, n) {
		return nil
	}
	return unsafe.Slice((*int32)(at), int(n))
}

func pair(x [2]C.double) [2]float64 { return [2]float64{float64(x[0]), float64(x[1])} }

func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoString(s)
}
