package recorded

import (
	"context"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/inspect"
	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// fromTraces estimates the wavelet from spectra or from an arrival.
func (o *waveletOptions) fromTraces(ctx context.Context, a *cli.App, file string) error {
	if err := o.checkOutputs(a, cli.Use("the survey", file)); err != nil {
		return err
	}
	r, err := inspect.OpenTraces(file, "lsm wavelet needs recorded traces")
	if err != nil {
		return err
	}
	defer r.Close()
	s := r.Survey()
	n, zero := o.samples(s.DT)
	if n < 8 || n > s.NT {
		return status.Usage(fmt.Errorf("wavelet: --length %g s: %s at %g s, want 8 to %d", o.length, readable.Count(n, "sample"), s.DT, s.NT))
	}
	first, last, err := o.within(s, n)
	if err != nil {
		return err
	}
	spectrum := wavelet.NewSpectrum(last-first, s.DT)
	each := func(take func(trace int, samples []float32)) error { return o.each(ctx, r, take) }
	if err := each(func(_ int, samples []float32) { spectrum.Add(samples[first:last]) }); err != nil {
		return err
	}
	if spectrum.Traces == 0 {
		return status.Input(fmt.Errorf("%s: no trace with samples other than zero is left by --offsets and --times", file))
	}
	var w survey.Wavelet
	var how string
	if o.direct != nil || o.seaFloor != nil {
		w, how, err = o.fromArrival(a, s, n, zero, each)
	} else {
		w, how = o.fromSpectrum(spectrum, n)
	}
	if err != nil {
		return status.Input(fmt.Errorf("%s: %w", file, err))
	}
	a.Report.Printf("%s\n", how)
	turn := spectrum.Turn(w)
	if err := each(func(_ int, samples []float32) { turn.Add(samples[first:last]) }); err != nil {
		return err
	}
	o.tell(a, spectrum.Compare(w.Samples, len(w.Samples)), turn)
	attrs, err := cli.Made("wavelet", cli.Use("survey", file))
	if err != nil {
		return err
	}
	line := picture.Line{Name: "traces, mean", X: spectrum.Frequencies(), Y: spectrum.Amplitudes()}
	return o.write(a, w, how, attrs, []string{file}, line)
}

// within returns the range of the samples that --times leaves of each trace. It is an error if
// there are fewer than the n of the wavelet.
func (o *waveletOptions) within(s *survey.Survey, n int) (first, last int, err error) {
	first, last = 0, s.NT
	if o.times != nil {
		first = counts.Near(math.Ceil((o.times[0]-s.T0)/s.DT-1e-6), 0, s.NT)
		last = counts.Near(math.Floor((o.times[1]-s.T0)/s.DT+1e-6)+1, 0, s.NT)
	}
	if last-first < n {
		end := s.T0 + float64(s.NT-1)*s.DT
		return 0, 0, status.Usage(fmt.Errorf("wavelet: --times leaves %s of %s to %s s, want as many as the wavelet has, %d",
			readable.Count(max(0, last-first), "sample"), readable.Time(s.T0), readable.Time(end), n))
	}
	return first, last, nil
}

// each passes the traces that --offsets leaves, in their order.
func (o *waveletOptions) each(ctx context.Context, r *h5.SurveyReader, take func(trace int, samples []float32)) error {
	s := r.Survey()
	const most = 1 << 20 // samples that are read at a time
	step := max(1, most/s.NT)
	for from := 0; from < s.NumTraces(); from += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(step, s.NumTraces()-from)
		data := make([]float32, n*s.NT)
		if err := r.ReadTraces(data, from, n); err != nil {
			return err
		}
		for i := range n {
			offset := s.Offset(from + i)
			if o.offsets == nil || offset >= o.offsets[0] && offset <= o.offsets[1] {
				take(from+i, data[i*s.NT:(i+1)*s.NT])
			}
		}
	}
	return nil
}

