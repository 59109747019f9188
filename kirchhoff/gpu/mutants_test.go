package gpu

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// redundant lists what may be taken out of the kernels without anybody noticing, and why.
var redundant = map[string]string{
	"barrier forward.cu: __syncthreads(); // no thread reads the last box any more": "the end of a pass has one too; but a box may have no pass",
	"barrier forward.cu: __syncthreads();":                                          "the next box begins with one, and the next pass in the half of the stage that the last chunk does not use",

	"guard ends.cu: for (int i = me; i < SEGMENT; i += WIDTH)":             "every thread has a sample",
	"guard ends.cu: for (int j0 = 0; j0 < m; j0 += SEGMENT) {":             "a wavelet has a sample",
	"guard ends.cu: for (int j = 0; j < SEGMENT && j0 + j < m; j += EACH)": "a segment begins within the wavelet",
	"guard forward.cu: if (share == 0)":                                    "it saves adding zeros",
	"guard forward.cu: for (int pass = 0; pass < count; pass++) {":         "a box that no trace reaches adds nothing",
	"guard aperture.cu: if (lo >= t.edge || -hi >= t.edge)":                "it saves traces whose weights are zero",
	"guard adjoint.cu: if (any & 0x02020202)":                              "each trace is asked again",
	"guard adjoint.cu: else if (!SQUARED && any & 0x01010101)":             "each trace is asked again",
	"guard adjoint.cu: if (r.anew)":                                        "it saves reading the receivers again",
}

// applied is a digest of all that an engine computes of a problem: both directions, with
// and without a quantum, the bounds, and the squared operator's adjoint.
func applied(t *testing.T, p *kirchhoff.Problem) (digest string, l kirchhoff.Layout, err error) {
	d, err := card.Open(card.Options{Cache: driver.UserCache()})
	if err != nil {
		return "", l, err
	}
	defer d.Close()
	e, err := New(t.Context(), d, p, kirchhoff.Work{})
	if err != nil {
		return "", l, err
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
				return "", l, err
			}
		}
		if err := device.Upload(bufs[0], noise(3, lengths[0])); err != nil {
			return "", l, err
		}
		bound, err := e.kernels[0].Bound(direction, bufs[0])
		if err != nil {
			return "", l, err
		}
		fmt.Fprint(h, bound)
		for _, quantum := range []float64{0, 0x1p-20} {
			if err := d.Zero(bufs[1]); err != nil {
				return "", l, err
			}
			if err := inPieces(t, e.kernels[0], direction, bufs, quantum); err != nil {
				return "", l, err
			}
			if direction == dist.Backward && e.layout.Bands <= 1 { // with bands no engine knows the squared operator
				if err := inPieces(t, e.Squared().(dist.Pieced), direction, bufs, quantum); err != nil {
					return "", l, err
				}
			}
			out := make([]float32, lengths[1])
			if err := device.Download(out, bufs[1]); err != nil {
				return "", l, err
			}
			must(t, binary.Write(h, binary.LittleEndian, out))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), e.layout, nil
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

// source is a file of the kernels.
func source(file string) string {
	return map[string]string{"times.cu": timesText, "weight.cu": weightText, "aperture.cu": apertureText, "adjoint.cu": adjointText,
		"forward.cu": forwardText, "ends.cu": endsText}[file]
}

// TestMutants takes each barrier, each wait for a copy and each fence out of the kernels, and
// with LSM_TEST_MUTANTS=all each guard and each end of a loop too (minutes). The executor
// reports a fault, or the result is another.
func TestMutants(t *testing.T) {
	gputest.UseNVRTC(t, func() (string, error) {
		k, err := driver.OpenCompiler(driver.CUDA)
		if err != nil {
			return "", err
		}
		return k.Library, nil
	})
	most := 24 // problems
	if gputest.AllMutants() {
		most = len(trials())
	}
	problems := []*kirchhoff.Problem{longer(trials()[0].problem(t, 0))}
	for i, c := range trials()[:most] {
		problems = append(problems, c.problem(t, uint64(i)))
	}
	hunt := gputest.NewHunt()
	for _, p := range problems {
		_, l, err := applied(t, p)
		must(t, err)
		for _, src := range Programs(l) {
			hunt.Try(t, asPTX(t, src), func() (string, error) {
				digest, _, err := applied(t, p)
				return digest, err
			})
		}
	}
	hunt.End(t, source, redundant)
}

// asPTX is a program as the card is given it.
func asPTX(t *testing.T, src driver.Source) []byte {
	t.Helper()
	k, err := driver.OpenCompiler(driver.CUDA)
	must(t, err)
	b, _, err := driver.UserCache().Compile(k, src, "sm_90", false)
	must(t, err)
	return b.Image
}
