package segy

import "fmt"

// Samples that decide the kind of floats: traces, bytes of each, and the least number of
// samples other than 0.
const (
	judgedTraces = 64
	judgedBytes  = 16 << 10
	judgedLeast  = 1000
)

// judgeFloats compares a format code of floats with the samples, unless the caller gives the
// format. The fraction of an IBM float begins with a hexadecimal digit other than 0; these
// four bits of IEEE floats are the end of the exponent and the beginning of the fraction,
// which are 0 in about one of 12 numbers. Programs that write one kind and state the other are
// many.
func (f *File) judgeFloats() error {
	if f.opt.Format != 0 || f.Format != IBM32 && f.Format != IEEE32 {
		return nil
	}
	digits, all, negative := [16]int{}, 0, 0
	reading := &reading{f: f, order: f.Order, samples: f.Fixed}
	for at, n := f.first, 0; n < judgedTraces; n++ {
		h, size, err := reading.headAt(at)
		if err != nil {
			return err
		}
		if h == nil || size == 0 || at+size > f.end {
			break
		}
		begin := at + headerBytes*int64(1+f.Extra)
		raw, err := f.readAt(begin, int(max(0, min(judgedBytes, at+size-begin)))/4*4)
		if err != nil {
			return err
		}
		for ; len(raw) > 0; raw = raw[4:] {
			if w := f.ByteOrder().Uint32(raw); w<<1 != 0 {
				digits[w>>20&15]++
				all++
				negative += int(w >> 31)
			}
		}
		at += size
	}
	other, says := Format(0), ""
	switch share := float64(digits[0]) / float64(max(1, all)); {
	case all < judgedLeast:
	case f.Format == IBM32 && share > 0.03:
		other, says = IEEE32, fmt.Sprintf("fractions of %.2g %% of the first %d samples begin with 0, those of IBM floats do not", 100*share, all)
	case f.Format == IEEE32 && digits[0] == 0 && spread(digits[1:], all) && 10*min(negative, all-negative) > all:
		other, says = IBM32, fmt.Sprintf("the four bits behind the exponent of IBM floats are never 0 in the first %d samples, as in IBM floats; in IEEE floats they are in one of 12", all)
	}
	if other == 0 {
		return nil
	}
	err := f.faultIn(fileFormat, "is %d, %v, but the samples look like %v: %s", int(f.Format), f.Format, other, says)
	err.(*Error).Hint = fmt.Sprintf("--sample-format %d takes them as %v, --sample-format %d as %v", int(other), other, int(f.Format), f.Format)
	return err
}

// spread reports whether most of some counts are at least 1 % of all. Velocities have few
// exponents; traces, which oscillate about 0, have many.
func spread(counts []int, all int) bool {
	often := 0
	for _, n := range counts {
		if 100*n >= all {
			often++
		}
	}
	return 5*often >= 4*len(counts)
}
