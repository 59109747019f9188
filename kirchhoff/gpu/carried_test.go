package gpu

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	carried "github.com/kirchhoff-lsm/lsm/device/driver/ahead"
	card "github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// On cards for which NVRTC makes the worse code of a program, the one carried as PTX is
// used, unless the driver refuses it.
func TestCarriedWhereBetter(t *testing.T) {
	gputest.NeedEmulator(t)
	programs := []accel.Source{Programs(kirchhoff.Layout{Fields: 1})[0], Programs(kirchhoff.Layout{Fields: 3})[0]}
	compiler, err := driver.OpenCompiler(driver.CUDA)
	must(t, err)
	compiled := func() map[string]bool {
		folder := t.TempDir()
		d, err := card.Open(card.Options{Cache: accel.Cache{Dir: folder}})
		must(t, err)
		defer d.Close()
		made := map[string]bool{}
		before, err := filepath.Glob(filepath.Join(folder, "*"))
		must(t, err)
		for _, src := range programs {
			_, err := d.Build(src)
			must(t, err)
			after, err := filepath.Glob(filepath.Join(folder, "*"))
			must(t, err)
			made[fmt.Sprint(src.Name, src.Defines)] = len(after) > len(before)
			before = after
		}
		return made
	}
	for _, c := range []struct {
		capability string
		refused    bool
		carried    bool
	}{{"90", false, false}, {"120", false, true}, {"120", true, false}} {
		t.Setenv("GPUEMU_CAPABILITY", c.capability)
		if c.refused {
			for _, src := range programs {
				ptx, err := carried.PTX(src)
				must(t, err)
				gputest.Replace(t, ptx.Image, []byte("no program"))
			}
		}
		made := compiled()
		for _, src := range programs {
			better := src.Carried("sm_"+c.capability, compiler.Version)
			if got, want := made[fmt.Sprint(src.Name, src.Defines)], !(better && c.carried); got != want {
				t.Errorf("sm_%s, PTX refused %v: %s %v is compiled: %v, want %v", c.capability, c.refused, src.Name, src.Defines, got, want)
			}
		}
	}
}
