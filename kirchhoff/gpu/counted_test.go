package gpu

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// Each carried program is counted for cards of four kinds, by several compilers, so that the choice
// between NVRTC and what is carried has a ground. With an aperture nothing is counted.
func TestCounted(t *testing.T) {
	for _, fields := range []int{1, 3, 5} {
		for _, compact := range []bool{false, true} {
			l := kirchhoff.Layout{Fields: fields, Compact: compact}
			carried := map[int]int{}
			for _, r := range countsOf(l) {
				if !(r.all > 5 && r.all < 60) {
					t.Errorf("%+v: %+v", l, r)
				}
				if r.by == "carried" {
					carried[r.arch]++
				}
			}
			for _, arch := range []int{80, 90, 100, 120} {
				if carried[arch] != 2 {
					t.Errorf("%+v, sm_%d: %d carried kernels are counted, want forward and adjoint", l, arch, carried[arch])
				}
			}
		}
	}
	if rows := countsOf(kirchhoff.Layout{Fields: 1, Aperture: 1}); rows != nil {
		t.Errorf("with an aperture %d rows are counted", len(rows))
	}
}

// Where a version of NVRTC spills or issues more than the carried PTX, this is used.
func TestCompiledOrCarried(t *testing.T) {
	for _, fields := range []int{1, 3, 5} {
		for _, compact := range []bool{false, true} {
			l := kirchhoff.Layout{Fields: fields, Compact: compact}
			src := Programs(l)[0]
			for _, r := range countsOf(l) {
				if r.by == "carried" || r.spilled == 0 {
					continue
				}
				arch := map[int]string{100: "sm_100", 120: "sm_120"}[r.arch]
				if !src.Carried(arch, r.by) {
					t.Errorf("%+v: NVRTC %s, which spills %d bytes for %s, compiles", l, r.by, r.spilled, arch)
				}
			}
			if src.Carried("sm_80", "12.9") || src.Carried("sm_90", "13.5") || src.Carried("gfx90a", "5.2") {
				t.Errorf("%+v is carried where NVRTC compiles well", l)
			}
		}
	}
	if src := (accel.Source{Native: map[int]float64{90: 0, 100: 13.5, 120: accel.Never}}); src.Carried("sm_80", "13.0") || src.Carried("sm_90", "12.9") ||
		!src.Carried("sm_100", "13.0") || src.Carried("sm_103", "13.5") || !src.Carried("sm_121", "99.0") || !src.Carried("sm_120", "") {
		t.Error("versions and architectures are told apart wrongly")
	}
}
