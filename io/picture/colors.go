package picture

import (
	"fmt"
	"image/color"
	"math"
)

// Colors names a colour map.
type Colors uint8

const (
	// Default is Grey for images and gathers and Sequential for models.
	Default Colors = iota
	// Grey runs from white (negative) over grey (zero) to black (positive).
	Grey
	// Diverging runs from blue (negative) over white (zero) to red (positive).
	Diverging
	// Sequential runs from dark blue (low) over green to yellow (high).
	Sequential
)

var colorNames = [...]string{"default", "grey", "diverging", "sequential"}

// String is the name that ParseColors reads.
func (c Colors) String() string {
	if int(c) < len(colorNames) {
		return colorNames[c]
	}
	return fmt.Sprintf("Colors(%d)", uint8(c))
}

// ParseColors reads the name of a colour map: default, grey, diverging or
// sequential.
func ParseColors(name string) (Colors, error) {
	for i, n := range colorNames {
		if n == name {
			return Colors(i), nil
		}
	}
	return 0, fmt.Errorf("picture: colours %q are unknown, want one of default, grey, diverging, sequential", name)
}

// lutSize is the number of entries of a colour table: finer than the 8 bits of
// a channel, so that rounding to the table is never visible.
const lutSize = 1024

// lut is a colour map as a table over [0, 1].
type lut [lutSize]color.RGBA

// at returns the colour of t, clamped to [0, 1].
func (l *lut) at(t float64) color.RGBA {
	return l[int(math.Max(0, math.Min(1, t))*(lutSize-1)+0.5)]
}

// table builds the colour table. All maps are polylines in CIELAB: equal steps
// in the data are equal steps to the eye within each piece.
func (c Colors) table() *lut {
	var knots []lab
	switch c {
	case Diverging:
		// Both ends share one lightness, so that neither sign looks stronger.
		knots = []lab{{38, 14, -58}, {97, 0, 0}, {38, 60, 36}}
	case Sequential:
		// Nine colours of viridis (public domain, S. van der Walt and N. Smith).
		for _, rgb := range [][3]float64{
			{68, 1, 84}, {71, 45, 123}, {59, 82, 139}, {44, 114, 142}, {33, 144, 140},
			{39, 173, 129}, {93, 200, 99}, {170, 220, 50}, {253, 231, 37},
		} {
			knots = append(knots, toLab(rgb))
		}
	default:
		knots = []lab{{100, 0, 0}, {0, 0, 0}}
	}
	var l lut
	for i := range l {
		t := float64(i) / (lutSize - 1) * float64(len(knots)-1)
		k := min(int(t), len(knots)-2)
		w := t - float64(k)
		a, b := knots[k], knots[k+1]
		l[i] = lab{a[0] + w*(b[0]-a[0]), a[1] + w*(b[1]-a[1]), a[2] + w*(b[2]-a[2])}.rgba()
	}
	return &l
}

// lab is a colour in CIELAB (L*, a*, b*) under the white point D65.
type lab [3]float64

// White point D65 of sRGB, and the constants of the CIELAB definition
// (CIE 15:2004).
const (
	whiteX, whiteY, whiteZ = 0.95047, 1.0, 1.08883
	labEps                 = 216.0 / 24389
	labKappa               = 24389.0 / 27
)

// rgba converts to sRGB (IEC 61966-2-1), clamping to its gamut.
func (c lab) rgba() color.RGBA {
	fy := (c[0] + 16) / 116
	inv := func(f float64) float64 {
		if f*f*f > labEps {
			return f * f * f
		}
		return (116*f - 16) / labKappa
	}
	x, y, z := whiteX*inv(fy+c[1]/500), whiteY*inv(fy), whiteZ*inv(fy-c[2]/200)
	gamma := func(u float64) uint8 {
		if u <= 0.0031308 {
			u *= 12.92
		} else {
			u = 1.055*math.Pow(u, 1/2.4) - 0.055
		}
		return uint8(math.Round(255 * math.Max(0, math.Min(1, u))))
	}
	return color.RGBA{
		R: gamma(3.2404542*x - 1.5371385*y - 0.4985314*z),
		G: gamma(-0.9692660*x + 1.8760108*y + 0.0415560*z),
		B: gamma(0.0556434*x - 0.2040259*y + 1.0572252*z),
		A: 255,
	}
}

// toLab converts sRGB values in [0, 255].
func toLab(rgb [3]float64) lab {
	var u [3]float64
	for i, v := range rgb {
		v /= 255
		if v <= 0.04045 {
			u[i] = v / 12.92
		} else {
			u[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	f := func(t float64) float64 {
		if t > labEps {
			return math.Cbrt(t)
		}
		return (labKappa*t + 16) / 116
	}
	fx := f((0.4124564*u[0] + 0.3575761*u[1] + 0.1804375*u[2]) / whiteX)
	fy := f((0.2126729*u[0] + 0.7151522*u[1] + 0.0721750*u[2]) / whiteY)
	fz := f((0.0193339*u[0] + 0.1191920*u[1] + 0.9503041*u[2]) / whiteZ)
	return lab{116*fy - 16, 500 * (fx - fy), 200 * (fy - fz)}
}
