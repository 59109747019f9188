package gpu

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/gputest/ptxtest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// redundant lists what may be taken out of the kernels without anybody noticing, and why.
var redundant = map[string]string{
	"guard forward.cu: if (share == 0)":                                                      "it saves adding zeros",
	"guard forward.cu: for (int pass = 0; pass < count; pass++) {":                           "it saves a box that no trace reaches",
	"guard aperture.cu: if (lo >= t.edge || -hi >= t.edge)":                                  "it saves traces whose weights are zero",
	"guard adjoint.cu: if (any & 0x02020202)":                                                "it saves asking each trace",
	"guard adjoint.cu: else if (!SQUARED && any & 0x01010101)":                               "it saves asking each trace",
	"guard adjoint.cu: for (int p = 0; p < POINTS; p++) {":                                   "with a quantum of 0 it saves rounding that changes nothing",
	"guard forward.cu: if (counts) {":                                                        "it saves a trace that has nothing in the box",
	"guard pack.cu: return n == 1 ? 0 : (upper - lower) / (i > 0 && i < n - 1 ? 2 * h : h);": "it saves the difference of a value and itself",
	"guard pack.cu: if (!t.any[tile] || at == NONE)":                                         "it saves times that count nowhere",
	"guard pack.cu: if (blockIdx.x >= p.count)":                                              "columns are of one depth",
	"guard pack.cu: gradient[axis] = c.fields > 1 || c.slope ? difference(time + s.n, stride[axis], s.k[axis], axis < 2 ? p.wide[axis] : c.nz, t.h[axis]) : 0;": "it saves gradients that nobody reads",
	"guard pack.cu: if (c.slope)":                                                                     "it saves slopes that nobody reads",
	"guard pack.cu: if (c.fields == 1)":                                                               "it saves weights that nobody reads",
	"guard pack.cu: if (there && weighted(c, t, gradient, given, s, field))":                          "it saves tiles that weigh nothing",
	"guard pack.cu: for (int tile = c.halves[h].x - first; tile < c.halves[h + 1].x - first; tile++)": "a half has a tile",
	"guard adjoint.cu: if (r.anew)":                                                                   "it saves reading the receivers again",
	"guard adjoint.cu: to->taper[j][i] = run.cut[j] ? tapered(o, run.middle[j], axis, run.at[axis] + i % GROUP_SIDE) : 1;": "it saves weights that are 1",
}

