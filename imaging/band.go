package imaging

import (
	_ "embed"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Band convolves every column of an image, along its last axis, with a symmetric pulse b of the
// column's two-way vertical time:
//
//	(B x)_i = Σ_j √τ_i b(t_i − t_j) √τ_j x_j,
//
// t_i the time of point i and τ_i the time for which it stands, half of that between its
// neighbours. So B is symmetric whatever the velocity. Where points lie densely it multiplies
// the spectrum of √τ x, along time, by that of b.
type Band struct {
	pulse   Pulse
	nz      int
	times   device.Buf // [column][nz], in steps of the pulse
	table   device.Buf // of the pulse
	threads int
}

// Pulse is a symmetric function of time: values at multiples of Step, s, from 0 on. Between them
// it is linear, and beyond them 0.
type Pulse struct {
	Step   float64
	Values []float32 // 1/s
}

const (
	perPeriod = 64   // steps of a pulse in the period of its highest frequency: lines between are off by 1e-3 of the peak at most
	weakest   = 1e-3 // share of a pulse's peak below which it ends
)

// ZeroPhase returns the pulse whose spectrum is the amplitude of that of samples dt apart, in s,
// divided by its largest value. high is their highest frequency, in Hz.
func ZeroPhase(samples []float64, dt, high float64) Pulse {
	n := 1024
	for n < 8*len(samples) {
		n *= 2
	}
	padded := make([]float64, n)
	copy(padded, samples)
	spectrum := fourier.NewFFT(n).Coefficients(nil, padded)
	most := 0.0
	for k, c := range spectrum {
		a := math.Hypot(real(c), imag(c))
		spectrum[k] = complex(a, 0)
		most = max(most, a)
	}
	finer := int(max(1, math.Ceil(perPeriod*high*dt)))
	fine := make([]complex128, n*finer/2+1)
	copy(fine, spectrum)
	p := Pulse{Step: dt / float64(finer)}
	end := 0
	for i, v := range fourier.NewFFT(n*finer).Sequence(nil, fine)[:n*finer/2] {
		v /= most * float64(n) * dt
		p.Values = append(p.Values, float32(v))
		if math.Abs(v) > weakest*float64(p.Values[0]) {
			end = i
		}
	}
	p.Values = append(p.Values[:end+1], 0)
	return p
}

// Sampled is the filter of B for points dt apart, in s, from its first coefficient to its last; that in the
// middle belongs to no shift.
func (p Pulse) Sampled(dt float64) []float64 {
	half := int(p.Step * float64(len(p.Values)-1) / dt)
	out := make([]float64, 2*half+1)
	for i := range out {
		at := math.Abs(float64(i-half)) * dt / p.Step
		k := min(int(at), len(p.Values)-2)
		w := at - float64(k)
		out[i] = dt * ((1-w)*float64(p.Values[k]) + w*float64(p.Values[k+1]))
	}
	return out
}

// NewBand makes B for columns of nz points, two at least, whose two-way times lie in [column][nz], in
// s; they ascend in each column. With a nil list it only allocates memory.
func NewBand(d device.Device, p Pulse, times []float32, columns, nz, threads int) (*Band, error) {
	b := &Band{pulse: p, nz: nz, threads: threads}
	var err error
	if b.times, err = d.Alloc(columns*nz, device.F32); err != nil {
		return nil, err
	}
	if b.table, err = d.Alloc(len(p.Values), device.F32); err != nil || times == nil {
		return b, err
	}
	steps := make([]float32, len(times))
	for i, t := range times {
		steps[i] = float32(float64(t-times[i-i%nz]) / p.Step)
	}
	if err := device.Upload(b.times, steps); err != nil {
		return nil, err
	}
	return b, device.Upload(b.table, p.Values)
}

// Kernel applies B, its own transpose.
func (b *Band) Kernel() device.Kernel {
	const threads = 256
	n := b.times.Len()
	return device.Kernel{
		Host:    func(dst, src []float32) { convolve(b, dst, src) },
		Double:  func(dst, src []float64) { convolve(b, dst, src) },
		Program: Program(), Name: "band",
		Blocks: (n + threads - 1) / threads, Threads: threads,
		Args: []any{b.times, b.table, int64(n), int32(b.nz), int32(len(b.pulse.Values) - 1), float32(b.pulse.Step)},
	}
}

// Program holds the kernel that cards take.
func Program() device.Program { return device.Program{Name: "image.cu", Text: imageText} }

//go:embed image.cu
var imageText string

// convolve is the host's way, a column at a time.
func convolve[T float32 | float64](b *Band, dst, src []T) {
	times, table := device.Slice[float32](b.times), b.pulse.Values
	last := float32(len(table) - 1)
	const some = 64 // columns at a time
	columns := len(dst) / b.nz
	parallel(b.threads, (columns+some-1)/some, func(c int) {
		shares, sums := make([]float64, b.nz), make([]float64, b.nz)
		for column := c * some; column < min(columns, (c+1)*some); column++ {
			t, x := times[column*b.nz:][:b.nz], src[column*b.nz:][:b.nz]
			for i := range t {
				shares[i] = math.Sqrt(float64(float32(0.5*b.pulse.Step) * (t[min(i+1, b.nz-1)] - t[max(i-1, 0)])))
			}
			clear(sums)
			for i, v := range x {
				of := shares[i] * float64(v)
				sums[i] += float64(table[0]) * of
				for j := i + 1; j < b.nz; j++ {
					away := t[j] - t[i]
					if away >= last {
						break
					}
					k := int(away)
					w := float64(table[k] + (away-float32(k))*(table[k+1]-table[k]))
					sums[i] += w * shares[j] * float64(x[j])
					sums[j] += w * of
				}
			}
			for i, s := range sums {
				dst[column*b.nz+i] = T(shares[i] * s)
			}
		}
	})
}
