package kirchhoff

import (
	"fmt"
	"math"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// Window is a weight between 0 and 1 of an angle of 0 to 180 degrees: 0 below Rise0,
// rising to 1 at Rise1, falling from Fall0 to 0 at Fall1, each by half a period of a
// cosine. Rise1 = 0 stands for no rise, Fall0 = 180 for no fall. The zero Window is 1
// everywhere.
//
// Windows that rise where another falls add up to 1, so with centres c₀ < c₁ < … the
// windows {c[i−1], c[i], c[i], c[i+1]}, the first with no rise and the last with no
// fall, divide all angles into classes.
type Window struct{ Rise0, Rise1, Fall0, Fall1 float64 } // degrees

// none says that w is 1 everywhere.
func (w Window) none() bool { return w.Rise1 <= 0 && (w.Fall0 >= 180 || w == Window{}) }

func (w Window) valid() bool {
	return w == Window{} || 0 <= w.Rise0 && w.Rise0 <= w.Rise1 && w.Rise1 <= w.Fall0 &&
		w.Fall0 <= w.Fall1 && w.Fall1 > 0 && w.Fall1 <= 180
}

// kernel returns w for angles in radians, rounded as all engines use it.
func (w Window) kernel() simd.Window {
	const radian = math.Pi / 180
	per := func(lo, hi float64) float32 { return float32(1 / max(radian*(hi-lo), 1e-6)) }
	var k simd.Window
	if w.Rise1 > 0 {
		k.Rise1, k.Rise = float32(radian*w.Rise1), per(w.Rise0, w.Rise1)
	}
	if w != (Window{}) && w.Fall0 < 180 {
		k.Fall0, k.Fall = float32(radian*w.Fall0), per(w.Fall0, w.Fall1)
	}
	return k
}

// Fade is a Window as kernels take it, a weight of an angle x in radians: ½ + ½ cos πu, u
// the larger of (Rise1 − x) Rise and (x − Fall0) Fall, but within [0, 1].
type Fade struct{ Rise1, Rise, Fall0, Fall float32 }

// Fade returns w as the kernels of all engines take it.
func (w Window) Fade() Fade { return Fade(w.kernel()) }

// Dip is the window of DipLimit.
func (p *Problem) Dip() Window {
	if d := p.DipLimit; d != nil {
		return Window{Fall0: d[0], Fall1: d[1]}
	}
	return Window{}
}

// at is the weight of an angle of x radians.
func at(w simd.Window, x float64) float64 {
	u := max((float64(w.Rise1)-x)*float64(w.Rise), (x-float64(w.Fall0))*float64(w.Fall))
	return 0.5 + 0.5*math.Cos(math.Pi*min(1, max(0, u)))
}

// limited reports whether weights depend on the dip or the opening angle.
func (p *Problem) limited() bool { return p.DipLimit != nil || !p.Opening.none() }

func (p *Problem) checkLimits() error {
	if d := p.DipLimit; d != nil && (len(d) != 2 || !(d[0] >= 0) || !(d[1] > 0) || d[0] > d[1] || d[1] > 180) {
		return fmt.Errorf("kirchhoff: dip limit is %v degrees, must be start and cut with 0 <= start <= cut <= 180", d)
	}
	if !p.Opening.valid() {
		return fmt.Errorf("kirchhoff: opening angles %v degrees, must ascend from 0 to 180", p.Opening)
	}
	return nil
}

// angles2 returns the reflector's dip and the opening angle of two rays in 2-D that
// make angles a and b with the vertical, all in radians.
func angles2(a, b float64) (dip, opening float64) {
	dip, opening = math.Abs(a+b)/2, math.Abs(a-b)
	if opening > math.Pi { // the other way round, and their sum points the other way
		return math.Pi - dip, 2*math.Pi - opening
	}
	return dip, opening
}

// angles3 does so of two slowness vectors, of one length or not.
func angles3(a, b [3]float64) (dip, opening float64) {
	x, y, z := a[1]*b[2]-a[2]*b[1], a[2]*b[0]-a[0]*b[2], a[0]*b[1]-a[1]*b[0]
	dip = math.Atan2(math.Hypot(a[0]+b[0], a[1]+b[1]), a[2]+b[2])
	return dip, math.Atan2(math.Sqrt(x*x+y*y+z*z), a[0]*b[0]+a[1]*b[1]+a[2]*b[2])
}
