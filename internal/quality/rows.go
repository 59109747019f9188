package quality

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// numbers gives each row of positions the number of its place: rows at one place have one.
func (b *builder) numbers(xyz []float64) (list []int32) {
	seen := map[[3]int64]int32{}
	for at := range slices.Chunk(xyz, b.table.Dim) {
		var key [3]int64
		for a, x := range at {
			key[a] = int64(math.Round(x / nearest))
		}
		n, known := seen[key]
		if !known {
			n = int32(len(seen))
			seen[key] = n
		}
		list = append(list, n)
	}
	return list
}

// duplicates finds traces that are there twice.
func (b *builder) duplicates() {
	sources, receivers := b.numbers(b.pass.survey.Sources), b.numbers(b.pass.survey.Receivers)
	pair := func(t *trace) [2]int32 { return [2]int32{sources[t.source], receivers[t.receiver]} }
	var order []int32 // of the traces that count, in the order of the file
	for i := range b.pass.traces {
		if b.pass.traces[i].usable() {
			order = append(order, int32(i))
		}
	}
	compare := func(i, j int32, keys ...int) int {
		return cmp.Or(cmp.Or(keys...), cmp.Compare(b.pass.order[i], b.pass.order[j]))
	}
	slices.SortFunc(order, func(i, j int32) int {
		p, q := pair(&b.pass.traces[i]), pair(&b.pass.traces[j])
		return compare(i, j, slices.Compare(p[:], q[:]))
	})
	var again, repeated, copies, twins []int
	left := map[int32]bool{}  // found already
	seen := map[uint64]bool{} // samples of one pair
	for k, i := range order {
		t := &b.pass.traces[i]
		if k == 0 || pair(&b.pass.traces[order[k-1]]) != pair(t) {
			clear(seen)
		}
		if len(seen) > 0 {
			left[i] = true
		}
		switch {
		case left[i] && b.pass.data != nil && seen[t.hash]:
			again = append(again, int(b.pass.order[i]))
		case left[i]:
			repeated = append(repeated, int(b.pass.order[i]))
		}
		seen[t.hash] = true
	}
	slices.SortFunc(order, func(i, j int32) int {
		return compare(i, j, cmp.Compare(b.pass.traces[i].hash, b.pass.traces[j].hash))
	})
	first := 0 // of those with equal samples
	for k, i := range order {
		t, u := &b.pass.traces[i], &b.pass.traces[order[first]]
		switch {
		case t.hash != u.hash:
			first = k
		case k == first || left[i] || b.pass.data == nil:
		case math.Abs(math.Abs(float64(u.offset))-math.Abs(float64(t.offset))) > max(1, b.pass.space/4):
			copies = append(copies, int(b.pass.order[i]))
		default:
			twins = append(twins, int(b.pass.order[i]))
		}
	}
	b.exact("traces", again, "are exact copies of an earlier one of their source and receiver", Fault)
	b.exact("samples", copies, "have the samples of another one at another offset", Fault)
	b.exact("repeats", repeated, "repeat a source and receiver with other samples: stack them, or they count twice", Note)
	b.exact("twins", twins, "have the samples of another one at the same offset, as in reciprocal traces and over flat layers", Note)
}

func (b *builder) exact(name string, at []int, which string, bad Level) {
	slices.Sort(at)
	b.counted(Duplicates, name, 1-b.opt.Allow, bad, at, which)
}

// outliers finds traces that are unlike their neighbours.
func (b *builder) outliers() {
	limit := 1 - b.opt.Allow
	if spikes(padded(b.pass.survey.Wavelet.Samples)) > 0 {
		b.note(Outliers, "spikes", "not judged: the wavelet itself is a spike")
	} else {
		total := 0
		at := b.filter(func(_ int, t *trace) bool {
			if t.silent {
				return false
			}
			total += int(t.spikes)
			return t.spikes > 0
		})
		b.counted(Outliers, "spikes", limit, Fault, at, fmt.Sprintf("have %d samples %d times larger than those around them", total, spikeFactor))
	}
	b.counted(Outliers, "clipped", 1-max(0.01, b.opt.Allow), Note, b.filter(func(_ int, t *trace) bool { return t.clip && !t.silent }), fmt.Sprintf("have at least %d equal samples in a row at their peak", ClippedRun))
	b.polarity(limit)
	b.scale(limit)
}

// padded is a wavelet with zeros around it, and its rms.
func padded(w []float64) ([]float32, float32) {
	v := make([]float32, len(w)+2*spikeReach)
	for i, x := range w {
		v[spikeReach+i] = float32(x)
	}
	return v, Measure(v).RMS
}

// polarity finds traces that are reversed against those of the next receivers, and sources
// whose traces are reversed against those of the sources beside them.
func (b *builder) polarity(limit float64) {
	links, from, decided := make([]int, len(b.pass.traces)), make([]int, len(b.pass.traces)), 0
	for i := range b.pass.traces {
		t := &b.pass.traces[i]
		links[i], from[i] = t.before.sign(), i-1
		if links[i] == 0 {
			links[i], from[i] = t.skip.sign(), i-2
		}
		if links[i] != 0 {
			decided++
		}
	}
	one := reversed(links, from)
	for i := range one {
		same, opposite := b.beside(i)
		one[i] = one[i] && opposite >= 2 && opposite >= 2*same
	}
	links, from = b.votedFor()
	whole := reversed(links, from)
	sources := 0
	for _, is := range whole {
		if is {
			sources++
		}
	}
	at := b.filter(func(i int, t *trace) bool { return one[i] != whole[b.pass.gather[i]] && !t.silent })
	text := "are reversed against their neighbours"
	if sources > 0 {
		text += fmt.Sprintf(", all of %d sources among them", sources)
	}
	usable := 0
	for i := range b.pass.traces {
		if b.pass.traces[i].usable() {
			usable++
		}
	}
	bad := Fault
	if 2*decided < usable {
		bad = Note
	}
	b.counted(Outliers, "polarity", limit, bad, at, text)
	if row := &b.table.Rows[len(b.table.Rows)-1]; bad == Note {
		row.Text += fmt.Sprintf(" (%d of %d traces resemble a neighbour enough to tell)", decided, len(b.pass.traces))
	}
}

