package gpu

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/gputest/ptxtest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// inner is a target of about the middle half of p's image along each axis.
func inner(p *kirchhoff.Problem) (t kirchhoff.Target) {
	for _, n := range p.Grid.Shape {
		t.Lo, t.Hi = append(t.Lo, n/5), append(t.Hi, n-n/4)
	}
	return t
}

// wholeImage is all of p's image.
func wholeImage(p *kirchhoff.Problem) kirchhoff.Target {
	return kirchhoff.Target{Lo: make([]int, p.Grid.Dim()), Hi: p.Grid.Shape}
}

// hessian is that of a card, with falls that are kept there or not.
func hessian(t testing.TB, d *card.Device, p *kirchhoff.Problem, of kirchhoff.Target, keep bool) *Hessian {
	t.Helper()
	h, err := NewHessian(t.Context(), d, p, of, map[bool]int64{true: 1 << 30}[keep])
	must(t, err)
	t.Cleanup(h.Close)
	return h
}

// adder is a Hessian of any engine.
type adder interface {
	Len() int
	Points() []int32
	Add(ctx context.Context, dst []float64, rows, cols [2]int, w2 []float32) error
}

// elements are those of a block.
func elements(t testing.TB, h adder, rows, cols [2]int, w2 []float32) []float64 {
	t.Helper()
	out := make([]float64, (rows[1]-rows[0])*(cols[1]-cols[0]))
	must(t, h.Add(t.Context(), out, rows, cols, w2))
	return out
}

// every is all of H.
func every(t testing.TB, h adder, w2 []float32) []float64 {
	t.Helper()
	return elements(t, h, [2]int{0, h.Len()}, [2]int{0, h.Len()}, w2)
}

// apart is the largest difference relative to the largest value of want.
func apart(got, want []float64) float64 {
	scale, worst := 0.0, 0.0
	for i, v := range want {
		d := math.Abs(got[i] - v)
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		scale, worst = max(scale, math.Abs(v)), max(worst, d)
	}
	if scale == 0 {
		return worst
	}
	return worst / scale
}

// weighted are no weights, those of traces and those of samples, some zero.
func weighted(p *kirchhoff.Problem) map[string][]float32 {
	w2 := squares(p, false)
	return map[string][]float32{"none": nil, "traces": w2[:p.NumTraces()], "samples": w2}
}

// byOperator is AᵀW²A v at the points of a target by the reference, v being zero elsewhere.
func byOperator(t testing.TB, p *kirchhoff.Problem, points []int32, v []float64, w2 []float32) []float64 {
	t.Helper()
	ref, err := kirchhoff.NewReference(t.Context(), p, kirchhoff.Work{})
	must(t, err)
	h := device.NewHost(1)
	image, back, data := make([]float64, p.Grid.Len()), make([]float64, p.Grid.Len()), make([]float64, p.NumTraces()*p.NT)
	for n, i := range points {
		image[i] = v[n]
	}
	must(t, ref.Kernels()[0].Forward(t.Context(), device.Wrap(h, data), device.Wrap(h, image)))
	for i := range data {
		switch len(w2) {
		case 0:
		case len(data):
			data[i] *= float64(w2[i])
		default:
			data[i] *= float64(w2[i/p.NT])
		}
	}
	must(t, ref.Kernels()[0].Adjoint(t.Context(), device.Wrap(h, back), device.Wrap(h, data)))
	out := make([]float64, len(points))
	for n, i := range points {
		out[n] = back[i]
	}
	return out
}

// TestHessian: H v is AᵀW²A v, elements are those of the cpu engine, and H is symmetric to the bit,
// whatever the operator is made of.
func TestHessian(t *testing.T) {
	d := open(t, driver.CUDA)
	some := 0
	for i, c := range trials() {
		p := c.problem(t, uint64(i))
		if i%5 != 1 || p.Grid.Len() > 400 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			of := []kirchhoff.Target{inner(p), wholeImage(p)}[i/5%2]
			h := hessian(t, d, p, of, i%2 == 1)
			cpu, err := kirchhoff.NewHessian(t.Context(), "cpu", p, of)
			must(t, err)
			n := h.Len()
			v := make([]float64, n)
			for k, x := range noise(uint64(i), n) {
				v[k] = float64(x)
			}
			for name, w2 := range weighted(p) {
				all := every(t, h, w2)
				product := make([]float64, n)
				for x := range n {
					for y := range n {
						product[x] += all[x*n+y] * v[y]
						if all[x*n+y] != all[y*n+x] {
							t.Fatalf("weights of %s: elements (%d, %d) and (%d, %d) differ", name, x, y, y, x)
						}
					}
				}
				if far := apart(all, every(t, cpu, w2)); !(far <= 1e-6) {
					t.Errorf("weights of %s: elements differ from those of the cpu engine by %.2e", name, far)
				}
				want := byOperator(t, p, h.Points(), v, w2)
				if far := apart(product, want); !(far <= 1e-6) {
					t.Errorf("weights of %s: H v differs from the operator's by %.2e", name, far)
				}
				if slices.Max(want) > 0 {
					some++
				}
			}
		})
	}
	if some < 30 {
		t.Errorf("only %d products are not zero", some)
	}
}

