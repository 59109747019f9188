package solver_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// oracle is a file of PyLops' results; see shared/oracle/README.md.
type oracle struct {
	t *testing.T
	f *h5.File
}

func openOracle(t *testing.T, name string) oracle {
	t.Helper()
	shared := os.Getenv("LSM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	path := filepath.Join(shared, "oracle", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no oracle data: %v (LSM_SHARED names the folder that holds oracle/)", err)
	}
	f, err := h5.Open(path)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return oracle{t, f}
}

func (o oracle) read(name string) []float64 {
	o.t.Helper()
	d, err := o.f.Dataset(name)
	must(o.t, err)
	v, err := h5.Read[float64](d)
	must(o.t, err)
	return v
}

func (o oracle) number(name string) float64 { return o.read(name)[0] }

// demigration is the oracle's operator without weights: for each source,
// receiver and point the two samples that surround q = (ts + tr)/dt share the
// point's value, and the traces are convolved with the wavelet. Sums are float64.
type demigration[T float32 | float64] struct {
	ts, tr  []float64 // [ni, ns], [ni, nr]
	dt      float64
	nt      int
	wavelet []float64
	zero    int
	ns, nr  int
}

func newDemigration[T float32 | float64](o oracle) (demigration[T], dist.Operator) {
	ni := len(o.read("m"))
	t := o.read("t")
	k := demigration[T]{ts: o.read("trav_srcs"), tr: o.read("trav_recs"), dt: t[1] - t[0], nt: len(t),
		wavelet: o.read("aux/wav_used"), zero: int(o.number("wavc"))}
	k.ns, k.nr = len(k.ts)/ni, len(k.tr)/ni
	typ := device.TypeOf[T]()
	return k, dist.Lift(k, dist.Local(typ, ni), dist.Local(typ, k.ns, k.nr, k.nt))
}

// visit calls f with the trace, sample and weight of every contribution.
func (k demigration[T]) visit(f func(i, trace, sample int, w float64)) {
	for s := range k.ns {
		for r := range k.nr {
			for i := range len(k.ts) / k.ns {
				q := (k.ts[i*k.ns+s] + k.tr[i*k.nr+r]) / k.dt
				if n := int(q); n >= 0 && n < k.nt-1 {
					f(i, s*k.nr+r, n, q-float64(n))
				}
			}
		}
	}
}

func (k demigration[T]) Forward(_ context.Context, dst, src device.Buf) error {
	m, d := device.Slice[T](src), device.Slice[T](dst)
	u := make([]float64, len(d))
	k.visit(func(i, trace, n int, w float64) {
		u[trace*k.nt+n] += float64(m[i]) * (1 - w)
		u[trace*k.nt+n+1] += float64(m[i]) * w
	})
	for i := range d {
		y, base, n := 0.0, i/k.nt*k.nt, i%k.nt
		for j, h := range k.wavelet {
			if p := n - j + k.zero; p >= 0 && p < k.nt {
				y += h * u[base+p]
			}
		}
		d[i] += T(y)
	}
	return nil
}

func (k demigration[T]) Adjoint(_ context.Context, dst, src device.Buf) error {
	m, d := device.Slice[T](dst), device.Slice[T](src)
	e := make([]float64, len(d))
	for i := range d {
		base, n := i/k.nt*k.nt, i%k.nt
		for j, h := range k.wavelet {
			if p := n + j - k.zero; p >= 0 && p < k.nt {
				e[i] += h * float64(d[base+p])
			}
		}
	}
	sum := make([]float64, len(m))
	k.visit(func(i, trace, n int, w float64) {
		sum[i] += e[trace*k.nt+n]*(1-w) + e[trace*k.nt+n+1]*w
	})
	for i, v := range sum {
		m[i] += T(v)
	}
	return nil
}

func real64[T float32 | float64](x []float64, l *dist.Layout) *dist.Vector {
	v := make([]T, len(x))
	for i := range v {
		v[i] = T(x[i])
	}
	return &dist.Vector{Layout: l, Buf: device.Wrap(host, v)}
}

// near asks for agreement relative to the largest of want.
func (o oracle) near(what string, got, want []float64, tol float64) {
	o.t.Helper()
	if len(got) != len(want) {
		o.t.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return
	}
	scale, worst := 0.0, 0.0
	for i, w := range want {
		scale = max(scale, math.Abs(w))
		worst = max(worst, math.Abs(got[i]-w))
	}
	if !(worst <= tol*scale) {
		o.t.Errorf("%s: off by %.2g of the maximum, tolerance %.0e", what, worst/scale, tol)
	}
}

// The tolerances below are those of the oracle's README: costs to 1e-10 of the
// first, images to 1e-8 of their maximum in float64; 1e-4 and 2e-3 in float32.
func oracleCGLS[T float32 | float64](t *testing.T, file string, costTol, xTol float64) {
	o := openOracle(t, file)
	_, op := newDemigration[T](o)
	d := real64[T](o.read("Km"), op.Range())
	for _, group := range []string{"cgls", "cgls_tol"} {
		if !o.f.Has(group + "/x") {
			continue
		}
		a, data, err := damp(op, d, o.number(group+"/damp"))
		must(t, err)
		want := o.read(group + "/cost")
		for _, name := range []string{"cgls"} {
			m, err := solver.New(name, options())
			must(t, err)
			solve(t, m, a, data, nil, len(want)-1)
			o.near(group+"/cost by "+name, m.State().History.Residual, want, costTol)
			x := make([]float64, len(o.read("m")))
			must(t, device.Download(x, m.X().Buf))
			o.near(group+"/x by "+name, x, o.read(group+"/x"), xTol)
		}
	}
}

func TestOracleCGLS(t *testing.T) {
	for _, file := range []string{"s2d_analytic.h5", "s2d_byot.h5", "s2d_offgrid_shortrecord.h5",
		"s2d_wavfilter_odd.h5", "s3d_analytic.h5", "s3d_wavfilter.h5"} {
		t.Run(file, func(t *testing.T) { oracleCGLS[float64](t, file, 1e-10, 1e-8) })
	}
	t.Run("s2d_float32.h5", func(t *testing.T) { oracleCGLS[float32](t, "s2d_float32.h5", 1e-4, 2e-3) })
}

func TestOracleCGOnNormalEquations(t *testing.T) {
	for _, file := range []string{"s2d_analytic.h5", "s3d_analytic.h5"} {
		t.Run(file, func(t *testing.T) {
			o := openOracle(t, file)
			_, op := newDemigration[float64](o)
			m := method("cg", options())
			want := o.read("cg_normal/cost")
			solve(t, m, op, real64[float64](o.read("Km"), op.Range()), nil, len(want)-1)
			o.near("cg_normal/cost", m.State().History.Gradient, want, 1e-10)
			x := make([]float64, len(o.read("m")))
			must(t, device.Download(x, m.X().Buf))
			o.near("cg_normal/x", x, o.read("cg_normal/x"), 1e-8)
		})
	}
}
