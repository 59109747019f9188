package gpu

import (
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
)

// TestConformance: the engine is adjoint to rounding and agrees with the reference and
// the cpu engine, whatever the operator is made of.
func TestConformance(t *testing.T) {
	d := open(t, driver.CUDA)
	empty, run := 0, 0
	for i, c := range trials() {
		if !gputest.Part(i, 3, 10) {
			continue
		}
		run++
		t.Run(c.String(), func(t *testing.T) {
			p := c.problem(t, uint64(i))
			e := engine(t, d, p)
			if dot, err := dist.DotTest(t.Context(), d, lifted(p, e), 7); err != nil || !(dot <= 1e-6) {
				t.Errorf("dot test %.2e (%v), want at most 1e-6", dot, err)
			}
			m, x := noise(uint64(i), p.Grid.Len()), noise(uint64(i)+1, p.NumTraces()*p.NT)
			data, image := both(t, d, e, m, x)
			if slices.Max(data) == 0 {
				empty++
			}
			h := device.NewHost(2)
			cpu, err := kirchhoff.New(t.Context(), p, kirchhoff.Work{})
			must(t, err)
			defer cpu.Close()
			ref, err := kirchhoff.NewReference(t.Context(), p, kirchhoff.Work{})
			must(t, err)
			for _, other := range []kirchhoff.Engine{cpu, ref} {
				near := 1e-5
				if max(p.Grid.Spacing[0], p.Grid.Spacing[1]) > 40 {
					near = 2e-5 // the cpu engine's times resolve less, see its tests
				}
				wantData, wantImage := both(t, h, other, m, x)
				if diff := difference(data, wantData); !(diff <= near) {
					t.Errorf("forward differs from %s by %.2e", other.Name(), diff)
				}
				if diff := difference(image, wantImage); !(diff <= near) {
					t.Errorf("adjoint differs from %s by %.2e", other.Name(), diff)
				}
			}
		})
	}
	if empty > run/4 {
		t.Errorf("%d of %d trials have empty data and test nothing", empty, run)
	}
}

func lifted(p *kirchhoff.Problem, e kirchhoff.Engine) dist.Operator {
	return dist.Lift(e.Kernels()[0], dist.Local(e.Type(), p.Grid.Shape...), dist.Local(e.Type(), p.NumTraces(), p.NT))
}

// The table of engines names all that have cards, and no other has.
func TestEnginesOfCards(t *testing.T) {
	var names []string
	for _, e := range engines.Table {
		if card.EngineOf(e.Name) != nil {
			names = append(names, e.Name)
		} else if !slices.Contains([]string{"cpu", "double", "reference"}, e.Name) {
			t.Errorf("engine %s has no cards", e.Name)
		}
	}
	if !slices.Equal(names, card.Names()) {
		t.Errorf("the table has %v of the engines %v", names, card.Names())
	}
}
