package gpu

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	times "github.com/kirchhoff-lsm/lsm/traveltime/gpu"
)

// TestSame: an application repeated has the same bits, on HIP too.
func TestSame(t *testing.T) {
	for _, engine := range []driver.Engine{driver.CUDA, driver.HIP} {
		t.Run(engine.String(), func(t *testing.T) { testSame(t, open(t, engine), engine) })
	}
}

func testSame(t *testing.T, d *card.Device, of driver.Engine) {
	for _, aperture := range []int{0, 2} {
		p := trial{dim: 3, weights: 2, irregular: true, aperture: aperture}.problem(t, 28)
		e := engine(t, d, p)
		m, x := noise(1, p.Grid.Len()), noise(2, p.NumTraces()*p.NT)
		data, image := both(t, d, e, m, x)
		if slices.Max(data) == 0 {
			t.Error("no trace counts")
		}
		for range 2 {
			againData, againImage := both(t, d, e, m, x)
			if difference(againData, data) != 0 || difference(againImage, image) != 0 {
				t.Error("an application repeated gives another result")
			}
		}
		if e.Name() != of.String() {
			t.Errorf("the engine is %q", e.Name())
		}
	}
}

// TestManyPieces: images of many tiles and surveys of many traces work in several
// pieces, and give what the cpu engine gives.
func TestManyPieces(t *testing.T) {
	d, h := open(t, driver.CUDA), device.NewHost(2)
	for i, p := range []*kirchhoff.Problem{
		spread(t, []int{750, 715}, 2, 1, 1, 300, false),
		spread(t, []int{12, 9}, 30, 50, 90, 20, false),
	} {
		e := engine(t, d, p)
		cpu, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
		must(t, err)
		defer cpu.Close()
		m, x := noise(1, p.Grid.Len()), noise(2, p.NumTraces()*p.NT)
		wantData, wantImage := both(t, h, cpu, m, x)
		data, image := both(t, d, e, m, x)
		g := &process{p: p, d: d, blocks: 1, share: [][]share{{{last: p.NumTraces(), slab: [2]int{0, p.Grid.Shape[0]}, engine: e}}}}
		for k, c := range []struct{ src, once, want []float32 }{{m, data, wantData}, {x, image, wantImage}} {
			direction := dist.Direction(k)
			if diff := difference(c.once, c.want); !(diff <= 1e-5) {
				t.Errorf("%v at once differs from cpu by %.2e", direction, diff)
			}
			quantum, _ := g.quantum(t, direction, c.src)
			for _, q := range []float64{0, quantum} {
				if diff := difference(g.apply(t, direction, c.src, q, 1), c.want); !(diff <= 1e-5) {
					t.Errorf("%v in pieces with quantum %g differs from cpu by %.2e", direction, q, diff)
				}
			}
		}
		if n := [2]int{len(e.geometry.boxCuts) - 1, len(e.images[0].TraceCuts) - 1}; n[i] < 2 {
			t.Errorf("%d pieces of the image, %d of the traces", n[0], n[1])
		}
		if n := len(outline(e.geometry.plan, kirchhoff.Work{Whole: true}, 1).geometry.boxCuts) - 1; n != 1 {
			t.Errorf("the whole image is %d pieces", n)
		}
	}
}

// TestBounds: bounds hold, and what is no number shows in them.
func TestBounds(t *testing.T) {
	d := open(t, driver.CUDA)
	p := sorted(trial{dim: 2, irregular: true}.problem(t, 31))
	p.T0 = 0
	e := engine(t, d, p)
	m, x := noise(1, p.Grid.Len()), noise(2, p.NumTraces()*p.NT)
	_, image := both(t, d, e, m, x)
	bound := func(direction dist.Direction, src []float32) (sum float64) {
		parts, err := e.kernels[0].Bound(direction, upload(t, d, src))
		must(t, err)
		for _, v := range parts {
			sum += v
		}
		return sum * e.kernels[0].Peak()
	}
	most := 0.0
	for _, v := range image {
		most = max(most, math.Abs(float64(v)))
	}
	if b := bound(dist.Backward, x); !(most <= b) || most < b/1e4 {
		t.Errorf("the largest sample of the image is %g, the bound %g", most, b)
	}
	sum := 0.0
	for _, v := range m {
		sum += math.Abs(float64(v))
	}
	if b := bound(dist.Forward, m) / e.kernels[0].Peak(); !(math.Abs(b-sum) <= 1e-9*sum) {
		t.Errorf("the image's values add up to %g, the bound says %g", sum, b)
	}
	x[5], m[len(m)/2] = float32(math.NaN()), float32(math.NaN())
	if b := bound(dist.Backward, x); !math.IsNaN(b) {
		t.Errorf("the bound on data with a NaN is %g", b)
	}
	if b := bound(dist.Forward, m); !math.IsNaN(b) {
		t.Errorf("the bound on an image with a NaN is %g", b)
	}
}

