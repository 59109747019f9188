package gpu

import (
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// Each carried program is counted for cards of four kinds, so that the shares of lsm bench kernel
// and the choice between NVRTC and what is carried have a ground.
func TestCounted(t *testing.T) {
	for _, fields := range []int{1, 3, 5} {
		l := kirchhoff.Layout{Fields: fields}
		for _, arch := range []string{"sm_80", "sm_90", "sm_100", "sm_120", "sm_121"} {
			for _, version := range []string{"", "0.1", "12.9", "13.0", "13.5", "14.0"} {
				each, ok := Instructions(l, arch, version)
				if !ok || !(each[0] > 10 && each[0] < 60 && each[1] > 5 && each[1] < 60) {
					t.Errorf("%+v, %s, NVRTC %q: %v instructions, %v", l, arch, version, each, ok)
				}
			}
		}
	}
	if each, _ := Instructions(kirchhoff.Layout{Fields: 1}, "sm_90", "12.9"); each != [2]float64{17.1, 11.1} {
		t.Errorf("sm_90 issues %v instructions, want 17.1 and 11.1", each)
	}
	if _, ok := Instructions(kirchhoff.Layout{Fields: 1, Aperture: 1}, "sm_90", "12.9"); ok {
		t.Error("with an aperture nothing is counted, and something is said")
	}
	if _, ok := Instructions(kirchhoff.Layout{Fields: 1}, "gfx90a", ""); ok {
		t.Error("AMD's cards are not counted, and something is said")
	}
}

// Where a version of NVRTC spills or issues more than the carried PTX, this is used.
func TestCompiledOrCarried(t *testing.T) {
	for _, fields := range []int{1, 3, 5} {
		l := kirchhoff.Layout{Fields: fields}
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
	if src := (accel.Source{Native: map[int]float64{90: 0, 100: 13.5, 120: accel.Never}}); src.Carried("sm_80", "13.0") || src.Carried("sm_90", "12.9") ||
		!src.Carried("sm_100", "13.0") || src.Carried("sm_103", "13.5") || !src.Carried("sm_121", "99.0") || !src.Carried("sm_120", "") {
		t.Error("versions and architectures are told apart wrongly")
	}
}