// TestHessianBlocks: an element has the same bits in any block, with falls that are kept and with those
// that are found again, of more traces than are found at once. On HIP as well.
func TestHessianBlocks(t *testing.T) {
	d := open(t, driver.HIP)
	for _, c := range []struct {
		trial
		sources int
		weights string
	}{{trial{dim: 2, weights: 1, antialias: true}, 17, "none"}, {trial{dim: 2, weights: 1, antialias: true}, 2, "samples"}, {trial{dim: 3}, 3, "traces"}} {
		p := several(t, c.trial, c.sources)
		kept, found := hessian(t, d, p, inner(p), true), hessian(t, d, p, inner(p), false)
		found.most = 2 + c.sources // fewer than pairs and parts
		w2 := weighted(p)[c.weights]
		n, want := kept.Len(), every(t, kept, w2)
		if slices.Max(want) == 0 {
			t.Fatalf("%v: the Hessian is zero", c)
		}
		for i, b := range [][4]int{{0, n, 0, n}, {n / 2, n, 0, n / 3}, {n / 4, n / 2, n / 3, n - 1}, {2, 2, 0, n}} {
			rows, cols := [2]int{b[0], b[1]}, [2]int{b[2], b[3]}
			for i, v := range elements(t, []*Hessian{found, kept}[i%2], rows, cols, w2) {
				x, y := b[0]+i/(b[3]-b[2]), b[2]+i%(b[3]-b[2])
				if v != want[x*n+y] {
					t.Fatalf("%v: rows %v, columns %v: element (%d, %d) is %g, in the whole %g", c, rows, cols, x, y, v, want[x*n+y])
				}
			}
		}
	}
}

// several is a trial's problem with so many sources and 33 receivers. With many it has few tiles.
func several(t testing.TB, c trial, sources int) *kirchhoff.Problem {
	shape := []int{14, 11}
	if c.dim == 3 {
		shape = []int{8, 5, 7}
	} else if sources > 9 {
		shape = []int{12, 9}
	}
	p := spread(t, shape, 14, sources, 33, 60, c.weights > 0)
	if c.antialias {
		p.Antialias, p.Slowest = []float64{40}, 2000
	}
	return p
}

// TestHessianOfWideTiles: tiles whose points fall on more samples than a table has, in several bands.
func TestHessianOfWideTiles(t *testing.T) {
	d := open(t, driver.CUDA)
	for _, shape := range [][]int{{20, 17}, {6, 5, 9}} {
		p := spread(t, shape, 110, 3, 4, 300, true)
		if len(shape) == 2 {
			p.Antialias, p.Slowest = []float64{40}, 2000
		}
		h := hessian(t, d, p, wholeImage(p), true)
		cpu, err := kirchhoff.NewHessian(t.Context(), "cpu", p, wholeImage(p))
		must(t, err)
		for name, w2 := range weighted(p) {
			want := every(t, cpu, w2)
			if far := apart(every(t, h, w2), want); slices.Max(want) == 0 || !(far <= 1e-6) {
				t.Errorf("%v: weights of %s: elements differ from those of the cpu engine by %.2e", shape, name, far)
			}
		}
	}
}

// TestHessianMemory: what a block takes is counted before, and a card that has less says what is
// needed.
func TestHessianMemory(t *testing.T) {
	gputest.NeedEmulator(t)
	p := several(t, trial{dim: 2, weights: 1}, 2)
	d, err := card.Open(card.Options{Engine: driver.CUDA, Cache: driver.UserCache()})
	must(t, err)
	h := hessian(t, d, p, wholeImage(p), false)
	for _, most := range []int{1, 64, 100, h.Len()} {
		counted := HessianBytes(h.Cuts(), most)
		for lo := 0; lo+most <= h.Len(); lo += max(1, most/3) {
			tiles, pairs, err := h.Pairs([2]int{0, most}, [2]int{lo, lo + most}, nil)
			must(t, err)
			w := h.newPairing(tiles, pairs, nil)
			must(t, w.err)
			if taken := w.bytes + 8*int64(most*most); taken > counted {
				t.Errorf("a block of %d rows and columns takes %d bytes, %d are counted", most, taken, counted)
			}
			w.free()
		}
	}
	must(t, d.Close())
	t.Setenv("GPUEMU_MEMORY", fmt.Sprint(1<<20))
	small, err := card.Open(card.Options{Engine: driver.CUDA, Cache: driver.UserCache()})
	must(t, err)
	defer small.Close()
	short, err := NewHessian(t.Context(), small, p, wholeImage(p), 0)
	must(t, err)
	defer short.Close()
	err = short.Add(t.Context(), make([]float64, h.Len()*h.Len()), [2]int{0, h.Len()}, [2]int{0, h.Len()}, nil)
	if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), "elements of the Hessian needs") || !strings.Contains(err.Error(), "are free") {
		t.Errorf("with too little memory: status %d: %v", status.Code(err), err)
	}
}

