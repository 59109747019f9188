package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"
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

var colorNames = []string{"default", "grey", "diverging", "sequential"}

// ParseColors reads the name of a colour map: default, grey, diverging or
// sequential.
func ParseColors(name string) (Colors, error) {
	if i := slices.Index(colorNames, name); i >= 0 {
		return Colors(i), nil
	}
	return 0, fmt.Errorf("picture: colours %q are unknown, want one of %s", name, strings.Join(colorNames, ", "))
}

// String is the name of the map.
func (c Colors) String() string { return colorNames[c] }

// Table is the map as n colours at equal steps, red, green and blue each.
func (c Colors) Table(n int) [][3]uint8 {
	t := make([][3]uint8, n)
	for i := range t {
		at := c.at(float64(i) / float64(max(1, n-1)))
		t[i] = [3]uint8{at.R, at.G, at.B}
	}
	return t
}

// knots are the colours of a map at equal steps from its lower end to its upper one.
// Grey and Diverging have equal steps of lightness, L* of CIELAB; both ends of Diverging
// have the same, so that neither sign looks stronger. Sequential is viridis (public
// domain, S. van der Walt and N. Smith).
var knots = [...][]uint32{
	Grey: {
		0xffffff, 0xf6f6f6, 0xededed, 0xe4e4e4, 0xdbdbdb, 0xd2d2d2, 0xcacaca, 0xc1c1c1, 0xb9b9b9,
		0xb0b0b0, 0xa8a8a8, 0x9f9f9f, 0x979797, 0x8f8f8f, 0x878787, 0x7f7f7f, 0x777777, 0x6f6f6f,
		0x676767, 0x606060, 0x585858, 0x515151, 0x4a4a4a, 0x424242, 0x3b3b3b, 0x343434, 0x2e2e2e,
		0x272727, 0x212121, 0x1a1a1a, 0x141414, 0x0b0b0b, 0x000000,
	},
	Diverging: {
		0x0058b8, 0x346ac1, 0x5a7cc9, 0x788fd1, 0x93a3d8, 0xadb7e0, 0xc6cce8, 0xdee1ef, 0xf6f6f6,
		0xf4dcd9, 0xefc2bc, 0xe9a9a1, 0xe18f86, 0xd7756b, 0xcd5a52, 0xc03c3a, 0xb31023,
	},
	Sequential: {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21908c, 0x27ad81, 0x5dc863, 0xaadc32, 0xfde725},
}

// at is the colour of t in [0, 1], linear between the knots; beyond it is that of the end.
func (c Colors) at(t float64) color.RGBA {
	k := knots[cmp.Or(c, Grey)]
	t = max(0, min(1, t)) * float64(len(k)-1)
	from := min(int(t), len(k)-2)
	w := t - float64(from)
	mix := func(shift int) uint8 {
		a, b := float64(k[from]>>shift&0xff), float64(k[from+1]>>shift&0xff)
		return uint8(a + w*(b-a) + 0.5)
	}
	return color.RGBA{R: mix(16), G: mix(8), B: mix(0), A: 255}
}
