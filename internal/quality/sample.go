package quality

import "math"

// ClippedRun is how many equal samples in a row, at the trace's own greatest amplitude,
// count as clipped.
const ClippedRun = 3

// Samples is the result of one pass over the samples of a trace.
type Samples struct {
	Bad       int // first sample that is not finite, or -1
	Peak, RMS float32
	Flat      int // longest run of equal samples at the peak
	Least     float32
	Zeros     int    // samples that are 0
	Hash      uint64 // FNV-1a, a word at a time
}

// Measure looks at the samples of a trace.
func Measure(v []float32) Samples {
	s := Samples{Bad: -1, Hash: 14695981039346656037, Least: math.MaxFloat32}
	sum, run := 0.0, 0
	for i, x := range v {
		a := x
		if a < 0 {
			a = -a
		}
		if x < s.Least {
			s.Least = x
		}
		if x == 0 {
			s.Zeros++
		}
		if !(a <= math.MaxFloat32) && s.Bad < 0 {
			s.Bad = i
		}
		if i > 0 && x == v[i-1] {
			run++
		} else {
			run = 1
		}
		switch {
		case a > s.Peak:
			s.Peak, s.Flat = a, run
		case a == s.Peak:
			s.Flat = max(s.Flat, run)
		}
		sum += float64(x) * float64(x)
		s.Hash = (s.Hash ^ uint64(math.Float32bits(x))) * 1099511628211
	}
	if len(v) > 0 {
		s.RMS = float32(math.Sqrt(sum / float64(len(v))))
	}
	return s
}

// A spike stands out from the samples around it, itself and its next neighbours left out.
// The trough of a Ricker wavelet is 0.45 of its peak, the side lobe of a band-limited
// impulse 0.22: signals stay far below the factor.
const (
	spikeReach  = 10 // samples on either side
	spikeFactor = 5
)

// spikes counts the samples of a trace that are single spikes. rms is the root mean
// square of the trace.
func spikes(v []float32, rms float32) (n int) {
	for i, x := range v {
		a := abs(x)
		if a <= rms || i > 0 && abs(v[i-1]) > a || i+1 < len(v) && abs(v[i+1]) > a {
			continue
		}
		most := float32(0)
		for k := max(0, i-spikeReach); k < min(len(v), i+spikeReach+1); k++ {
			if k < i-1 || k > i+1 {
				most = max(most, abs(v[k]))
			}
		}
		if a > spikeFactor*most {
			n++
		}
	}
	return n
}

func abs(x float32) float32 {
	if x < 0 {
		return -x
	}
	return x
}