// votedFor says how most traces of each source compare with those at the same offset of the source
// before, as reversed takes it.
func (b *builder) votedFor() (links, from []int) {
	same, opposite := make([]int, b.pass.gathers), make([]int, b.pass.gathers)
	for _, v := range b.pass.votes {
		if v.sign > 0 {
			same[b.pass.gather[v.trace]]++
		} else {
			opposite[b.pass.gather[v.trace]]++
		}
	}
	links, from = make([]int, b.pass.gathers), make([]int, b.pass.gathers)
	for k := range links {
		from[k] = k - 1
		switch n := same[k] + opposite[k]; {
		case n > 0 && 4*same[k] >= 3*n:
			links[k] = 1
		case n > 0 && 4*opposite[k] >= 3*n:
			links[k] = -1
		}
	}
	return links, from
}

// beside counts the traces, up to two on either side, that a trace is clearly alike and
// opposite to.
func (b *builder) beside(i int) (same, opposite int) {
	list := []likeness{b.pass.traces[i].before, b.pass.traces[i].skip}
	if i+1 < len(b.pass.traces) && b.pass.traces[i+1].source == b.pass.traces[i].source {
		list = append(list, b.pass.traces[i+1].before)
	}
	if i+2 < len(b.pass.traces) && b.pass.traces[i+2].source == b.pass.traces[i].source {
		list = append(list, b.pass.traces[i+2].skip)
	}
	for _, l := range list {
		switch l.sign() {
		case 1:
			same++
		case -1:
			opposite++
		}
	}
	return same, opposite
}

// scale finds traces, sources and receivers that are too strong or too weak.
func (b *builder) scale(limit float64) {
	l := newLevels(b.pass)
	bySource := func(t *trace) int32 { return t.source }
	byReceiver := func(t *trace) int32 { return t.receiver }
	sources, median := l.steps(b.pass.along(b.pass.survey.Sources), bySource, func(int) float64 { return 0 })
	receivers, _ := l.steps(b.pass.along(b.pass.survey.Receivers), byReceiver, func(i int) float64 { return median[b.pass.traces[i].source] })
	at := b.filter(func(i int, t *trace) bool {
		_, source := sources[t.source]
		_, receiver := receivers[t.receiver]
		return (source || receiver) && l.log[i] == l.log[i] || l.alone(i)
	})
	text := fmt.Sprintf("are off by a factor of %d or more against their neighbours", ScaleFactor)
	for _, off := range []struct {
		n    int
		name string
	}{{len(sources), "sources"}, {len(receivers), "receivers"}} {
		if off.n > 0 {
			text += fmt.Sprintf(", all of %d %s among them", off.n, off.name)
		}
	}
	b.counted(Outliers, "scale", limit, Fault, at, text)
}

// sampling compares the spectra of traces and wavelet, in time and along the spread.
func (b *builder) sampling() {
	nyquist := 0.5 / b.pass.survey.DT
	high := b.pass.band.Most
	if b.pass.spec.Traces == 0 {
		b.note(Sampling, "band", "no traces: the wavelet peaks at %.3g Hz", b.pass.band.Peak)
	} else {
		c := b.pass.spec.Compare(b.pass.survey.Wavelet.Samples, len(b.pass.survey.Wavelet.Samples))
		text := fmt.Sprintf("90 %% of the energy of the traces lies from %.3g to %.3g Hz, of the wavelet's from %.3g to %.3g Hz; they peak at %.3g and %.3g Hz",
			c.Traces.Low, c.Traces.High, c.Wavelet.Low, c.Wavelet.High, c.Traces.Peak, c.Wavelet.Peak)
		b.scored(Sampling, "band", c.Similarity, LeastOverlap, Fault, "%s", text)
		if row := &b.table.Rows[len(b.table.Rows)-1]; row.Level == OK && c.Similarity < GoodOverlap {
			row.Level, row.Text = Note, text+": the wavelet fits poorly"
		}
		high = min(c.Traces.Most, nyquist)
	}
	b.scored(Sampling, "time", min(1, nyquist/max(high, 1e-9)*0.8), 0.999, Note, "Nyquist is %.4g Hz, the signal reaches %.3g Hz, should stay below 0.8 of it", nyquist, high)
	steep, compared := 0, 0
	for i := range b.pass.traces {
		if t := &b.pass.traces[i]; t.before.sign() != 0 {
			compared++
			if math.Abs(float64(t.before.lag))*b.pass.survey.DT*2*high > 1 {
				steep++
			}
		}
	}
	if b.pass.space == 0 || compared == 0 {
		b.note(Sampling, "aliasing", "receivers %.4g m apart: no traces to compare", b.pass.space)
		return
	}
	b.scored(Sampling, "aliasing", 1-float64(steep)/float64(compared), 0.5, Note,
		"receivers %.4g m apart: at %.3g Hz arrivals with apparent velocities below %.4g m/s alias, the strongest ones of %d of %d traces",
		b.pass.space, high, 2*b.pass.space*high, steep, compared)
}
