package imaging

import (
	"fmt"
	"math"
	"slices"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Lattice says where point-spread functions are known: at points Step apart along each axis,
// in Shifts^dim combs of them, of which each is shifted by a Shifts-th of the step along one
// axis or several. The functions of one comb are known together, as the image that a normal
// operator makes of ones at its points and zeros elsewhere. Each is taken to reach half a
// step along each axis.
type Lattice struct {
	Step   []int // in points
	Shifts int
}

// Combs is how many combs there are for an image of so many axes.
func (l Lattice) Combs() int {
	n := 1
	for range l.Step {
		n *= l.Shifts
	}
	return n
}

// About describes the lattice.
func (l Lattice) About() string {
	text := fmt.Sprintf("%v points apart", l.Step)
	if n := l.Combs(); n > 1 {
		text += fmt.Sprintf(", on %d lattices", n)
	}
	return text
}

// Holds reports whether a point of an image of that shape, numbered in C order, is one of a
// comb.
func (l Lattice) Holds(comb, point int, shape []int) bool {
	for a := len(shape) - 1; a >= 0; a-- {
		if point%shape[a]%l.Step[a] != l.first(a, comb%l.Shifts, shape[a]) {
			return false
		}
		point, comb = point/shape[a], comb/l.Shifts
	}
	return true
}

// first is the first point along an axis of n points, of a comb shifted so often along it.
func (l Lattice) first(a, shift, n int) int {
	step := min(l.Step[a], n)
	return (step/(2*l.Shifts) + shift*step/l.Shifts) % l.Step[a]
}

// node is a coordinate of the lattice's points along one axis, and how often the combs of
// these points are shifted.
type node struct{ at, shift int }

// nodes are those of an axis of n points, ascending.
func (l Lattice) nodes(a, n int) (all []node) {
	for shift := range l.Shifts {
		for at := l.first(a, shift, n); at < n; at += l.Step[a] {
			all = append(all, node{at, shift})
		}
	}
	slices.SortFunc(all, func(p, q node) int { return p.at - q.at })
	return slices.CompactFunc(all, func(p, q node) bool { return p.at == q.at })
}

// WidthFor is the number of points of a window along each axis that holds the point-spread
// functions of a lattice: the least power of two of which three quarters are as long as a
// step, but not more than Width.
func (l Lattice) WidthFor(shape []int) []int {
	out := Width(shape)
	for a, most := range out {
		for out[a] = min(8, most); out[a] < most && 3*out[a] < 4*l.Step[a]; out[a] *= 2 {
		}
	}
	return out
}

// Spread sets g so that the multiplier is close to N, a symmetric and positive operator that
// changes slowly in space, from its point-spread functions N e_y on a lattice, with one image
// for each comb, and from noise = N q with white noise q of variance 1. With inverse set it is
// close to N⁻¹.
//
// A window's g is the Fourier transform of one function of the lag between two points: the
// point-spread functions, interpolated linearly to its centre and made even. So that
// Σ T_w Fᴴ g F T_w, which sees a pair of points with Σ_w T_w(x) T_w(y) < 1, has that function
// on the average, it is divided by the average of the sum at its lag. It ends at half a step,
// and at 3/8 of the window, with a cosine over its last third. What N does over longer
// distances the functions lack and the noise has, as in InverseRoot, though without its sign:
// g is the larger of the two, and at least floor times the largest response to the noise, which
// no eigenvalue is below.
func (m *Multiplier) Spread(l Lattice, images [][]float32, noise []float32, floor float64, inverse bool) error {
	for _, x := range images {
		size(m.shape, x)
	}
	s := &spreads{Lattice: l, shape: m.shape, images: images}
	for a, n := range m.shape {
		s.axes = append(s.axes, l.nodes(a, n))
		s.weights = append(s.weights, lagWeights(m.width[a], l.Step[a]))
	}
	response, most, top := m.response(noise)
	waves := m.waves()
	gain := make([]float32, m.gain.Len())
	parallel(m.threads, len(gain)/waves, func(w int) {
		t := m.free.Get().(*transform)
		defer m.free.Put(t)
		s.mean(t.points, m.width, m.corner(w, m.first, m.count))
		clear(t.outside)
		t.forward()
		for k, v := range t.waves {
			g := max(float32(real(v)), most*max(response[w*waves+k], float32(floor)*top))
			switch {
			case g == 0:
				g = 1
			case inverse:
				g = 1 / g
			}
			gain[w*waves+k] = g
		}
	})
	return device.Upload(m.gain, gain)
}

// Calibrate scales g, in each window at each wavenumber, by how much stronger want is than
// got, the multiplier applied to some image; both are averaged as in InverseRoot. Where got is
// weak beside its strongest place g stays.
func (m *Multiplier) Calibrate(got, want []float32) error {
	const ridge = 1e-3 // of the strongest
	a, most, top := m.response(got)
	b, scale, _ := m.response(want)
	gain := make([]float32, m.gain.Len())
	if err := device.Download(gain, m.gain); err != nil || top == 0 {
		return err
	}
	for i := range gain {
		gain[i] *= (b[i]*(scale/most) + ridge*top) / (a[i] + ridge*top)
	}
	return device.Upload(m.gain, gain)
}

// lagWeights are the factors of a window's function at lags from 0 on along one axis.
func lagWeights(width, step int) (all []float64) {
	end := min(float64(step)/2, 3*float64(width)/8)
	for lag := 0; lag == 0 || float64(lag) < end; lag++ {
		sum := 0.0
		for i := range width - lag {
			sum += taper(i, width) * taper(i+lag, width)
		}
		v := float64(width) / 2 / sum
		if t := 3*float64(lag)/end - 2; t > 0 {
			v *= (1 + math.Cos(math.Pi*t)) / 2
		}
		all = append(all, v)
	}
	return all
}

// spreads are point-spread functions on a lattice.
type spreads struct {
	Lattice
	shape   []int
	images  [][]float32 // by comb
	axes    [][]node
	weights [][]float64 // by axis, by lag
}

// near is a node with a weight.
type near struct {
	node
	weight float64
}

// around are the nodes along an axis between which a coordinate lies, with the weights of a
// linear interpolation: constant beyond the last.
func around(nodes []node, x float64) []near {
	i, _ := slices.BinarySearchFunc(nodes, x, func(n node, x float64) int {
		if float64(n.at) < x {
			return -1
		}
		return 1
	})
	switch {
	case i == 0:
		return []near{{nodes[0], 1}}
	case i == len(nodes):
		return []near{{nodes[i-1], 1}}
	}
	p, q := nodes[i-1], nodes[i]
	t := (x - float64(p.at)) / float64(q.at-p.at)
	return []near{{p, 1 - t}, {q, t}}
}

// mean sets points, a window's of a width in C order, to its function of the lag, periodic.
func (s *spreads) mean(points []float64, width, corner []int) {
	clear(points)
	near := make([][]near, len(width))
	for a, n := range s.shape {
		centre := float64(corner[a]) + float64(width[a]-1)/2
		near[a] = around(s.axes[a], max(0, min(centre, float64(n-1))))
	}
	s.corners(near, 0, 1, 0, nil, func(image []float32, at []int, weight float64) {
		s.lags(0, 0, weight, make([]int, len(width)), width, func(lag []int, to int, weight float64) {
			points[to] += weight * s.even(image, at, lag)
		})
	})
}

// corners calls f for each lattice point of the nodes along all axes.
func (s *spreads) corners(near [][]near, comb int, weight float64, a int, at []int, f func(image []float32, at []int, weight float64)) {
	if a == len(near) {
		f(s.images[comb], at, weight)
		return
	}
	for _, n := range near[a] {
		s.corners(near, comb*s.Shifts+n.shift, weight*n.weight, a+1, append(at[:a:a], n.at), f)
	}
}

// lags calls f for each lag with its place in a window and a weight, that of the lag times
// another.
func (s *spreads) lags(a, to int, weight float64, lag, width []int, f func(lag []int, to int, weight float64)) {
	if a == len(width) {
		f(lag, to, weight)
		return
	}
	for d := -len(s.weights[a]) + 1; d < len(s.weights[a]); d++ {
		lag[a] = d
		s.lags(a+1, to*width[a]+(d+width[a])%width[a], weight*s.weights[a][max(d, -d)], lag, width, f)
	}
}

// even is the mean of an image's values at a point plus and minus a lag, of those that lie in
// it.
func (s *spreads) even(image []float32, at, lag []int) float64 {
	plus, minus, p, q := 0, 0, true, true
	for a, n := range s.shape {
		x, y := at[a]+lag[a], at[a]-lag[a]
		plus, minus = plus*n+x, minus*n+y
		p, q = p && x >= 0 && x < n, q && y >= 0 && y < n
	}
	switch {
	case p && q:
		return (float64(image[plus]) + float64(image[minus])) / 2
	case p:
		return float64(image[plus])
	case q:
		return float64(image[minus])
	}
	return 0
}
