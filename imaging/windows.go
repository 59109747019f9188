package imaging

import (
	_ "embed"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Multiplier multiplies an image by a function of wavenumber, another one in each of
// its overlapping windows of space:
//
//	y = Σ_w T_w Fᴴ g_w F T_w x,   Σ_w T_w² = 1,
//
// with F the orthonormal Fourier transform and T_w half a sine along each axis, half of
// which the next window covers (a Gabor multiplier; Feichtinger and Nowak 2003). It is
// symmetric, and positive where g is; with g = 1 it is the identity. Images are arrays
// in C order, [nx, (ny,) nz], in single precision. Only what sets rows lo to hi of the image,
// along axis 0, is kept.
type Multiplier struct {
	device  device.Device
	shape   []int
	width   []int      // of a window along each axis
	lo, hi  int        // rows that are set
	first   int        // window along axis 0 that gain begins with
	count   []int      // windows along each axis, those that gain has along axis 0
	gain    device.Buf // float32, by window, by wavenumber
	tables  device.Buf // float64, as image.cu says
	threads int
	free    sync.Pool // of transforms
}

// NewMultiplier makes room on a device for a multiplier of images of two or three axes, in
// windows of so many points along each axis, powers of two and at most those of Width, with
// g = 0. threads is for what the host does.
func NewMultiplier(d device.Device, shape, width []int, lo, hi, threads int) (m *Multiplier, err error) {
	m = &Multiplier{device: d, shape: shape, width: width, lo: lo, hi: hi, threads: threads}
	m.free.New = func() any { return m.transform() }
	for a, n := range shape {
		m.count = append(m.count, windows(n, m.width[a]))
	}
	last := 0 // after the windows that reach rows lo to hi
	if lo < hi {
		half := m.width[0] / 2
		m.first, last = lo/half, (hi-1)/half+2
	}
	m.count[0] = last - m.first
	if m.gain, err = d.Alloc(product(m.count)*m.waves(), device.F32); err != nil {
		return nil, err
	}
	tables := m.periods()
	if m.tables, err = d.Alloc(len(tables), device.F64); err != nil {
		return nil, err
	}
	return m, device.Upload(m.tables, tables)
}

// periods are the tables of image.cu: along each of three axes the taper of a window, and
// cosine and sine of its waves, each with room for 64 values.
func (m *Multiplier) periods() []float64 {
	const longest = 64
	all := make([]float64, 3*3*longest)
	for a, n := range three(m.width, 1) {
		t := all[a*3*longest:]
		for i := range n {
			t[i] = taper(i, n)
			t[2*longest+i], t[longest+i] = math.Sincos(2 * math.Pi * float64(i) / float64(n))
		}
	}
	return all
}

// taper is half a sine.
func taper(i, n int) float64 { return math.Sin(math.Pi * (float64(i) + 0.5) / float64(n)) }

// three lists values along three axes, those of two with another one in the middle.
func three(v []int, middle int) [3]int {
	if len(v) == 3 {
		middle = v[1]
	}
	return [3]int{v[0], middle, v[len(v)-1]}
}

// windows is how many windows of a width an axis of n points has.
func windows(n, width int) int { return (n+width/2-1)/(width/2) + 1 }

// waves is the number of wavenumbers of a window.
func (m *Multiplier) waves() int {
	dim := len(m.width)
	return product(m.width[:dim-1]) * (m.width[dim-1]/2 + 1)
}

// Width is the number of points of a window along each axis: 64 in 2-D, 32 in 3-D, less
// where the image is no longer than half of that.
func Width(shape []int) []int {
	out := make([]int, len(shape))
	for a, n := range shape {
		most := []int{64, 64, 32}[len(shape)-1]
		for out[a] = 2; out[a] < most && out[a] < 2*n; out[a] *= 2 {
		}
	}
	return out
}

// InverseRoot sets g so that the multiplier is close to N^(−1/2), from y = N q, where q is
// white noise of variance 1 and N a symmetric, positive operator that changes slowly in
// space and wavenumber. Then |F T_w y|² is g_w⁻⁴ on the average, which is taken over
// neighbouring windows and wavenumbers; values below floor times the largest are
// raised to that. y is a whole image.
func (m *Multiplier) InverseRoot(y []float32, floor float64) error {
	kept, most, top := m.response(y)
	for i, e := range kept {
		if e = max(e, float32(floor)*top); e > 0 {
			kept[i] = float32(1 / math.Sqrt(float64(e)*float64(most)))
		} else {
			kept[i] = 1
		}
	}
	return device.Upload(m.gain, kept)
}

// response is √E|F T_w y|² of the windows that g is kept for, relative to most, for y as in
// InverseRoot: about what N does to a wavenumber. top is its largest value in any window.
func (m *Multiplier) response(y []float32) (kept []float32, most, top float32) {
	size(m.shape, y)
	most = largest(y) // squares of y itself could overflow
	count := slices.Clone(m.count)
	count[0] = windows(m.shape[0], m.width[0])
	energy := m.energies(y, most, count)
	dims := append(count, m.transform().shape()...)
	for axis, n := range dims {
		before, after := 0, n-1 // windows go on with the last one
		switch {
		case axis == len(dims)-1:
			before, after = 1, n-2 // of the wavenumbers along the last axis only half are kept
		case axis >= len(m.shape):
			before, after = n-1, 0 // wavenumbers are periodic
		}
		for range 2 {
			binomial(energy, dims, axis, before, after, m.threads)
		}
	}
	for i, e := range energy {
		energy[i] = float32(math.Sqrt(float64(e)))
		top = max(top, energy[i])
	}
	return energy[m.first*product(m.count[1:])*m.waves():][:m.gain.Len()], most, top
}

// Kernel applies the multiplier to all of an image. What comes of it are rows lo to hi. A
// card sums Fourier transforms term by term, which is little work beside a migration: windows
// are short.
func (m *Multiplier) Kernel() device.Kernel {
	const most = 128 // blocks, which take windows in turn
	n, width, count := three(m.shape, 1), three(m.width, 1), three(m.count, 1)
	var axes [3]struct{ n, width, first, count int32 }
	blocks := 1
	for a := range axes {
		axes[a].n, axes[a].width, axes[a].count = int32(n[a]), int32(width[a]), int32(count[a])
		blocks *= (count[a] + 1) / 2 // windows of a round
	}
	axes[0].first = int32(m.first)
	const wave = 16 // bytes
	return device.Kernel{
		Host: m.apply, Program: Program(), Name: "windows",
		Blocks: min(blocks, most), Threads: 512, Rounds: 1 << len(m.shape), Scratch: 2 * m.waves() * wave,
		Args: []any{m.gain, m.tables, axes[0], axes[1], axes[2], int32(m.lo), int32(m.hi)},
	}
}

// Program has the kernels of this package, for cards.
func Program() device.Program { return device.Program{Name: "image.cu", Text: imageText} }

//go:embed image.cu
var imageText string

// apply is the host's way.
func (m *Multiplier) apply(dst, x []float32) {
	row := product(m.shape[1:])
	clear(dst)
	across, waves := product(m.count[1:]), m.waves()
	gain := device.Slice[float32](m.gain)
	// Windows next but one to each other do not overlap. Which come first does not depend
	// on the rows, and so neither does the sum.
	for parity := range 2 {
		begin := (m.first + parity) % 2
		parallel(m.threads, (m.count[0]-begin+1)/2, func(i int) {
			t := m.free.Get().(*transform)
			defer m.free.Put(t)
			r := begin + 2*i
			for w := r * across; w < (r+1)*across; w++ {
				corner := m.corner(w, m.first, m.count)
				t.cut(x, m.shape, corner)
				t.forward()
				for k, g := range gain[w*waves : (w+1)*waves] {
					t.waves[k] *= complex(float64(g), 0)
				}
				t.inverse()
				t.paste(dst, m.shape, corner, m.lo, m.hi, row)
			}
		})
	}
}

// corner is the first point of a window, along each axis, if so many are counted and the
// first one of those has that number along axis 0.
func (m *Multiplier) corner(w, first int, count []int) []int {
	c := make([]int, len(m.shape))
	for a := len(c) - 1; a >= 0; a-- {
		c[a] = w % count[a]
		w /= count[a]
	}
	c[0] += first
	for a := range c {
		c[a] = (c[a] - 1) * (m.width[a] / 2)
	}
	return c
}

// energies are |F T_w y/most|² over the mean square of T_w inside the image, by window and
// wavenumber, of so many windows along each axis.
func (m *Multiplier) energies(y []float32, most float32, count []int) []float32 {
	n, waves := product(count), m.waves()
	out, square := make([]float32, n*waves), float64(most)*float64(most)
	const some = 16
	parallel(m.threads, (n+some-1)/some, func(c int) {
		t := m.free.Get().(*transform)
		defer m.free.Put(t)
		for w := c * some; w < min(n, (c+1)*some); w++ {
			t.cut(y, m.shape, m.corner(w, 0, count))
			inside := t.inside
			t.forward()
			for k, v := range t.waves {
				if inside > 0 {
					out[w*waves+k] = float32((real(v)*real(v) + imag(v)*imag(v)) / inside / square)
				}
			}
		}
	})
	return out
}

// transform is the Fourier transform of one window and its scratch.
type transform struct {
	dim    int
	width  []int
	taper  [][]float64  // by axis
	points []float64    // in C order
	waves  []complex128 // in C order, those of the last axis that are not negative
	inside float64      // sum of the squared taper inside the image

	outside []bool // lines along the last axis that lie outside the image

	last  *fourier.FFT
	other []*fourier.CmplxFFT // of the axes before the last
	line  []complex128
}

func (m *Multiplier) transform() *transform {
	dim := len(m.shape)
	t := &transform{dim: dim, width: m.width, last: fourier.NewFFT(m.width[dim-1])}
	for _, n := range m.width {
		values := make([]float64, n)
		for i := range values {
			values[i] = taper(i, n)
		}
		t.taper = append(t.taper, values)
	}
	for _, n := range m.width[:dim-1] {
		t.other = append(t.other, fourier.NewCmplxFFT(n))
	}
	t.points = make([]float64, product(m.width))
	t.outside = make([]bool, len(t.points)/m.width[dim-1])
	t.waves = make([]complex128, m.waves())
	t.line = make([]complex128, slices.Max(m.width))
	return t
}

// shape is that of the wavenumbers.
func (t *transform) shape() []int {
	s := slices.Clone(t.width)
	s[t.dim-1] = s[t.dim-1]/2 + 1
	return s
}

// lines calls f with the offsets of the window's lines along the last axis, in the window
// and in the image, with the taper along the other axes; first and n say which of
// their points lie in the image.
func (t *transform) lines(shape, corner []int, f func(at, image int, taper float64, first, n int)) {
	z := t.dim - 1
	first := max(0, -corner[z])
	n := min(t.width[z], shape[z]-corner[z]) - first
	if n <= 0 {
		return
	}
	for l := range len(t.points) / t.width[z] {
		taper, image, inside := 1.0, 0, true
		for a, rest, step := z-1, l, shape[z]; a >= 0; a-- {
			i := rest % t.width[a]
			rest /= t.width[a]
			taper *= t.taper[a][i]
			p := corner[a] + i
			inside = inside && p >= 0 && p < shape[a]
			image += p * step
			step *= shape[a]
		}
		if inside {
			f(l*t.width[z], image+corner[z], taper, first, n)
		}
	}
}

// cut sets points to the tapered window.
func (t *transform) cut(x []float32, shape, corner []int) {
	clear(t.points)
	t.inside = 0
	for l := range t.outside {
		t.outside[l] = true
	}
	t.lines(shape, corner, func(at, image int, taper float64, first, n int) {
		t.outside[at/t.width[t.dim-1]] = false
		for i := first; i < first+n; i++ {
			w := taper * t.taper[t.dim-1][i]
			t.points[at+i] = w * float64(x[image+i])
			t.inside += w * w
		}
	})
}

// paste adds the tapered window to rows lo to hi of an image.
func (t *transform) paste(dst []float32, shape, corner []int, lo, hi, row int) {
	t.lines(shape, corner, func(at, image int, taper float64, first, n int) {
		if x := (image - corner[t.dim-1]) / row; x < lo || x >= hi {
			return
		}
		to := dst[image+first-lo*row:]
		for i := range n {
			to[i] += float32(taper * t.taper[t.dim-1][first+i] * t.points[at+first+i])
		}
	})
}

func (t *transform) forward() {
	n := t.width[t.dim-1]
	for l := range len(t.points) / n {
		waves := t.waves[l*(n/2+1) : (l+1)*(n/2+1)]
		if t.outside[l] {
			clear(waves)
			continue
		}
		t.last.Coefficients(waves, t.points[l*n:(l+1)*n])
	}
	t.others(func(fft *fourier.CmplxFFT, line []complex128) { fft.Coefficients(line, line) })
}

func (t *transform) inverse() {
	t.others(func(fft *fourier.CmplxFFT, line []complex128) { fft.Sequence(line, line) })
	n, scale := t.width[t.dim-1], 1/float64(len(t.points))
	for l := range len(t.points) / n {
		if t.outside[l] {
			continue // no use for them
		}
		p := t.points[l*n : (l+1)*n]
		t.last.Sequence(p, t.waves[l*(n/2+1):(l+1)*(n/2+1)])
		for i := range p {
			p[i] *= scale
		}
	}
}

// others calls f with each line along the axes before the last.
func (t *transform) others(f func(fft *fourier.CmplxFFT, line []complex128)) {
	inner := t.width[t.dim-1]/2 + 1
	for a := t.dim - 2; a >= 0; a-- {
		n := t.width[a]
		line := t.line[:n]
		for at := range len(t.waves) / n {
			from := at/inner*inner*n + at%inner
			zero := true
			for i := range line {
				line[i] = t.waves[from+i*inner]
				zero = zero && line[i] == 0
			}
			if zero {
				continue
			}
			f(t.other[a], line)
			for i, v := range line {
				t.waves[from+i*inner] = v
			}
		}
		inner *= n
	}
}

// binomial smooths x along an axis by (1, 2, 1)/4, in place. The points numbered before
// and after stand beyond its ends.
func binomial(x []float32, shape []int, axis, before, after, threads int) {
	n, inner := shape[axis], product(shape[axis+1:])
	if n == 1 {
		return
	}
	parallel(threads, len(x)/(n*inner), func(o int) {
		x := x[o*n*inner : (o+1)*n*inner]
		line := make([]float32, n+2)
		for i := range inner {
			for k := range n {
				line[k+1] = x[k*inner+i]
			}
			line[0], line[n+1] = line[before+1], line[after+1]
			for k := range n {
				x[k*inner+i] = (line[k] + 2*line[k+1] + line[k+2]) / 4
			}
		}
	})
}
