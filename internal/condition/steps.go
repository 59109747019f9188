package condition

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// kind is a kind of step.
type kind struct {
	name, usage, help string
	parse             func(values string, s *survey.Survey) (step, error)
}

var kinds = []kind{
	{"bandpass", "bandpass=F1,F2,F3,F4", "zero-phase band-pass in Hz: zero below F1 and above F4, one from F2 to F3", parseBandpass},
	{"gain", "gain=N", "multiply by time to the power of N", parseGain},
	{"agc", "agc=WINDOW", "divide by the root mean square in a sliding window of WINDOW s", parseAGC},
	{"balance", "balance=trace, balance=shot or balance=surface", "divide by the root mean square of each trace or shot; surface: by the\nfactor of each source and receiver that is common to all its traces", parseBalance},
	{"mute", "mute=top|bottom|inside,FILE[,TAPER] or mute=arrival,DELAY[,TAPER[,VELOCITY]]",
		"mute along picks: FILE has an offset in m and a time in s a line; TAPER s (0.02);\narrival: before the first arrival, in the model --velocity, plus DELAY s", parseMute},
	{"kill", "kill=TRACE[-TRACE],...", "set traces to zero, by number from 0", parseKill},
	{"flip", "flip=TRACE[-TRACE],...", "reverse the sign of traces", parseFlip},
	{"fk", "fk=V1,V2", "2-D: remove apparent velocities below V1 m/s, keep those above V2", parseFan},
	{"statics", "statics=FILE", "move traces by the static corrections of a table of lsm statics, and places to its datum", parseStatics},
	{"decon", "decon=spiking,LENGTH[,NOISE[,DESIGN]] or decon=predictive,GAP,LENGTH[,NOISE[,DESIGN]]",
		"Wiener deconvolution: LENGTH and GAP in s, NOISE a share (0.01), DESIGN survey, shot\nor trace", parseDecon},
}

// Names lists the steps.
func Names() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Help says in one line each how steps are given and what they do.
func Help() string {
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %s\n      %s\n", k.usage, strings.ReplaceAll(k.help, "\n", "\n      "))
	}
	return b.String()
}

// numbers reads as many finite numbers as a step wants.
func numbers(values string, least, most int) ([]float64, error) {
	var v []float64
	for _, text := range strings.Split(values, ",") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x-x != 0 {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		v = append(v, x)
	}
	if len(v) < least || len(v) > most {
		return nil, fmt.Errorf("it has %d numbers", len(v))
	}
	return v, nil
}

// gain multiplies by |t|^n; at time 0 by that of one sample, so that nothing is lost for good.
type gain struct{ factor []float32 }

func parseGain(values string, s *survey.Survey) (step, error) {
	v, err := numbers(values, 1, 1)
	if err != nil {
		return nil, err
	}
	if math.Abs(v[0]) > 10 {
		return nil, fmt.Errorf("the power is %g, must be from -10 to 10", v[0])
	}
	g := gain{make([]float32, s.NT)}
	for i := range g.factor {
		g.factor[i] = float32(math.Pow(max(s.DT, math.Abs(s.T0+float64(i)*s.DT)), v[0]))
	}
	return g, nil
}

func (s gain) apply(g *Gather) error {
	for i := range g.Traces {
		for k, f := range s.factor {
			g.trace(i)[k] *= f
		}
	}
	return nil
}

// agc divides every sample by the root mean square of the window around it, with the trace's
// own times quietest added, so that silence stays silent.
type agc struct{ half int } // samples on each side

const quietest = 1e-4

func parseAGC(values string, s *survey.Survey) (step, error) {
	v, err := numbers(values, 1, 1)
	if err != nil {
		return nil, err
	}
	half := counts.Near(v[0]/s.DT/2, 0, s.NT)
	if half < 1 || half >= s.NT {
		return nil, fmt.Errorf("the window of %g s has %d samples of %g s, traces have %d", v[0], 2*half+1, s.DT, s.NT)
	}
	return agc{half}, nil
}

func (s agc) apply(g *Gather) error {
	sums := make([]float64, g.NT+1)
	for i, faint := range g.faint() {
		if faint {
			continue
		}
		trace := g.trace(i)
		for k, v := range trace {
			sums[k+1] = sums[k] + float64(v)*float64(v)
		}
		floor := quietest * quietest * sums[g.NT] / float64(g.NT)
		for k := range trace {
			from, to := max(0, k-s.half), min(g.NT, k+s.half+1)
			trace[k] /= float32(math.Sqrt(max(0, sums[to]-sums[from])/float64(to-from) + floor))
		}
	}
	return nil
}

// balance divides traces, or whole shots, by their root mean square. Dead ones, and those as good as
// dead beside the others of their shot, stay as they are.
type balance struct{ shot bool }

func parseBalance(values string, s *survey.Survey) (step, error) {
	switch values {
	case "trace", "shot":
		return balance{values == "shot"}, nil
	case "surface":
		return &surface{survey: s, rms: make([]float64, s.NumTraces())}, nil
	}
	return nil, fmt.Errorf("%q is not one of trace, shot, surface", values)
}

func (s balance) apply(g *Gather) error {
	parts := [][]float32{g.Data}
	if !s.shot {
		parts = nil
		for i, faint := range g.faint() {
			if !faint {
				parts = append(parts, g.trace(i))
			}
		}
	}
	for _, part := range parts {
		sum := 0.0
		for _, v := range part {
			sum += float64(v) * float64(v)
		}
		if sum == 0 {
			continue
		}
		factor := float32(1 / math.Sqrt(sum/float64(len(part))))
		for k := range part {
			part[k] *= factor
		}
	}
	return nil
}

// edit multiplies listed traces by a factor.
type edit struct {
	ranges [][2]int
	factor float32
}

func parseKill(values string, s *survey.Survey) (step, error) { return parseEdit(values, s, 0) }
func parseFlip(values string, s *survey.Survey) (step, error) { return parseEdit(values, s, -1) }

func parseEdit(values string, s *survey.Survey, factor float32) (step, error) {
	e := edit{factor: factor}
	for _, text := range strings.Split(values, ",") {
		first, last, isRange := strings.Cut(text, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, fault := strconv.Atoi(last)
		switch {
		case err != nil || fault != nil:
			return nil, fmt.Errorf("%q is not a trace or a range of traces", text)
		case from < 0 || from > to || to >= s.NumTraces():
			return nil, fmt.Errorf("%q: the survey has traces 0 to %d", text, s.NumTraces()-1)
		}
		e.ranges = append(e.ranges, [2]int{from, to})
	}
	return e, nil
}

func (s edit) apply(g *Gather) error {
	for i, number := range g.Traces {
		if slices.ContainsFunc(s.ranges, func(r [2]int) bool { return int(number) >= r[0] && int(number) <= r[1] }) {
			for k := range g.trace(i) {
				g.trace(i)[k] *= s.factor
			}
		}
	}
	return nil
}
