package quality

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/wavelet"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// trace holds the values that are kept of a trace.
type trace struct {
	source, receiver int32
	offset           float32 // m, signed along the line in 2-D
	rms              float32
	hash             uint64
	spikes           int32
	bad, dead, clip  bool
	silent           bool // far below the survey's level, see survey.Levels

	before, skip likeness // to the trace before it in its gather, and to the one before that
}

// usable reports whether the samples can be compared with others.
func (t *trace) usable() bool { return !t.bad && !t.dead && !t.silent }

// pass goes through the traces of a survey, source by source and there receiver by receiver.
type pass struct {
	survey *survey.Survey
	data   *h5.Dataset
	order  []int32 // traces in the order of the pass
	traces []trace // in that order
	gather []int32 // of each trace, the number of its source in the order of the pass
	votes  []vote
	spec   *wavelet.Spectrum
	band   wavelet.Band // of the wavelet
	space  float64      // m, median step between receivers

	period  float64      // s, of the wavelet's peak
	far     float64      // m, between receivers beyond which traces are not compared
	last    [2][]float32 // the traces before, of the same source
	former  map[int]kept // traces of the source before, by their offset in steps of receivers
	kept    map[int]kept // the same of this source
	size    []int        // traces of each source
	number  int          // of the next trace in its gather
	stride  int          // of those that are kept
	gathers int          // begun so far
}

// vote is how a trace compares with the one at its offset of the source before.
type vote struct{ trace, former, sign int }

// kept is a trace with its number in the pass.
type kept struct {
	samples []float32
	number  int
}

// spectrumTraces is about how many traces the mean spectrum is made from.
const spectrumTraces = 500

// blockSamples is how many samples are read at a time: 16 MiB.
const blockSamples = 4 << 20

func newPass(r *h5.SurveyReader) (*pass, error) {
	p := &pass{survey: r.Survey(), size: make([]int, r.Survey().NumSources())}
	var err error
	if r.HasData() {
		if p.data, err = r.Dataset("/data"); err != nil {
			return nil, err
		}
	}
	p.space = p.receiverStep()
	p.far = 2.5 * p.space
	p.order = make([]int32, p.survey.NumTraces())
	for i := range p.order {
		p.order[i] = int32(i)
		from, _ := p.survey.Pair(i)
		p.size[from]++
	}
	slices.SortStableFunc(p.order, func(i, j int32) int {
		a, b := p.rank(int(i)), p.rank(int(j))
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2]))
	})
	p.spec = wavelet.NewSpectrum(max(p.survey.NT, len(p.survey.Wavelet.Samples)), p.survey.DT)
	p.band = p.spec.Band(p.survey.Wavelet.Samples)
	p.period = 1 / max(p.band.Peak, 1/(float64(p.survey.NT)*p.survey.DT))
	return p, nil
}

// rank orders traces: sources along the line, then receivers along it. In 3-D both keep the
// order of the file.
func (p *pass) rank(i int) [3]float64 {
	s, r := p.survey.Pair(i)
	if p.survey.Dim == 2 {
		return [3]float64{p.survey.Source(s)[0], float64(s), p.survey.Receiver(r)[0]}
	}
	return [3]float64{float64(s), float64(r), 0}
}

// receiverStep is the median step between neighbouring receivers, m.
func (p *pass) receiverStep() float64 { return Median(steps(p.places(p.survey.Receivers))) }

// places are horizontal positions: in 2-D sorted along the line.
func (p *pass) places(xyz []float64) (list [][2]float64) {
	for at := range slices.Chunk(xyz, p.survey.Dim) {
		q := [2]float64{}
		copy(q[:], at[:p.survey.Dim-1])
		list = append(list, q)
	}
	if p.survey.Dim == 2 {
		slices.SortFunc(list, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
	}
	return list
}

// nearest is the distance below which two places are one, m.
const nearest = 0.05

// steps are the distances of places from the ones before them, without those that are one.
func steps(list [][2]float64) (out []float64) {
	for i := 1; i < len(list); i++ {
		if d := math.Hypot(list[i][0]-list[i-1][0], list[i][1]-list[i-1][1]); d > nearest {
			out = append(out, d)
		}
	}
	return out
}

// run reads the traces, or without any takes the geometry alone.
func (p *pass) run(ctx context.Context, report *progress.Reporter) error {
	stage := report.Stage("quality")
	defer stage.End()
	stage.Total(len(p.order), "traces")
	most := max(1, blockSamples/p.survey.NT)
	block := make([]float32, min(most, len(p.order))*p.survey.NT)
	every := max(1, len(p.order)/spectrumTraces)
	for list := range slices.Chunk(p.order, most) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.data != nil {
			if err := p.read(block, list); err != nil {
				return err
			}
		}
		for k, i := range list {
			s, r := p.survey.Pair(int(i))
			t := trace{source: int32(s), receiver: int32(r), offset: float32(p.signed(s, r))}
			if p.data != nil {
				v := block[k*p.survey.NT : (k+1)*p.survey.NT]
				p.look(&t, v)
				if len(p.traces)%every == 0 && t.usable() && t.spikes == 0 {
					p.spec.Add(v)
				}
			}
			p.traces = append(p.traces, t)
		}
		stage.Add(len(list))
	}
	p.silence()
	return nil
}

