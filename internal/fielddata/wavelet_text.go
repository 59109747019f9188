package fielddata

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// textWavelet reads a wavelet of a text. One number a line is a sample. In a text of one line every number is
// one. Two numbers a line are a time, in s or ms, and a sample, if the times ascend evenly at the traces'
// interval. Other texts are refused. zero is as in [ReadWavelet]; times with one at 0 that is not the first
// must agree with it.
func textWavelet(path string, zero int, dt float64) (w survey.Wavelet, err error) {
	rows, err := plainfile.ReadRows(path)
	var system *fs.PathError
	switch {
	case errors.As(err, &system):
		return w, status.Usage(err)
	case err != nil:
		return w, status.Input(err)
	}
	w.DT = dt
	columns := len(rows[0].Values)
	if len(rows) == 1 {
		w.Samples = rows[0].Values
	} else {
		for _, row := range rows {
			if n := len(row.Values); n != columns || n > 2 {
				return w, status.Hint(status.Input(fmt.Errorf("%s: line %d has %d numbers, line %d has %d: want a sample a line, or a time and a sample",
					path, rows[0].Line, columns, row.Line, n)), "# begins a comment")
			}
			w.Samples = append(w.Samples, row.Values[columns-1])
		}
	}
	switch n := len(w.Samples); {
	case n > longestWavelet:
		return w, status.Input(fmt.Errorf("%s: more than %d numbers: this is no wavelet", path, longestWavelet))
	case len(rows) > 1 && columns == 2:
		w.Zero, err = zeroOf(path, rows, zero, dt)
	case n > 2 && w.Samples[0] == float64(n-1):
		err = status.Hint(fmt.Errorf("%s: line %d: %d may be a sample, or the number of samples that follow", path, rows[0].Line, n-1),
			"a # before it makes it a comment; 1 more or less in its last digit a sample")
	}
	return w, status.Input(err)
}

// crooked is how far, in intervals, times may lie off an even axis.
const crooked = 0.01

// zeroOf finds the index of time zero among the times of a text, which are the first numbers of its rows.
func zeroOf(path string, rows []plainfile.Row, given int, dt float64) (zero int, err error) {
	last := len(rows) - 1
	first := rows[0].Values[0]
	step := (rows[last].Values[0] - first) / float64(last)
	for i, row := range rows {
		if i > 0 && !(row.Values[0] > rows[i-1].Values[0]) {
			return 0, fmt.Errorf("%s: line %d: has two numbers, and the first, %g, is not above that of the line before, %g", path, row.Line, row.Values[0], rows[i-1].Values[0])
		}
	}
	for i, row := range rows {
		if want := first + float64(i)*step; math.Abs(row.Values[0]-want) > crooked*step {
			return 0, fmt.Errorf("%s: line %d: has two numbers, and the first, %g, is not evenly spaced: want %.6g", path, row.Line, row.Values[0], want)
		}
	}
	unit := 0.0
	for _, seconds := range []float64{1, 1e-3} {
		if math.Abs(step*seconds-dt) <= crooked*dt/float64(last) || math.Abs(step*seconds-dt) <= 1e-6*dt {
			unit = seconds
		}
	}
	if unit == 0 {
		return 0, fmt.Errorf("%s: lines %d to %d: the first numbers are %.6g apart, but times would be %g (s) or %g (ms) apart, as the traces' samples are",
			path, rows[0].Line, rows[last].Line, step, dt, 1e3*dt)
	}
	at := -first / step
	zero = int(math.Round(at))
	switch {
	case zero == 0 && math.Abs(at) <= crooked && given >= 0:
		return given, nil // times that are counted from the first sample say nothing of time zero
	case zero < 0 || zero > last:
		return 0, fmt.Errorf("%s: its times are %g to %g s, want time 0 among them", path, first*unit, rows[last].Values[0]*unit)
	case math.Abs(at-float64(zero)) > 2*crooked:
		return 0, fmt.Errorf("%s: line %d: time 0 lies between this sample and the next: no sample is at %g times the interval", path, rows[int(at)].Line, at)
	case given >= 0 && given != zero:
		return 0, fmt.Errorf("%s: time zero is sample %d by its times, from 0, but %d is requested", path, zero, given)
	}
	return zero, nil
}
