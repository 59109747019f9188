package dist

import (
	"errors"
	"math"
	"math/big"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// exact is a sum of float64 numbers without rounding, so that it does not depend on their
// order: a fixed-point number over the whole range of float64, in digits of 32 bits that
// keep their carries for later (Neal 2015, "Fast exact summation using small and large
// superaccumulators", the small one).
//
// A number changes three digits by less than 2³² each, so int64 digits hold at least 2³⁰
// numbers. After carrying every digit is at most 2³¹ in size, and float64 adds the digits
// of 2²¹ ranks exactly, in any order.
type exact struct {
	digit [digits]int64 // digit i counts 2^(32 i − 1074)
	odd   float64       // the sum of NaN and infinite values, 0 without any
}

const (
	digits = 67         // from 2⁻¹⁰⁷⁴ to 2¹⁰²⁴ and room for the carries of the last
	words  = digits + 1 // of a sum on its way to other ranks
)

// add adds v.
func (e *exact) add(v float64) {
	b := math.Float64bits(v)
	m, at := b&(1<<52-1), int(b>>52&0x7ff)
	switch at {
	case 0x7ff:
		e.odd += v
		return
	case 0: // subnormal: counts 2⁻¹⁰⁷⁴ already
	default:
		m |= 1 << 52
		at--
	}
	i, shift := at/32, at%32
	low := m << shift
	d0, d1, d2 := int64(low&(1<<32-1)), int64(low>>32), int64(m>>(64-shift))
	if v < 0 {
		d0, d1, d2 = -d0, -d1, -d2
	}
	e.digit[i] += d0
	e.digit[i+1] += d1
	e.digit[i+2] += d2
}

// carry brings all digits but the last between −2³¹ and 2³¹ − 1.
func (e *exact) carry() {
	for i := range digits - 1 {
		c := (e.digit[i] + 1<<31) >> 32
		e.digit[i] -= c << 32
		e.digit[i+1] += c
	}
}

// pack appends the sum as words that float64 adds exactly.
func (e *exact) pack(to []float64) []float64 {
	e.carry()
	for _, d := range e.digit {
		to = append(to, float64(d))
	}
	return append(to, e.odd)
}

// unpack reads the words of an exact sum, or of several sums added up.
func unpack(w []float64) (e exact) {
	for i := range e.digit {
		e.digit[i] = int64(w[i])
	}
	e.odd = w[digits]
	return e
}

// round returns the float64 nearest to the sum. NaN and infinities are preserved.
func (e *exact) round() float64 {
	if e.odd != 0 {
		return e.odd
	}
	e.carry()
	x, d := new(big.Int), new(big.Int)
	for _, v := range slices.Backward(e.digit[:]) {
		x.Lsh(x, 32).Add(x, d.SetInt64(v))
	}
	f := new(big.Float).SetInt(x)
	v, _ := f.SetMantExp(f, -1074).Float64()
	return v
}

// SumExactly adds the numbers of all ranks without rounding and rounds the sum once. The
// result has the same bits however the numbers are shared out. All ranks get an error if
// one of them passes one as mine. It is collective.
func SumExactly(c comm.Comm, x []float64, mine error) (float64, error) {
	var e exact
	for _, v := range x {
		e.add(v)
	}
	failed := 0.0
	if mine != nil {
		failed = 1
	}
	w := append(e.pack(make([]float64, 0, words+1)), failed)
	if c.Size() > 1 {
		if err := c.Host().AllReduce(w, comm.Sum); err != nil {
			return 0, err
		}
	}
	switch {
	case mine != nil:
		return 0, mine
	case w[words] != 0:
		return 0, status.Peer(errors.New("dist: another rank failed in this application"))
	}
	e = unpack(w)
	return e.round(), nil
}
