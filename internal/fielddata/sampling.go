package fielddata

import (
	"cmp"
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/statics"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// agree is how far apart two sampling intervals may be and still be one, s: the
// two-byte fields hold whole microseconds.
const agree = 0.999e-6

// Window is how the traces of the survey are sampled.
type Window struct {
	NT     int     // samples
	DT, T0 float64 // s
}

// sampling finds the survey's sampling interval. Trace headers count if they give one, otherwise
// the binary header. If the two disagree, the file does not tell which is right, and a wrong
// interval spoils every traveltime.
func (im *Import) sampling() (float64, error) {
	if im.opt.DT > 0 {
		return im.opt.DT, nil
	}
	for _, in := range im.Files {
		if err := in.sampling(); err != nil {
			return 0, err
		}
	}
	ticks := votes[int64]{}
	for t := range im.kept {
		ticks[nanoseconds(t.own)]++
	}
	if len(ticks) == 0 {
		return 0, im.nothingLeft()
	}
	most, common := ticks.winner(), 0.0
	for t := range im.kept {
		if nanoseconds(t.own) == most {
			common = t.own
			break
		}
	}
	for t := range im.kept {
		if math.Abs(t.own-common) > agree {
			t.leave("sampling interval is %.10g ms, the survey's %.10g ms", 1e3*t.own, 1e3*common)
			im.QC.OtherSampling++
		}
	}
	return common, nil
}

func nanoseconds(s float64) int64 { return int64(math.Round(s * 1e9)) }

// sampling settles the interval of each trace of the file.
func (in *input) sampling() error {
	kept, own := 0, votes[int64]{}
	for t := range in.kept {
		kept++
		if t.own > 0 {
			own[nanoseconds(t.own)]++
		}
	}
	if kept == 0 {
		return nil // what has no trace in the survey needs no interval
	}
	said, heard := float64(own.winner())*1e-9, len(own) > 0
	at := &segy.Error{Path: in.File.Path, Byte: 3217, Field: "sample interval"}
	if in.File.Kind == segy.SU {
		at.Byte = 117
	}
	switch {
	case !heard && in.File.Interval == 0:
		at.Err = fmt.Errorf("is 0 here and in every trace header (byte 117), must be positive")
		return status.Hint(status.Input(at), "--dt S gives it in seconds")
	case heard && in.File.Interval > 0 && math.Abs(said-in.File.Interval) > agree:
		at.Err = fmt.Errorf("is %.10g ms, but the trace headers (byte 117) say %.10g ms", 1e3*in.File.Interval, 1e3*said)
		return status.Hint(status.Input(at), fmt.Sprintf("--dt %g or --dt %g says which is right", in.File.Interval, said))
	}
	for t := range in.kept {
		if t.own == 0 || in.File.Interval > 0 && math.Abs(t.own-in.File.Interval) <= agree {
			t.own = cmp.Or(in.File.Interval, said)
		}
	}
	return nil
}

// window finds the survey's window of time and where the traces lie in it: that
// of most traces, unless given. Others are cut, or filled up with zeros.
func (im *Import) window(dt float64) (Window, error) {
	type span struct {
		delay float64
		ns    int32
	}
	spans := votes[span]{}
	for t := range im.kept {
		spans[span{t.delay, t.ns}]++
	}
	if len(spans) == 0 {
		return Window{}, im.nothingLeft()
	}
	most := spans.winner()
	w := Window{NT: cmp.Or(im.opt.NT, int(most.ns)), DT: dt, T0: most.delay}
	if im.opt.T0 != nil {
		w.T0 = *im.opt.T0
	}
	if w.NT < 2 {
		return w, status.Input(fmt.Errorf("%s: traces have %d samples, need at least 2", im.Files[0].File.Path, w.NT))
	}
	for t := range im.kept {
		shift := (w.T0 - t.delay) / dt
		whole := math.Round(shift)
		moved := 0.0
		if im.opt.ApplyStatics {
			moved, t.fraction = statics.Split(t.static / dt)
		}
		begins := whole - moved // within the trace
		switch {
		case math.Abs(shift-whole) > 1e-3:
			t.leave("its first sample is at %g ms, %g samples from the survey's at %g ms: must be a whole number", 1e3*t.delay, -shift, 1e3*w.T0)
			im.QC.OtherSampling++
			continue
		case begins >= float64(t.ns) || begins <= -float64(w.NT):
			t.leave("lies outside the survey's window of time: %d samples from %g ms on", t.ns, 1e3*t.delay)
			im.QC.OtherSampling++
			continue
		}
		t.shift = int32(begins)
		if begins > 0 || int(t.ns)-int(t.shift) > w.NT {
			im.QC.Cut++
		}
		if begins < 0 || int(t.ns)-int(t.shift) < w.NT {
			im.QC.Padded++
		}
	}
	return w, nil
}

// nothingLeft is the error for files that hold no data at all.
func (im *Import) nothingLeft() error {
	err := fmt.Errorf("%s: none of the %d traces can be used", im.Files[0].File.Path, im.QC.Traces)
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

type votes[K comparable] map[K]int

// winner is the most frequent value, zero without any. Their texts decide between equally
// frequent ones, so that the map's order does not matter.
func (n votes[K]) winner() (most K) {
	text := ""
	for k, c := range n {
		if t := fmt.Sprint(k); text == "" || c > n[most] || c == n[most] && t < text {
			most, text = k, t
		}
	}
	return most
}
