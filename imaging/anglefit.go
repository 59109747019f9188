package imaging

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// AngleModel is how amplitudes are taken to change with the angle of reflection θ, and their errors with the class. It has
// two terms, A + B sin²θ, or three, A + B sin²θ + C (tan²θ − sin²θ) (Shuey 1985, Geophysics 50, equation 4). The errors of
// classes n apart correlate by Alikeⁿ, their variances are of one unknown factor over the weights.
type AngleModel struct {
	Terms int     // 2 or 3
	Alike float64 // of neighbouring classes, which share traces; from 0 to below 1
}

// AngleFit is a fit of an AngleModel to amplitudes. The slices hold A, B and, of three terms, C.
type AngleFit struct {
	Value    []float64
	Error    []float64 // standard errors, from the misfit
	Interval []float64 // half the width of the intervals that hold the truth with 95 %, by Student's t
	Misfit   float64   // root of the weighted mean square of the residuals
	Angles   int       // that were fitted
}

// Tells reports whether the fit tells a term: whether its 95 % interval reaches, to either side, no further than its own size or |A|.
func (f *AngleFit) Tells(term int) bool {
	return f.Interval[term] <= max(math.Abs(f.Value[0]), math.Abs(f.Value[term]))
}

// Resolved reports whether the fit tells both A and B, of three classes or more beyond the terms: of fewer, chance makes too many
// misfits small.
func (f *AngleFit) Resolved() bool { return f.Tells(0) && f.Tells(1) && f.Angles >= len(f.Value)+3 }

// term is the factor of A, B or C at an angle in degrees.
func term(number int, angle float64) float64 {
	sine, tangent := math.Sin(angle*math.Pi/180), math.Tan(angle*math.Pi/180)
	return [...]float64{1, sine * sine, tangent*tangent - sine*sine}[number]
}

// At is the fitted amplitude at an angle in degrees.
func (f *AngleFit) At(angle float64) (sum float64) {
	for k, v := range f.Value {
		sum += v * term(k, angle)
	}
	return sum
}

// Fit fits the amplitudes of a reflector at angles in degrees by weighted least squares. The estimates
// do not depend on Alike. Errors with the correlations Σ leave the sum of squares of tr MΣ independent
// ones, where M removes the fit. Its degrees of freedom are (tr MΣ)² / tr MΣMΣ (Satterthwaite 1946).
// The size of the waveform scales all amplitudes and has an error of its own, to first order the mean
// of Rest with the weights of the singular vector. It is counted with its correlation to the other
// errors. Classes without a weight only part others. Fewer with a weight than the terms and one more,
// or angles that do not tell the terms apart, are an error.
func (m AngleModel) Fit(angles []float64, r Reflector, weights []float64) (*AngleFit, error) {
	d, err := m.design(angles, weights)
	if err != nil {
		return nil, err
	}
	y, alike := d.rows(r.Amplitudes, weights), d.correlations(m.Alike)
	rest := mat.NewVecDense(len(d.at), nil)
	if r.Rest != nil {
		rest = d.rows(r.Rest, weights)
	}
	var made, spread, once, twice mat.Dense
	made.Mul(d.inverse, d.x.T()) // from amplitudes to terms
	spread.Mul(&made, alike)
	once.Mul(d.taken, alike)
	twice.Mul(&once, &once)
	var value, left, scaling mat.VecDense
	value.MulVec(&made, y)
	left.MulVec(d.taken, y)
	scaling.ScaleVec(1/mat.Dot(y, y), y) // from Rest to the relative error of the waveform
	variance, beside := mat.Dot(&left, &left)/once.Trace(), mat.Dot(rest, rest)/float64(len(d.at)-1)
	common := math.Sqrt(variance * beside)
	common = min(max(mat.Dot(&left, rest)/once.Trace(), -common), common)
	student := distuv.StudentsT{Sigma: 1, Nu: once.Trace() * once.Trace() / twice.Trace()}.Quantile(0.975)
	f := &AngleFit{Angles: len(d.at), Misfit: mat.Norm(&left, 2) / math.Sqrt(floats.Sum(weights))}
	for k, scale := range d.scale {
		v := value.AtVec(k)
		square := variance*mat.Dot(spread.RowView(k), made.RowView(k)) +
			2*common*v*mat.Dot(spread.RowView(k), &scaling) + beside*v*v*mat.Inner(&scaling, alike, &scaling)
		f.Value = append(f.Value, v/scale)
		f.Error = append(f.Error, math.Sqrt(max(0, square))/scale)
		f.Interval = append(f.Interval, student*f.Error[k])
	}
	return f, nil
}

