package gate

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

// medium has the velocity v0 + k z, in m/s.
type medium struct{ v0, k float64 }

func (m medium) at(z float64) float64 { return m.v0 + m.k*z }

// leg is the time of a ray from a to b, and its geometrical spreading: 1/√D in 2-D and 1/D in 3-D where the
// velocity is constant. In a gradient rays are circles (Slotnick 1959, Lessons in seismic computing, SEG), which
// are the geodesics of hyperbolic space; those of a solid angle dΩ have spread over v sinh(kT)/k along each axis
// across them (Červený 2001, Seismic ray theory, section 3.7.2, has the times).
func (m medium) leg(a, b []float64) (t, spreading float64) {
	d, z := distance(a, b), len(a)-1
	t, spreading = d/m.v0, 1/d
	if m.k != 0 {
		va, vb := m.at(a[z]), m.at(b[z])
		y := m.k * m.k * d * d / (2 * va * vb)
		sinh := math.Sqrt(y * (2 + y))
		t, spreading = math.Log1p(y+sinh)/m.k, m.k/(math.Sqrt(va*vb)*sinh)
		if len(a) == 2 {
			return t, math.Sqrt(m.k / (va * sinh))
		}
	}
	if len(a) == 2 {
		return t, math.Sqrt(spreading)
	}
	return t, spreading
}

// slowness is the gradient of the time of a ray from a, at b.
func (m medium) slowness(a, b []float64) []float64 {
	p, x := make([]float64, len(b)), append([]float64(nil), b...)
	for i := range p {
		x[i] = b[i] + 0.1
		after, _ := m.leg(a, x)
		x[i] = b[i] - 0.1
		before, _ := m.leg(a, x)
		x[i], p[i] = b[i], (after-before)/0.2
	}
	return p
}

// mirror is a plane reflector below the origin.
type mirror struct {
	depth float64   // m, at the origin
	slope []float64 // ∂z/∂x along each horizontal axis
}

// at is the reflector's depth.
func (r mirror) at(x []float64) float64 {
	z := r.depth
	for i, s := range r.slope {
		z += s * x[i]
	}
	return z
}

// steepness is the area of the reflector over the horizontal area below which it lies.
func (r mirror) steepness() float64 {
	sum := 1.0
	for _, s := range r.slope {
		sum += s * s
	}
	return math.Sqrt(sum)
}

// reflected is the time of the reflection, its geometrical spreading and the sine of the angle of incidence. In a
// constant velocity it comes from the source's mirror image. In a gradient the mirror must be flat and source and
// receiver at z = 0: a ray of slowness p along x comes up at X(p) = 2 (√(1 − p²v0²) − √(1 − p²v1²))/(k p),
// v1 the velocity at the mirror, and a tube of rays has the section cos α dX (X dφ in 3-D).
func (r mirror) reflected(m medium, source, receiver []float64) (t, spreading, sine float64) {
	z := len(source) - 1
	if m.k == 0 {
		image := append([]float64(nil), source...)
		far := 2 * (r.at(source) - source[z]) / (r.steepness() * r.steepness())
		for i, s := range r.slope {
			image[i] -= far * s
		}
		image[z] += far
		l := distance(image, receiver)
		// Height of the source over the plane, and of the receiver: the image's ray falls by their sum.
		fall := (r.at(source) - source[z] + r.at(receiver) - receiver[z]) / r.steepness()
		t, spreading = m.leg(image, receiver)
		return t, spreading, math.Sqrt(max(0, 1-fall*fall/(l*l)))
	}
	x, surface := distance(source, receiver), m.v0/m.k
	centre := (x*x/4 + math.Pow(r.depth+surface, 2) - surface*surface) / x
	p, v1 := 1/(m.k*math.Hypot(centre, surface)), m.at(r.depth)
	up, down := math.Sqrt(1-p*p*m.v0*m.v0), math.Sqrt(1-p*p*v1*v1)
	slope := -x/p + 2/m.k*(v1*v1/down-m.v0*m.v0/up) // dX/dp
	half := make([]float64, len(source))
	half[0], half[z] = x/2, r.depth
	t, _ = m.leg(make([]float64, len(source)), half)
	square := m.v0 / (up * up * slope)
	if z == 2 {
		square *= p * m.v0 / x
	}
	return 2 * t, math.Sqrt(square), p * v1
}