// silence finds the traces that are far below the others, and drops what was compared with them.
func (p *pass) silence() {
	levels := survey.Levels{}
	for i := range p.traces {
		if d, ok := survey.DecadeOf(float64(p.traces[i].rms)); ok && !p.traces[i].bad {
			levels[d]++
		}
	}
	least := levels.Least()
	for i := range p.traces {
		t := &p.traces[i]
		d, ok := survey.DecadeOf(float64(t.rms))
		t.silent = p.data != nil && !t.bad && !t.dead && (!ok || d < least)
		for k, to := range []*likeness{&t.before, &t.skip} {
			if at := i - 1 - k; at >= 0 && (t.silent || p.traces[at].silent) {
				*to = likeness{}
			}
		}
	}
	p.votes = slices.DeleteFunc(p.votes, func(v vote) bool { return p.traces[v.trace].silent || p.traces[v.former].silent })
}

// read reads the listed traces, [len(list), NT]; runs of consecutive numbers together. In
// contrast to the reader of surveys it takes samples that are not finite.
func (p *pass) read(block []float32, list []int32) error {
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && list[i+n] == list[i]+int32(n) {
			n++
		}
		if err := h5.ReadAt(p.data, block[i*p.survey.NT:(i+n)*p.survey.NT], int(list[i])*p.survey.NT); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// signed is the offset, m: signed along the line in 2-D.
func (p *pass) signed(s, r int) float64 {
	at, to := p.survey.Source(s), p.survey.Receiver(r)
	if p.survey.Dim == 2 {
		return to[0] - at[0]
	}
	return math.Hypot(to[0]-at[0], to[1]-at[1])
}

// look measures a trace and compares it with those before.
func (p *pass) look(t *trace, v []float32) {
	m := Measure(v)
	t.rms, t.hash, t.bad, t.dead = m.RMS, m.Hash, m.Bad >= 0, m.Peak == 0
	if t.clip = m.Flat >= ClippedRun && !t.dead; !t.bad {
		t.spikes = int32(spikes(v, m.RMS))
	}
	n := len(p.traces)
	if n == 0 || p.traces[n-1].source != t.source {
		p.newGather(t.source)
	}
	p.gather = append(p.gather, int32(p.gathers-1))
	for k, to := range []*likeness{&t.before, &t.skip} {
		if at := n - 1 - k; at >= 0 && p.traces[at].source == t.source {
			*to = p.compare(t, &p.traces[at], v, p.last[k])
		}
	}
	p.last[0], p.last[1] = append(p.last[1][:0], v...), p.last[0]
	p.voteFor(t, v)
}

// compare says how alike two traces of a gather are. They may be shifted by what a wave of
// 1000 m/s needs between the receivers, and by two periods at most.
func (p *pass) compare(t, u *trace, v, w []float32) (l likeness) {
	d := distance(p.survey, t.receiver, u.receiver)
	if !t.usable() || !u.usable() || d > p.far {
		return l
	}
	const slowest = 1000 // m/s
	if l = alike(v, w, p.lags(d/slowest)); l.sign() != 0 {
		return l
	}
	reach := int(math.Ceil(1.5 * p.period / p.survey.DT))
	if near := strongest(v, w, reach, p.lags(d/slowest)); near.sign() > 0 || near.sign() < 0 && near.least <= -strongestLeast {
		return near
	}
	return l
}

func (p *pass) lags(s float64) int {
	return 1 + int(math.Ceil(min(s, 2*p.period)/p.survey.DT))
}

func distance(s *survey.Survey, i, j int32) float64 {
	a, b := s.Receiver(int(i)), s.Receiver(int(j))
	d := 0.0
	for k := range s.Dim - 1 {
		d = math.Hypot(d, a[k]-b[k])
	}
	return d
}

// keptTraces is about how many traces of a source are kept to be compared with those of the
// next.
const keptTraces = 16

// newGather begins another source.
func (p *pass) newGather(source int32) {
	p.gathers++
	p.former, p.kept = p.kept, map[int]kept{}
	p.number, p.stride = 0, max(1, p.size[source]/keptTraces)
	p.last[0], p.last[1] = p.last[0][:0], p.last[1][:0]
}

// voteFor compares a trace with that of the source before at its offset, and keeps it for
// the next source if its turn has come.
func (p *pass) voteFor(t *trace, v []float32) {
	if !t.usable() {
		return
	}
	bin := int(math.Round(float64(t.offset) / max(p.space, nearest)))
	v0, there := p.former[bin]
	if there {
		if sign := alike(v, v0.samples, p.lags(p.period)).sign(); sign != 0 {
			p.votes = append(p.votes, vote{len(p.traces), v0.number, sign})
		}
	}
	if p.number%p.stride == 0 {
		p.kept[bin] = kept{slices.Clone(v), len(p.traces)}
	}
	p.number++
}