// TestHessianErrors: what cannot be is refused by name.
func TestHessianErrors(t *testing.T) {
	d := open(t, driver.CUDA)
	p := trial{dim: 2}.problem(t, 3)
	h := hessian(t, d, p, wholeImage(p), true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	short, err := d.Alloc(4, device.F64)
	must(t, err)
	for _, c := range []struct {
		err  error
		want string
	}{
		{h.Add(t.Context(), make([]float64, 6), [2]int{0, 2}, [2]int{0, 4}, nil), "6 elements of float64 for a block of the Hessian that has 8"},
		{h.Add(t.Context(), make([]float64, 8), [2]int{0, 2}, [2]int{h.Len() - 2, h.Len() + 2}, nil), "of a Hessian that has"},
		{h.Add(t.Context(), make([]float64, 6), [2]int{0, 2}, [2]int{0, 3}, make([]float32, 1)), "1 weights for"},
		{h.Add(ended, make([]float64, 6), [2]int{0, 2}, [2]int{0, 3}, nil), "canceled"},
		{h.AddTo(t.Context(), device.Wrap(device.NewHost(1), make([]float64, 6)), [2]int{0, 2}, [2]int{0, 3}, nil), "of buffers [float64 on cpu]"},
		{h.AddTo(t.Context(), upload(t, d, make([]float32, 6)), [2]int{0, 2}, [2]int{0, 3}, nil), "6 elements of float32"},
		{h.AddTo(t.Context(), short, [2]int{0, 2}, [2]int{0, 2}, nil), ""},
	} {
		if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
			t.Errorf("error %v, want one with %q", c.err, c.want)
		}
	}
	if _, err := NewHessian(t.Context(), d, p, kirchhoff.Target{Lo: []int{0}, Hi: []int{1}}, 0); err == nil || !strings.Contains(err.Error(), "the image has 2 axes") {
		t.Errorf("error %v", err)
	}
}

// The constants and structs that both sides state are the same on both.
func TestHessianKernelsAgree(t *testing.T) {
	for name, want := range map[string]int{"TILE": simd.TileSize, "THREADS": meetThreads, "PART": meetPart} {
		if got := constant(t, hessianText, name, true); got != want {
			t.Errorf("%s is %d in the kernels, %d here", name, got, want)
		}
	}
	for name, v := range map[string]any{"Tile": tileThere{}, "Gram": gramThere{}, "Block": blockThere{}} {
		if got, want := fieldsHere(v), fieldsThere(t, hessianText, name); got != want {
			t.Errorf("struct %s is %s in the kernels, %s here", name, want, got)
		}
	}
	if words := 3*simd.TileSize + 16; words != kirchhoff.FallWords {
		t.Errorf("a fall has %d words in the kernels, %d in package kirchhoff", words, kirchhoff.FallWords)
	}
}

// spared lists what may be taken out of the Hessian's kernels without anybody noticing, and why.
var spared = map[string]string{
	"guard hessian.cu: if (!nearby(x, y, g))":                                                                                              "it saves adding zeros",
	"guard hessian.cu: for (int m = from; m < to; m++)":                                                                                    "each thread makes a sample of a table",
	"guard hessian.cu: for (int i = begin; i < end; i++) {":                                                                                "a part has a trace",
	"guard hessian.cu: for (int base = x.first; base <= x.last; base += SAMPLES - 1, turn ^= 1) {":                                         "a tile that is nearby has a point",
	"guard hessian.cu: return x.first <= x.last && y.first <= y.last && x.first - y.last - 1 <= g.wide && y.first - x.last - 1 <= g.wide;": "it saves adding zeros",
}

// paired is a digest of blocks of a Hessian, with all weights.
func paired(t *testing.T, p *kirchhoff.Problem) (digest string, err error) {
	d, err := card.Open(card.Options{Cache: driver.UserCache()})
	if err != nil {
		return "", err
	}
	defer d.Close()
	sum := sha256.New()
	for _, keep := range []int64{0, 1 << 30} {
		h, err := NewHessian(t.Context(), d, p, inner(p), keep)
		if err != nil {
			return "", err
		}
		defer h.Close()
		n := h.Len()
		for _, name := range []string{"none", "traces", "samples"} {
			for _, rows := range [][2]int{{0, n}, {n / 3, n}} {
				block := make([]float64, (rows[1]-rows[0])*(n-n/4))
				if err := h.Add(t.Context(), block, rows, [2]int{0, n - n/4}, weighted(p)[name]); err != nil {
					return "", err
				}
				must(t, binary.Write(sum, binary.LittleEndian, block))
			}
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// TestMutantsOfHessian is TestMutants for the kernels of the Hessian.
func TestMutantsOfHessian(t *testing.T) {
	hunt := ptxtest.NewHunt(t, spared)
	problems := []*kirchhoff.Problem{spread(t, []int{20, 17}, 110, 2, 3, 300, true)}
	if os.Getenv("LSM_TEST_MUTANTS") != "" {
		problems = append(problems, several(t, trial{dim: 2, weights: 1, antialias: true}, 2))
	}
	for _, p := range problems {
		hunt.Try(HessianProgram(), func() (string, error) { return paired(t, p) })
	}
	hunt.End()
}