// TestTooLittleMemory: a card that cannot hold the tables is an error that says what is
// needed and what there is.
func TestTooLittleMemory(t *testing.T) {
	gputest.NeedEmulator(t)
	t.Setenv("GPUEMU_MEMORY", "40000000")
	d := open(t, driver.CUDA)
	p := spread(t, []int{400, 300}, 10, 40, 60, 100, false)
	_, err := New(t.Context(), d, p, kirchhoff.Work{})
	if status.Code(err) != status.NoResource {
		t.Fatalf("%v has status %d, want %d", err, status.Code(err), status.NoResource)
	}
	for _, want := range []string{"tables of 100 places", "MiB", "free"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not say %q", err, want)
		}
	}
	_, err = New(t.Context(), d, spread(t, []int{40, 30}, 10, 4, 6, 100, false), kirchhoff.Work{}) // what was taken was given back
	must(t, err)
}

// TestFaults: what the engine cannot do is an error that says so.
func TestFaults(t *testing.T) {
	d := open(t, driver.CUDA)
	p := farApart(t)
	p.Slowest = 20000
	if _, err := New(t.Context(), d, p, kirchhoff.Work{}); err == nil || !strings.Contains(err.Error(), "the slowest velocity, 20000 m/s, allows") {
		t.Errorf("times farther apart than the slowest velocity allows: %v", err)
	}
	p = spread(t, []int{20, 20}, 10, 2, 2, 100, false)
	e := engine(t, d, p)
	h := device.NewHost(1)
	data, image := device.Wrap(h, make([]float32, 400)), upload(t, d, make([]float32, 400))
	if err := e.kernels[0].Forward(t.Context(), data, image); err == nil {
		t.Error("a buffer of the host was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.kernels[0].Adjoint(ctx, image, image); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	e.Close()
	defer func() {
		if recover() == nil {
			t.Error("a closed engine was used")
		}
	}()
	_ = e.kernels[0].Adjoint(t.Context(), image, image)
}

// farApart is a problem whose times lie up to 13000 samples apart in a box of tiles.
func farApart(t testing.TB) *kirchhoff.Problem {
	p := spread(t, []int{70, 70}, 60, 2, 3, 15000, false)
	p.DT, p.Wavelet.DT = 2e-4, 2e-4
	return p
}

// TestTimesFarApart: where times lie far apart in a box, results agree with the reference
// on traces as smooth as such sampling makes them.
func TestTimesFarApart(t *testing.T) {
	d := open(t, driver.CUDA)
	p := farApart(t)
	p.Wavelet.Samples, p.Wavelet.Zero = make([]float64, 401), 200
	for i := range p.Wavelet.Samples { // a Ricker wavelet of 30 Hz
		a := math.Pow(math.Pi*30*float64(i-200)*p.DT, 2)
		p.Wavelet.Samples[i] = (1 - 2*a) * math.Exp(-a)
	}
	e := engine(t, d, p)
	if dot, err := dist.DotTest(t.Context(), d, lifted(p, e), 7); err != nil || !(dot <= 1e-6) {
		t.Errorf("dot test %.2e (%v), want at most 1e-6", dot, err)
	}
	agreesWithReference(t, d, p, e)
}

// agreesWithReference compares both directions of p's engine with those of the reference.
func agreesWithReference(t *testing.T, d *card.Device, p *kirchhoff.Problem, e *Engine) {
	t.Helper()
	m, x := noise(1, p.Grid.Len()), noise(2, p.NumTraces()*p.NT)
	data, image := both(t, d, e, m, x)
	ref, err := kirchhoff.NewReference(t.Context(), p, kirchhoff.Work{})
	must(t, err)
	wantData, wantImage := both(t, device.NewHost(2), ref, m, x)
	if a, b := difference(data, wantData), difference(image, wantImage); !(a <= 1e-5 && b <= 1e-5) {
		t.Errorf("differs from the reference by %.2e and %.2e", a, b)
	}
}

// TestHalfWithGaps: with weights, points without a time in the far half of a box add nothing, and nothing
// before the window of the trace.
func TestHalfWithGaps(t *testing.T) {
	d := open(t, driver.CUDA)
	p := spread(t, []int{64, 16}, 8, 2, 3, 400, true)
	for i := range p.Positions.Len() {
		p.Positions.XYZ[2*i] /= 10 // all lie above the near half
	}
	p.Times = gaps{p.Times}
	agreesWithReference(t, d, p, engine(t, d, p))
}

// TestFractionBits: times have as many bits behind the point as the record and the slowest
// velocity allow, whatever part of a survey a rank holds.
func TestFractionBits(t *testing.T) {
	for _, c := range []struct {
		nt      int
		t0      float64
		slowest float64
		bits    int
	}{
		{200, 0, 0, 23}, {254, 0, 0, 22}, {200, 0.3, 0, 22}, {200, -0.3, 0, 23}, {15000, 0, 0, 17}, {1 << 30, 0, 0, 11},
		{15000, 0, 1500, 23}, // 63 intervals of 10 m along both axes take 163 samples of 4 ms, and a tenth
		{15000, 0, 960, 22},
	} {
		p := spread(t, []int{70, 70}, 10, 1, 1, c.nt, false)
		p.T0, p.Slowest = c.t0, c.slowest
		if got := fractionBits(p); got != c.bits {
			t.Errorf("%+v: %d bits behind the point", c, got)
		}
		p.Slab = [2]int{64, 70}
		if got := fractionBits(p); got != c.bits {
			t.Errorf("%+v: %d bits behind the point in a part of the image", c, got)
		}
	}
}

// TestSanitized: no kernel touches what is not its own.
func TestSanitized(t *testing.T) {
	if os.Getenv("GPUEMU_SANITIZE") != "" {
		t.Skip("in the child itself")
	}
	if out, err := gputest.RunSanitized(t, "^(TestBounds|TestSanitizedTrials)$"); err != nil || strings.Contains(out, "AddressSanitizer") {
		t.Errorf("under the sanitizer: %v\n%s", err, out)
	}
}

// TestSanitizedTrials is for the child of TestSanitized: an exact application of each
// kind of tables, over several boxes.
func TestSanitizedTrials(t *testing.T) {
	if os.Getenv("GPUEMU_SANITIZE") == "" {
		t.Skip("for TestSanitized")
	}
	d := open(t, driver.CUDA)
	for i, p := range []*kirchhoff.Problem{
		spread(t, []int{70, 19}, 10, 3, 20, 60, true),
		spread(t, []int{18, 5, 7}, 20, 3, 9, 50, true),
		spread(t, []int{40, 40}, 15, 3, 21, 60, false),
	} {
		p.T0 = []float64{0, 0.03, -0.02}[i]
		exactEverywhere(t, d, p, uint64(i), [2]int{2, 1})
		p.Aperture, p.ApertureTaper = []float64{150, 80}[:len(p.Grid.Shape)-1], []float64{60, 60}[:len(p.Grid.Shape)-1]
		exactEverywhere(t, d, p, uint64(i), [2]int{2, 1})
	}
}

// TestWindows: results do not depend on how long the forward's windows are.
func TestWindows(t *testing.T) {
	d := open(t, driver.CUDA)
	for i, p := range []*kirchhoff.Problem{
		spread(t, []int{24, 40}, 15, 3, 13, 150, true),
		spread(t, []int{10, 9, 13}, 20, 3, 9, 120, false),
	} {
		p.T0 = []float64{0.03, -0.02}[i]
		e := engine(t, d, p)
		image := upload(t, d, noise(1, p.Grid.Len()))
		forward := func() []float32 {
			data := upload(t, d, make([]float32, p.NumTraces()*p.NT))
			must(t, e.kernels[0].Forward(t.Context(), data, image))
			return download(t, data)
		}
		want := forward()
		for _, e.window = range []int{4, 34, 77} {
			if got := forward(); difference(got, want) != 0 {
				t.Errorf("windows of %d entries give another result: %.2e", e.window, difference(got, want))
			}
		}
	}
}

// taken is what an engine takes on the card with exact sums, in bytes.
func taken(t testing.TB, e *Engine) (bytes int64) {
	t.Helper()
	must(t, e.makeRing(true))
	for _, b := range e.buffers.list {
		bytes += int64(b.Len() * b.Type().Size())
	}
	if e.packer != nil {
		bytes += e.packer.bytes
		if e.packer.solver != nil {
			task, _ := e.task(&e.geometry.plan.Problem)
			bytes += times.Bytes(task)
		}
	}
	return bytes
}

// TestNeed: an engine takes on the card what Need says, or less.
func TestNeed(t *testing.T) {
	d := open(t, driver.CUDA)
	for _, p := range append(apertures(t),
		spread(t, []int{200, 130}, 10, 20, 30, 300, true),
		spread(t, []int{40, 40, 36}, 10, 5, 9, 100, false),
	) {
		e := engine(t, d, p)
		took, tables := taken(t, e), int64(0)
		for _, b := range e.buffers.list[:1] { // the lists of groups and boxes are next to nothing
			tables += int64(b.Len() * b.Type().Size())
		}
		if n := Needs(p, kirchhoff.Work{Exact: true}, d.Card().Multiprocessors); took > n.Tables+n.Scratch || took < (n.Tables+n.Scratch)/2 {
			t.Errorf("an engine takes %d bytes, foretold %d", took, n.Tables+n.Scratch)
		}
		if tables != e.TableBytes() {
			t.Errorf("tables take %d bytes, foretold %d", tables, e.TableBytes())
		}
	}
}