// design is the part of a fit that does not depend on the amplitudes. Rows are multiplied by the roots
// of the weights.
type design struct {
	at      []int      // the classes with a weight
	x       *mat.Dense // [classes, terms], the factors of the terms over scale
	scale   []float64  // the largest factor of each term
	inverse *mat.Dense // of xᵀ x
	taken   *mat.Dense // takes off what the terms explain: 1 − x inverse xᵀ
}

func (m AngleModel) design(angles, weights []float64) (*design, error) {
	d := &design{scale: make([]float64, m.Terms)}
	for i, w := range weights {
		if w > 0 {
			d.at = append(d.at, i)
			for k := range d.scale {
				d.scale[k] = max(d.scale[k], term(k, angles[i]))
			}
		}
	}
	n := len(d.at)
	if n <= m.Terms {
		return nil, fmt.Errorf("imaging: %d of the angles have a weight, a fit of %d terms needs %d", n, m.Terms, m.Terms+1)
	}
	d.x = mat.NewDense(n, m.Terms, nil)
	d.x.Apply(func(row, k int, _ float64) float64 {
		return math.Sqrt(weights[d.at[row]]) * term(k, angles[d.at[row]]) / d.scale[k]
	}, d.x)
	d.inverse, d.taken = new(mat.Dense), new(mat.Dense)
	d.inverse.Mul(d.x.T(), d.x)
	if err := d.inverse.Inverse(d.inverse); err != nil {
		return nil, fmt.Errorf("imaging: the angles of %d classes do not tell %d terms apart: %w", n, m.Terms, err)
	}
	d.taken.Product(d.x, d.inverse, d.x.T())
	d.taken.Apply(func(i, j int, v float64) float64 {
		if i == j {
			return 1 - v
		}
		return -v
	}, d.taken)
	return d, nil
}

// rows are the amplitudes of the classes with a weight.
func (d *design) rows(amplitudes, weights []float64) *mat.VecDense {
	y := mat.NewVecDense(len(d.at), nil)
	for row, i := range d.at {
		y.SetVec(row, math.Sqrt(weights[i])*amplitudes[i])
	}
	return y
}

// correlations returns the correlations of the errors of the classes.
func (d *design) correlations(alike float64) *mat.Dense {
	out := mat.NewDense(len(d.at), len(d.at), nil)
	out.Apply(func(i, j int, _ float64) float64 { return math.Pow(alike, math.Abs(float64(d.at[i]-d.at[j]))) }, out)
	return out
}

// Likeness finds how alike the errors of neighbouring classes are, from what is left of many fits, each with errors of a size of its own.
type Likeness struct {
	terms      int
	likelihood [len(alikes)]float64 // logarithm, of each of alikes
}

// alikes are the correlations that Likeness compares.
var alikes = [...]float64{0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9}

// NewLikeness is for fits of terms terms.
func NewLikeness(terms int) *Likeness { return &Likeness{terms: terms} }

// Add takes amplitudes as Fit does, and nothing of those that it would refuse or that a model fits to
// rounding. Only the part that no value of the terms changes counts, by its restricted likelihood
// (Patterson and Thompson 1971).
func (l *Likeness) Add(angles, amplitudes, weights []float64) {
	d, err := AngleModel{Terms: l.terms}.design(angles, weights)
	if err != nil {
		return
	}
	y, n := d.rows(amplitudes, weights), len(d.at)
	var qr mat.QR
	var q, beside, correlation mat.Dense
	var left, solved mat.VecDense
	qr.Factorize(d.x)
	qr.QTo(&q)
	free := q.Slice(0, n, l.terms, n) // the directions beside the terms
	if left.MulVec(free.T(), y); !(mat.Norm(&left, 2) > 1e-10*mat.Norm(y, 2)) {
		return
	}
	var likelihood [len(alikes)]float64
	for k, alike := range alikes {
		beside.Mul(free.T(), d.correlations(alike))
		correlation.Mul(&beside, free)
		var factor mat.Cholesky
		if !factor.Factorize(mat.NewSymDense(n-l.terms, correlation.RawMatrix().Data)) || factor.SolveVecTo(&solved, &left) != nil {
			return
		}
		likelihood[k] = -(factor.LogDet() + float64(n-l.terms)*math.Log(mat.Dot(&left, &solved))) / 2
	}
	floats.Add(l.likelihood[:], likelihood[:])
}

// Model is the one of the likeliest correlation, or of none if nothing was added.
func (l *Likeness) Model() AngleModel {
	return AngleModel{l.terms, alikes[floats.MaxIdx(l.likelihood[:])]}
}
