package condition

import (
	"context"
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// decon is Wiener prediction-error filtering (Peacock and Treitel, 1969, Predictive
// deconvolution: Geophysics 34, 155-169). With a gap of one sample it is spiking deconvolution
// except for a scale: the wavelet keeps its first sample.
type decon struct {
	gap, length int     // samples
	noise       float64 // added to the zero lag, in parts of it
	design      string  // the traces that one operator is made for: "survey", "shot" or "trace"

	operator []float64 // of the mean of all traces
}

func parseDecon(values string, s *survey.Survey) (step, error) {
	name, rest, _ := strings.Cut(values, ",")
	d := &decon{noise: 0.01, design: "survey", gap: 1}
	want := 1
	switch name {
	case "spiking":
	case "predictive":
		want = 2
	default:
		return nil, fmt.Errorf("%q is neither spiking nor predictive", name)
	}
	parts := strings.Split(rest, ",")
	if last := parts[len(parts)-1]; len(parts) == want+2 {
		if d.design = last; last != "survey" && last != "shot" && last != "trace" {
			return nil, fmt.Errorf("%q is not one of survey, shot, trace", last)
		}
		parts = parts[:want+1]
	}
	v, err := numbers(strings.Join(parts, ","), want, want+1)
	if err != nil {
		return nil, err
	}
	if len(v) > want {
		d.noise = v[want]
	}
	if want == 2 {
		d.gap = counts.Near(v[0]/s.DT, 0, s.NT)
	}
	d.length = counts.Near(v[want-1]/s.DT, 0, s.NT)
	switch {
	case d.gap < 1:
		return nil, fmt.Errorf("the gap of %g s is shorter than a sample, %g s", v[0], s.DT)
	case d.length < 1 || d.gap+d.length > s.NT/2:
		return nil, fmt.Errorf("gap and length are %d samples of %g s, must be 2 to %d, half a trace", d.gap+d.length, s.DT, s.NT/2)
	case !(d.noise >= 1e-9 && d.noise <= 1):
		return nil, fmt.Errorf("the noise is %g, must be from 1e-9 to 1", d.noise)
	}
	return d, nil
}

// measure adds up the autocorrelations of traces, each divided by its energy, so that a loud
// trace counts no more than a quiet one. Those as good as dead do not count.
func (d *decon) measure(g *Gather) []float64 {
	sum := make([]float64, d.gap+d.length)
	for i, faint := range g.faint() {
		if !faint {
			d.add(sum, g.trace(i))
		}
	}
	return sum
}

func (d *decon) add(sum []float64, trace []float32) {
	energy := 0.0
	for _, v := range trace {
		energy += float64(v) * float64(v)
	}
	if energy == 0 {
		return
	}
	for lag := range sum {
		r := 0.0
		for k, v := range trace[lag:] {
			r += float64(v) * float64(trace[k])
		}
		sum[lag] += r / energy
	}
}

func (d *decon) learn(_ context.Context, sum []float64) (err error) {
	if sum[0] == 0 { // all traces are zero
		d.operator = []float64{1}
		return nil
	}
	d.operator, err = d.solve(sum)
	return err
}

// solve makes the prediction-error filter of an autocorrelation.
func (d *decon) solve(r []float64) ([]float64, error) {
	normal, right := mat.NewSymDense(d.length, nil), mat.NewVecDense(d.length, nil)
	for i := range d.length {
		for j := i; j < d.length; j++ {
			normal.SetSym(i, j, r[j-i])
		}
		normal.SetSym(i, i, r[0]*(1+d.noise))
		right.SetVec(i, r[d.gap+i])
	}
	var c mat.Cholesky
	if !c.Factorize(normal) {
		return nil, fmt.Errorf("the autocorrelation is not positive definite; use a NOISE above %g", d.noise)
	}
	var a mat.VecDense
	if err := c.SolveVecTo(&a, right); err != nil {
		return nil, fmt.Errorf("the normal equations are ill-conditioned; use a NOISE above %g", d.noise)
	}
	f := make([]float64, d.gap+d.length)
	f[0] = 1
	for i := range d.length {
		f[d.gap+i] -= a.AtVec(i)
	}
	return f, nil
}

func (d *decon) apply(g *Gather) (err error) {
	f := d.operator
	if d.design == "shot" {
		sum := d.measure(g)
		if sum[0] == 0 {
			return nil
		}
		if f, err = d.solve(sum); err != nil {
			return err
		}
	}
	for i := range g.Traces {
		if d.design == "trace" {
			sum := make([]float64, d.gap+d.length)
			if d.add(sum, g.trace(i)); sum[0] == 0 {
				continue
			}
			if f, err = d.solve(sum); err != nil {
				return fmt.Errorf("trace %d: %w", g.Traces[i], err)
			}
		}
		convolve(g.trace(i), f)
	}
	return nil
}

// convolve replaces a trace by its convolution with a causal operator, cut at its end.
func convolve[T float32 | float64](trace []T, f []float64) {
	for k := len(trace) - 1; k >= 0; k-- {
		sum := 0.0
		for lag := range f[:min(len(f), k+1)] {
			sum += f[lag] * float64(trace[k-lag])
		}
		trace[k] = T(sum)
	}
}

func (d *decon) filter(w *survey.Wavelet) error {
	lengthen(w, 0, len(d.operator)-1)
	convolve(w.Samples, d.operator)
	return nil
}
