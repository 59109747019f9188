package picture

import (
	"fmt"
	"math"
)

// Reflector is how a reflector's amplitude changes with the angle of reflection.
type Reflector struct {
	Name               string
	Angles, Amplitudes []float64 // degrees; as many of each
	Curve              func(angle float64) float64
}

// AmplitudeVersusAngle draws the amplitudes of up to five reflectors as dots, and the curve of
// each, which is of the formula, dashed. Reflectors without values, or with some that are not finite, are an error.
func AmplitudeVersusAngle(opt Options, formula string, reflectors ...Reflector) (*Figure, error) {
	var lines []Line
	for _, r := range reflectors {
		curve := Line{dashed: true}
		for i, angle := range r.Angles {
			if math.IsNaN(angle-angle) || math.IsNaN(r.Amplitudes[i]-r.Amplitudes[i]) {
				return nil, fmt.Errorf("picture: reflector %s is %g at %g degrees, must be finite", r.Name, r.Amplitudes[i], angle)
			}
			next := r.Angles[min(i+1, len(r.Angles)-1)]
			const steps = 8
			for k := range steps {
				at := angle + (next-angle)*float64(k)/steps
				curve.X = append(curve.X, at)
				curve.Y = append(curve.Y, r.Curve(at))
			}
		}
		lines = append(lines, Line{Name: r.Name, X: r.Angles, Y: r.Amplitudes, dots: true}, curve)
	}
	f, err := chart(axis{label: "reflection angle θ (degrees)"}, axis{label: "amplitude"}, opt, lines)
	if err != nil {
		return nil, err
	}
	p := f.rows[0][0]
	key := p.key[1:2] // one curve stands for all
	key[0].name = formula
	for i := len(p.key) - 2; i >= 0; i -= 2 {
		key = append([]entry{p.key[i]}, key...)
	}
	p.key = key
	side := 0.03 * (p.x.to - p.x.from)
	p.x.from, p.x.to = p.x.from-side, p.x.to+side
	p.y.from += 0.08 * float64(len(key)) * (p.y.from - p.y.to) // room for the key
	return f, nil
}
