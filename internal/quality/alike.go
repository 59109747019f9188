package quality

import "math"

// likeness is the normalised cross-correlation of two traces at the lag where its magnitude
// is greatest.
type likeness struct {
	most, least float32 // greatest and least over the lags, -1 to 1
	lag         int16   // samples by which the first trace is later, at the greatest magnitude
}

// A sign is decided where the correlation is strong and clearly stronger than that of the
// other sign: a band-limited signal also looks like its negative, half a period away. For
// opposite signs more is asked, since several arrivals that cross are alike by chance.
const (
	alikeLeast, alikeMargin       = 0.6, 0.1
	oppositeLeast, oppositeMargin = 0.75, 0.2
)

// sign is 1 for traces of equal polarity, -1 for opposite ones, 0 where that is not clear.
func (l likeness) sign() int {
	switch {
	case l.most >= alikeLeast && l.most >= -l.least+alikeMargin:
		return 1
	case -l.least >= oppositeLeast && -l.least >= l.most+oppositeMargin:
		return -1
	}
	return 0
}

// alike correlates two traces of one length over lags of up to the given number of samples.
// 2 lags + 1 products a sample.
func alike(v, w []float32, lags int) (l likeness) {
	norm := math.Sqrt(energy(v) * energy(w))
	if !(norm > 0 && norm <= math.MaxFloat64) {
		return l
	}
	lags = min(lags, len(v)-1, math.MaxInt16)
	for lag := -lags; lag <= lags; lag++ {
		a, b := v[max(0, lag):], w[max(0, -lag):]
		sum := float32(0)
		n := min(len(a), len(b))
		for i, x := range a[:n] {
			sum += x * b[i]
		}
		c := float32(float64(sum) / norm)
		if abs(c) > max(l.most, -l.least) {
			l.lag = int16(lag)
		}
		l.most, l.least = max(l.most, c), min(l.least, c)
	}
	return l
}

// strongest correlates the strongest arrival of a trace, the given number of samples on either
// side of its peak, with the same samples of another trace, over lags of up to the given
// number. Where several arrivals with different slopes cross, whole traces look unlike each
// other.
func strongest(v, w []float32, reach, lags int) (l likeness) {
	peak := 0
	for i, x := range v {
		if abs(x) > abs(v[peak]) {
			peak = i
		}
	}
	from, to := max(0, peak-reach), min(len(v), peak+reach+1)
	whole := energy(v[from:to])
	for lag := -lags; lag <= lags; lag++ {
		if from-lag < 0 || to-lag > len(w) {
			continue
		}
		b := w[from-lag : to-lag]
		norm := math.Sqrt(whole * energy(b))
		if !(norm > 0) || energy(b) < whole*strongestShare {
			continue
		}
		sum := float32(0)
		for i, x := range v[from:to] {
			sum += x * b[i]
		}
		c := float32(float64(sum) / norm)
		if abs(c) > max(l.most, -l.least) {
			l.lag = int16(lag)
		}
		l.most, l.least = max(l.most, c), min(l.least, c)
	}
	return l
}

// A single arrival is compared only with samples of at least a tenth of its energy. An opposite sign
// must be clearer than for whole traces, because an arrival is shorter.
const (
	strongestShare = 0.1
	strongestLeast = 0.9
)

func energy(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// signWindow is how many traces on either side decide on the polarity of a trace.
const signWindow = 5

// reversed finds the members of a sequence that are opposite to most of those before and to
// most of those after them. links[i] says how member i compares with member from[i], which
// is before it: 1, -1, or 0 for unknown. At an end of a chain of known members, all of the
// window on the one side must be opposite.
func reversed(links []int, from []int) (out []bool) {
	out = make([]bool, len(links))
	sign, chain := make([]int, len(links)), make([]int, len(links))
	for i, link := range links {
		if link == 0 {
			sign[i], chain[i] = 1, i
			continue
		}
		sign[i], chain[i] = link*sign[from[i]], chain[from[i]]
	}
	members := map[int][]int{}
	for i, c := range chain {
		members[c] = append(members[c], i)
	}
	for _, list := range members {
		for k, i := range list {
			count := func(part []int) (n, opposite int) {
				for _, j := range part {
					if sign[j] != sign[i] {
						opposite++
					}
				}
				return len(part), opposite
			}
			n, left := count(list[max(0, k-signWindow):k])
			m, right := count(list[k+1 : min(len(list), k+1+signWindow)])
			switch {
			case n == 0 || m == 0:
				out[i] = n+m == signWindow && left+right >= signWindow-1
			case n < 2 && m < 2: // too few to tell
			case n < signWindow: // near the first of them a tie will do
				out[i] = 2*left >= n && 2*right > m
			case m < signWindow:
				out[i] = 2*left > n && 2*right >= m
			default:
				out[i] = 2*left > n && 2*right > m
			}
		}
	}
	return out
}
