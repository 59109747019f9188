package fielddata

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// agree is how far apart two sampling intervals may be and still be one, s: the
// two-byte fields hold whole microseconds.
const agree = 0.999e-6

// sampling finds the survey's sampling interval. Trace headers count where they
// give one, the binary header where they do not; where the two disagree nobody
// can know which is right, and a wrong one spoils every traveltime.
func (im *Import) sampling() error {
	if im.opt.DT > 0 {
		im.DT = im.opt.DT
		return nil
	}
	dt := make([]float64, len(im.traces))
	for i, f := range im.Files {
		if err := im.fileSampling(int32(i), f, dt); err != nil {
			return err
		}
	}
	ticks := count(im.traces, func(i int, t *record) (int64, bool) { return int64(math.Round(dt[i] * 1e9)), !t.out })
	most, ok := mode(ticks)
	if !ok {
		return im.nothingLeft()
	}
	for i := range im.traces {
		if t := &im.traces[i]; !t.out && im.DT == 0 && int64(math.Round(dt[i]*1e9)) == most {
			im.DT = dt[i]
		}
	}
	for i := range im.traces {
		if t := &im.traces[i]; !t.out && math.Abs(dt[i]-im.DT) > agree {
			im.leave(t, "sampling interval is %.10g ms, the survey's %.10g ms", 1e3*dt[i], 1e3*im.DT)
			im.QC.OtherSampling++
		}
	}
	return nil
}

// fileSampling finds the interval of each trace of a file.
func (im *Import) fileSampling(number int32, f *segy.File, dt []float64) error {
	kept := 0
	own, ok := mode(count(im.traces, func(_ int, t *record) (int64, bool) {
		if t.file == number && !t.out {
			kept++
		}
		return int64(math.Round(t.own * 1e9)), t.file == number && !t.out && t.own > 0
	}))
	if kept == 0 {
		return nil // what has no trace in the survey needs no interval
	}
	said := float64(own) * 1e-9
	at := &segy.Error{Path: f.Path, Byte: 3217, Field: "sample interval"}
	if f.Kind == segy.SU {
		at.Byte = 117
	}
	switch {
	case !ok && f.Interval == 0:
		at.Err = fmt.Errorf("is 0 here and in every trace header (byte 117), must be positive")
		return status.Hint(status.Input(at), "--dt S gives it in seconds")
	case ok && f.Interval > 0 && math.Abs(said-f.Interval) > agree:
		at.Err = fmt.Errorf("is %.10g ms, but the trace headers (byte 117) say %.10g ms", 1e3*f.Interval, 1e3*said)
		return status.Hint(status.Input(at), fmt.Sprintf("--dt %g or --dt %g says which is right", f.Interval, said))
	}
	for i := range im.traces {
		t := &im.traces[i]
		switch {
		case t.file != number:
		case t.own == 0 || f.Interval > 0 && math.Abs(t.own-f.Interval) <= agree:
			dt[i] = cmp.Or(f.Interval, said)
		default:
			dt[i] = t.own
		}
	}
	return nil
}

// window finds the survey's window of time and where the traces lie in it: that
// of most traces, unless given. Others are cut, or filled up with zeros.
func (im *Import) window() error {
	type span struct {
		delay float64
		ns    int32
	}
	most, ok := mode(count(im.traces, func(_ int, t *record) (span, bool) { return span{t.delay, t.ns}, !t.out }))
	if !ok {
		return im.nothingLeft()
	}
	im.T0, im.NT = most.delay, int(most.ns)
	if im.opt.T0 != nil {
		im.T0 = *im.opt.T0
	}
	if im.opt.NT > 0 {
		im.NT = im.opt.NT
	}
	if im.NT < 2 {
		return status.Input(fmt.Errorf("%s: traces have %d samples, need at least 2", im.Files[0].Path, im.NT))
	}
	for i := range im.traces {
		t := &im.traces[i]
		if t.out {
			continue
		}
		shift := (im.T0 - t.delay) / im.DT
		whole := math.Round(shift)
		moved := 0.0
		if im.opt.ApplyStatics {
			moved, t.fraction = split(t.static / im.DT)
		}
		switch {
		case math.Abs(shift-whole) > 1e-3:
			im.leave(t, "its first sample is at %g ms, %g samples from the survey's at %g ms: must be a whole number", 1e3*t.delay, -shift, 1e3*im.T0)
			im.QC.OtherSampling++
		case whole-moved >= float64(t.ns) || whole-moved <= -float64(im.NT):
			im.leave(t, "lies outside the survey's window of time: %d samples from %g ms on", t.ns, 1e3*t.delay)
			im.QC.OtherSampling++
		default:
			whole -= moved
			t.shift = int32(whole)
			if whole > 0 || int(t.ns)-int(whole) > im.NT {
				im.QC.Cut++
			}
			if whole < 0 || int(t.ns)-int(whole) < im.NT {
				im.QC.Padded++
			}
		}
	}
	return nil
}

// nothingLeft is the error for files that hold no data at all.
func (im *Import) nothingLeft() error {
	err := fmt.Errorf("%s: none of the %d traces can be used", im.Files[0].Path, im.QC.Traces)
	if len(im.Left) > 0 {
		l := im.Left[0]
		err = fmt.Errorf("%w; the first, trace %d at byte %d: %s", err, l.Trace, l.Byte, l.Reason)
	}
	hint := ""
	switch im.QC.Traces {
	case im.QC.Dead:
		hint = "--keep-dead keeps dead traces"
	case im.QC.NoData:
		hint = "--trace-id CODE,... says which codes count as data"
	}
	return status.Hint(status.Input(err), hint)
}

// count counts the values that of gives.
func count[K comparable](traces []record, of func(i int, t *record) (K, bool)) map[K]int {
	n := map[K]int{}
	for i := range traces {
		if k, ok := of(i, &traces[i]); ok {
			n[k]++
		}
	}
	return n
}

// mode is the most frequent value; of equally frequent ones, any that has a
// fixed place among them.
func mode[K comparable](n map[K]int) (most K, ok bool) {
	text := ""
	for k, c := range n {
		if t := fmt.Sprint(k); !ok || c > n[most] || c == n[most] && t < text {
			most, text, ok = k, t, true
		}
	}
	return most, ok
}