// fromSpectrum is the wavelet of the mean spectrum, and how it was made.
func (o *waveletOptions) fromSpectrum(s *wavelet.Spectrum, n int) (w survey.Wavelet, how string) {
	if o.phase == "minimum" {
		w = s.MinimumPhase(n)
	} else {
		w = s.ZeroPhase(n | 1)
	}
	how = fmt.Sprintf("from the mean spectrum of %s, %s phase", readable.Count(s.Traces, "trace"), o.phase)
	if o.turn != 0 {
		w = s.Turned(w, o.turn)
		how += fmt.Sprintf(" turned by %g degrees", o.turn)
	}
	return w, how
}

// fromArrival is the stack of windows around an arrival, and how it was made.
func (o *waveletOptions) fromArrival(a *cli.App, s *survey.Survey, n, zero int, each func(func(int, []float32)) error) (w survey.Wavelet, how string, err error) {
	name, values := "the direct wave", o.direct
	if o.seaFloor != nil {
		name, values = "the sea floor's reflection", o.seaFloor
	}
	arrival := wavelet.Arrival{T0: values[0], Velocity: values[1], Curved: o.seaFloor != nil}
	stack := wavelet.NewStack(n, zero, s.DT, counts.Near(o.align/s.DT, 0, s.NT))
	err = each(func(trace int, samples []float32) {
		stack.Add(samples, (arrival.Time(s.Offset(trace))-s.T0)/s.DT)
	})
	if err != nil {
		return w, "", err
	}
	f, err := stack.Wavelet(o.coefficient)
	if err != nil {
		return w, "", fmt.Errorf("%s: %w", name, err)
	}
	sign := "positive"
	if inspect.Largest(f.Wavelet.Samples) < 0 {
		sign = "negative"
	}
	how = fmt.Sprintf("from windows of %d of %s around %s, with a reflection coefficient of %g", f.Windows, readable.Count(stack.Trials, "trace"), name, o.coefficient)
	a.Report.Printf("the windows correlate with their stack by %.2f and moved by %s ms (median); the wavelet's largest sample is %s\n",
		f.Coherence, readable.Time(1e3*math.Round(1e5*f.Shift)/1e5), sign)
	a.Report.Event("stack", "windows", f.Windows, "traces", stack.Trials, "coherence", f.Coherence, "shift", f.Shift)
	if f.Coherence < leastCoherence {
		a.Report.Warn(fmt.Sprintf("the windows correlate by only %.2f: does %s arrive at the given time?", f.Coherence, name))
	}
	return f.Wavelet, how, nil
}

// leastCoherence is the correlation of windows with their stack below which they hardly show the
// same arrival.
const leastCoherence = 0.6

// LeastContrast is the contrast of the kurtosis from which an angle means something.
const LeastContrast = 1.1

// tell says how the wavelet's spectrum agrees with that of the traces, and what phase it may lack.
func (o *waveletOptions) tell(a *cli.App, c wavelet.Comparison, t *wavelet.Turn) {
	a.Report.Printf("amplitudes correlate with the traces' by %.3f; the traces peak at %s Hz, 90 %% of their energy lies from %s to %s Hz\n",
		c.Similarity, readable.Frequency(c.Traces.Peak), readable.Frequency(c.Traces.Low), readable.Frequency(c.Traces.High))
	degrees, contrast := t.Best()
	if contrast >= LeastContrast {
		a.Report.Printf("turned by %g degrees it would make the traces most like spikes (kurtosis %.2f times the least)\n", degrees, contrast)
	}
	a.Report.Event("comparison", "similarity", c.Similarity, "beyond", c.Beyond, "traces_peak", c.Traces.Peak, "traces_band", []float64{c.Traces.Low, c.Traces.High},
		"wavelet_peak", c.Wavelet.Peak, "wavelet_band", []float64{c.Wavelet.Low, c.Wavelet.High}, "turn", degrees, "contrast", contrast)
}
