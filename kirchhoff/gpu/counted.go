package gpu

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
)

// countedText has the instructions that threads of the operator's kernels issue for a triple on the
// ordinary path. It has them for the code that several NVRTCs make of the carried programs, and for the
// code that ptxas makes of the carried PTX (13.5 for sm_100 and sm_120, otherwise 12.9). They were counted
// once in the disassembled code. The rows of an architecture go from old versions of NVRTC to new ones.
// Newer NVRTCs than 12.9 were not counted for sm_80 and sm_90, for which all compile.
//
//go:embed counted.txt
var countedText string

// count is a row of countedText.
type count struct {
	by      string // the version of NVRTC, or "carried"
	arch    int    // such as 90
	kernel  string
	spilled int     // bytes
	all     float64 // instructions a triple
}

// countsOf are the rows for the tables of a layout.
func countsOf(l kirchhoff.Layout) (rows []count) {
	if l.Aperture > 0 || l.Limits || l.Bands > 1 {
		return nil
	}
	kind := map[int]string{1: "static", 3: "dynamic 2-D", 5: "dynamic 3-D"}[l.Fields]
	for line := range strings.Lines(countedText) {
		rest, ok := strings.CutPrefix(line, fmt.Sprintf("%-11s ", kind))
		if !ok {
			continue
		}
		var r count
		var registers int
		var inner float64
		if _, err := fmt.Sscanf(rest, "%s sm_%d %s %d registers %d bytes spilled %f inner %f all",
			&r.by, &r.arch, &r.kernel, &registers, &r.spilled, &inner, &r.all); err == nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// tie is the difference of instructions a triple that decides nothing.
const tie = 0.5

// knownBefore is the newest architecture that NVRTC knew before the versions that are counted.
// For newer ones it makes PTX, as what is carried is.
const knownBefore = 90

// native says from which NVRTC on its code for a layout is as good as the carried PTX's, by
// architecture: it spills nothing, and forward and adjoint together issue no more instructions.
// Versions newer than those counted are taken to be as the last of them. Older ones compile for
// the architectures that they know.
func native(l kirchhoff.Layout) map[int]float64 {
	type made struct {
		version, all float64
		spilled      int
	}
	carried, versions := map[int]float64{}, map[int][]made{} // by architecture; versions ascend
	for _, r := range countsOf(l) {
		v, err := strconv.ParseFloat(r.by, 64)
		if err != nil {
			carried[r.arch] += r.all
			continue
		}
		list := versions[r.arch]
		if n := len(list); n == 0 || list[n-1].version != v {
			list = append(list, made{version: v})
		}
		last := &list[len(list)-1]
		last.all, last.spilled = last.all+r.all, last.spilled+r.spilled
		versions[r.arch] = list
	}
	var from map[int]float64
	for arch, list := range versions {
		first := float64(accel.Never)
		for _, m := range slices.Backward(list) {
			if m.spilled > 0 || m.all > carried[arch]+tie {
				break
			}
			first = m.version
		}
		if first == list[0].version && arch <= knownBefore {
			first = 0
		}
		if from == nil {
			from = map[int]float64{}
		}
		from[arch] = first
	}
	return from
}

// Instructions are the instructions that forward and adjoint issue for a triple, as counted for a card and a
// version of NVRTC, "" for the carried PTX. The count is taken from the nearest older architecture, and from
// the newest version that is not newer, or otherwise from the oldest. ok is false if none was counted.
func Instructions(l kirchhoff.Layout, arch, version string) (each [2]float64, ok bool) {
	number, _ := strings.CutPrefix(arch, "sm_")
	want, err := strconv.Atoi(number)
	if err != nil {
		return each, false
	}
	best := map[string]count{}
	for _, r := range countsOf(l) {
		if r.arch > want || (r.by == "carried") != (version == "") {
			continue
		}
		if b, ok := best[r.kernel]; !ok || r.arch > b.arch || r.arch == b.arch && r.by != "carried" && notNewer(r.by, version) {
			best[r.kernel] = r // versions ascend: the oldest stands for those before
		}
	}
	forward, ok1 := best["forward"]
	adjoint, ok2 := best["adjoint"]
	return [2]float64{forward.all, adjoint.all}, ok1 && ok2
}

// notNewer compares versions of NVRTC.
func notNewer(have, want string) bool {
	h, err1 := strconv.ParseFloat(have, 64)
	w, err2 := strconv.ParseFloat(want, 64)
	return err1 == nil && err2 == nil && h <= w
}