func distance(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return math.Sqrt(sum)
}

// ricker is the spectrum, in s, of a Ricker wavelet with the peak frequency f0 and the largest sample 1 at time
// zero (Ricker 1953, The form and laws of propagation of seismic wavelets, Geophysics 18).
func ricker(f, f0 float64) float64 {
	return 2 / math.Sqrt(math.Pi) * f * f / (f0 * f0 * f0) * math.Exp(-f*f/(f0*f0))
}

// derived is (iω)^power.
func derived(f, power float64) complex128 {
	return cmplx.Rect(math.Pow(2*math.Pi*f, power), power*math.Pi/2)
}

// line is what a wave of a line source at the distance d is of the wave at 1 m, had its phase there the far
// field's: √(πω/2v) exp(−iπ/4) H₀⁽²⁾(ωd/v), which tends to exp(−iωd/v)/√d (Morse and Feshbach 1953, Methods of
// theoretical physics, section 7.3).
func line(f, d, v float64) complex128 {
	w := 2 * math.Pi * f
	return complex(math.J0(w*d/v), -math.Y0(w*d/v)) * cmplx.Rect(math.Sqrt(math.Pi*w/(2*v)), -math.Pi/4)
}

// pulse samples the real function of time whose spectrum at f > 0 is given, at dt from the time start.
func pulse(n int, dt, start float64, spectrum func(f float64) complex128) []float64 {
	const long = 2048
	c := make([]complex128, long/2+1)
	df := 1 / (long * dt)
	for i := 1; i < long/2; i++ {
		f := float64(i) * df
		c[i] = spectrum(f) * complex(df, 0) * cmplx.Rect(1, 2*math.Pi*f*start)
	}
	return fourier.NewFFT(long).Sequence(nil, c)[:n]
}

// likeness is how a pulse follows from the one that it should be.
type likeness struct {
	gain  float64 // negative: reversed polarity
	phase float64 // degrees, from −90 to 90, beside polarity
	late  float64 // in samples
}

// compare finds the shift at which the correlation of the two analytic signals is largest in magnitude. Its phase
// there is the phase, its magnitude over the energy of want the gain.
func compare(got, want []float64) likeness {
	n := 1
	for n < 4*len(got) {
		n *= 2
	}
	fft := fourier.NewFFT(n)
	spectrum := func(x []float64) []complex128 {
		return fft.Coefficients(nil, append(append(make([]float64, 0, n), x...), make([]float64, n-len(x))...))
	}
	cross, energy := spectrum(got), 0.0
	for i, w := range spectrum(want) {
		cross[i] *= cmplx.Conj(w)
		if i > 0 {
			energy += real(w * cmplx.Conj(w))
		}
	}
	at := func(shift float64) (sum complex128) {
		for i, c := range cross[1:] {
			sum += c * cmplx.Rect(1, 2*math.Pi*float64(i+1)*shift/float64(n))
		}
		return sum
	}
	best, step := 0.0, 1.0
	for i := -len(got) / 2; i <= len(got)/2; i++ {
		if cmplx.Abs(at(float64(i))) > cmplx.Abs(at(best)) {
			best = float64(i)
		}
	}
	for ; step > 1e-4; step /= 2 {
		for _, s := range []float64{best - step, best + step} {
			if cmplx.Abs(at(s)) > cmplx.Abs(at(best)) {
				best = s
			}
		}
	}
	sum := at(best)
	l := likeness{cmplx.Abs(sum) / energy, cmplx.Phase(sum) * 180 / math.Pi, best}
	if math.Abs(l.phase) > 90 {
		l.gain, l.phase = -l.gain, math.Remainder(l.phase, 180)
	}
	return l
}