// applied is a digest of all that an engine computes of a problem: both directions, with
// and without a quantum, the bounds, and the squared operator's adjoint.
func applied(t *testing.T, p *kirchhoff.Problem) (digest string, err error) {
	d, err := card.Open(card.Options{Cache: accel.UserCache()})
	if err != nil {
		return "", err
	}
	defer d.Close()
	d.Context().Card.Multiprocessors = 1 // so that parts are few, and each has several boxes
	e, err := New(t.Context(), d, p, kirchhoff.Work{})
	if err != nil {
		return "", err
	}
	defer e.Close()
	h := sha256.New()
	for _, direction := range []dist.Direction{dist.Forward, dist.Backward} {
		lengths := [2]int{p.Grid.Len(), p.NumTraces() * p.NT}
		if direction == dist.Backward {
			lengths[0], lengths[1] = lengths[1], lengths[0]
		}
		var bufs [2]device.Buf
		for i, n := range lengths {
			if bufs[i], err = d.Alloc(n, e.Type()); err != nil {
				return "", err
			}
		}
		if err := device.Upload(bufs[0], noise(3, lengths[0])); err != nil {
			return "", err
		}
		bound, err := e.kernels[0].Bound(direction, bufs[0])
		if err != nil {
			return "", err
		}
		fmt.Fprint(h, bound)
		for _, quantum := range []float64{0, 0x1p-20} {
			if err := d.Zero(bufs[1]); err != nil {
				return "", err
			}
			if err := inPieces(t, e.kernels[0], direction, bufs, quantum); err != nil {
				return "", err
			}
			if direction == dist.Backward {
				if err := inPieces(t, e.Squared()[0].(dist.Pieced), direction, bufs, quantum); err != nil {
					return "", err
				}
			}
			out := make([]float32, lengths[1])
			if err := device.Download(out, bufs[1]); err != nil {
				return "", err
			}
			must(t, binary.Write(h, binary.LittleEndian, out))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// inPieces applies an operator.
func inPieces(t *testing.T, k dist.Pieced, direction dist.Direction, bufs [2]device.Buf, quantum float64) error {
	app, err := k.Begin(t.Context(), direction, bufs[1], bufs[0], quantum)
	if err != nil {
		return err
	}
	for i := range app.Pieces() {
		if _, err := app.Sum(i); err != nil {
			return err
		}
		if err := app.Finish(i); err != nil {
			return err
		}
	}
	return nil
}

// longer is p with a wavelet and traces of more than a segment of the filters.
func longer(p *kirchhoff.Problem) *kirchhoff.Problem {
	p.NT = segment + 300
	for i := range segment + 200 {
		p.Wavelet.Samples = append(p.Wavelet.Samples, 1/float64(i+1))
	}
	return p
}

// TestMutants takes each barrier, each wait for a copy and each fence out of the kernels, and
// with LSM_TEST_MUTANTS=all each guard and each end of a loop too (minutes). The executor
// reports a fault, or the result is another.
func TestMutants(t *testing.T) {
	if os.Getenv("LSM_TEST_MUTANTS") == "" && !gputest.Long() {
		t.Skip("with LSM_TEST_LONG (make test-long)")
	}
	hunt := ptxtest.NewHunt(t, redundant)
	most := 24 // problems
	if len(os.Getenv("LSM_TEST_MUTANTS")) > 0 {
		most = len(trials())
	}
	problems := append(boxes(t), longer(trials()[0].problem(t, 0)))
	for i, c := range trials()[:most] {
		problems = append(problems, c.problem(t, uint64(i)))
	}
	for _, p := range problems {
		l, err := kirchhoff.NewPlan(t.Context(), p)
		must(t, err)
		programs := Programs(l.Layout())
		for _, src := range append(programs[:], PackProgram()) {
			hunt.Try(src, func() (string, error) { return applied(t, p) })
		}
	}
	hunt.End()
}

// boxes are problems of many boxes of tiles. Some lie beyond the record, some columns beyond
// all apertures, and some times are missing.
func boxes(t *testing.T) (problems []*kirchhoff.Problem) {
	deep := spread(t, []int{70, 400}, 20, 2, 3, 60, false)
	wide := spread(t, []int{1100, 30}, 12, 3, 5, 200, false)
	wide.Aperture, wide.ApertureTaper = []float64{300}, []float64{100}
	banded := *wide
	banded.Antialias, banded.Slowest = []float64{40}, 2000
	missing := spread(t, []int{40, 40}, 10, 2, 5, 500, false)
	missing.Times = gaps{missing.Times}
	heavy := *wide
	heavy.Dynamic = true
	apart := spread(t, []int{390, 16}, 4, 1, 2, 210, false) // each box that a trace alone reaches lies off the other's record
	s := survey.Survey{Dim: 2, Sources: []float64{800, 0}, Receivers: []float64{790, 0, 1500, 0}, Fixed: true}
	apart.Positions = s.Distinct(true)
	solid := spread(t, []int{110, 8, 12}, 12, 2, 3, 150, false)
	solid.Aperture, solid.ApertureTaper = []float64{150, 100}, []float64{50, 0}
	solid.Antialias, solid.Slowest = []float64{40, 30}, 2000
	problems = []*kirchhoff.Problem{deep, wide, &banded, missing, &heavy, apart, solid}
	for _, dynamic := range []bool{false, true} {
		p := spread(t, []int{40, 70}, 10, 2, 3, 200, dynamic)
		bent(t, p)
		p.Threads = 64
		problems = append(problems, p)
	}
	return problems
}
