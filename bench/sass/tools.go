package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/driver/ahead"
	"github.com/kirchhoff-lsm/lsm/internal/ptxas"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	times "github.com/kirchhoff-lsm/lsm/traveltime/gpu"
)

// kinds are the kinds of tables whose programs are counted.
var kinds = []kirchhoff.Layout{{Fields: 1}, {Fields: 3}, {Fields: 5},
	{Fields: 1, Compact: true}, {Fields: 3, Compact: true}, {Fields: 5, Compact: true},
	{Fields: 1, Aperture: 1}, {Fields: 1, Aperture: 2}, {Fields: 3, Aperture: 1}, {Fields: 5, Aperture: 2}}

var archs = []string{"sm_80", "sm_90", "sm_100", "sm_120"}

// tools are NVIDIA's compilers: nvrtc makes code at run time, carrier made the PTX that is
// carried, and ptxas makes code of that, as drivers do.
type tools struct {
	nvrtc, carrier *driver.Compiler
}

// newTools finds them: NVRTC at the given place or where the loader does, the others on the
// PATH or where scripts/bootstrap.sh puts them.
func newTools(nvrtc string) (t *tools, err error) {
	t = &tools{}
	for _, name := range []string{"ptxas", "nvdisasm"} {
		if err := exec.Command(ptxas.Find(name), "--version").Run(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, c := range []struct { // the default one first: a library is not loaded again under another name
		library string
		to      **driver.Compiler
	}{{"", &t.carrier}, {nvrtc, &t.nvrtc}} {
		if err := os.Setenv("LSM_NVRTC_LIB", c.library); err != nil {
			return nil, err
		}
		if *c.to, err = driver.OpenCompiler(driver.CUDA); err != nil {
			return nil, err
		}
		(*c.to).Lines = true
	}
	return t, nil
}

var release = regexp.MustCompile(`release ([0-9.]+)`)

func (t *tools) versions() string {
	said, _ := exec.Command(ptxas.Find("ptxas"), "--version").Output()
	return fmt.Sprintf("NVRTC %s; PTX of NVRTC %s by ptxas %s", t.nvrtc.Version, t.carrier.Version, release.FindSubmatch(said)[1])
}

// row is a kernel in one kind of program.
type row struct {
	kind, by, arch, kernel string
	registers, spilled     int
	count
}

func (r row) key() string { return fmt.Sprintf("%-22s %-8s %-6s %-7s", r.kind, r.by, r.arch, r.kernel) }

func (r row) String() string {
	return fmt.Sprintf("%s %4d registers %3d bytes spilled %6.1f inner %6.1f all", r.key(), r.registers, r.spilled, r.inner, r.all)
}

// program is what is compiled and counted.
type program struct {
	kind   string
	source accel.Source
	models []model
}

// programs are all of them: those of the operator for each kind of tables, then those of the
// eikonal equation.
func programs() (all []program) {
	for _, l := range kinds {
		s := map[int]string{1: "static", 3: "dynamic 2-D", 5: "dynamic 3-D"}[l.Fields]
		if l.Compact {
			s += " compact"
		}
		if l.Aperture > 0 {
			s += fmt.Sprintf(" aperture %d", l.Aperture)
		}
		all = append(all, program{s, gpu.Programs(l)[0], models(l)})
	}
	for dim := 2; dim <= 3; dim++ {
		all = append(all, program{fmt.Sprintf("eikonal %d-D", dim), times.Program(dim), sweeps})
	}
	return all
}

// rows compiles a program in all ways and counts its instructions.
func (t *tools) rows(p program) (all []row, err error) {
	ptx, err := t.carrier.Compile(p.source, ahead.Arch)
	if err != nil {
		return nil, err
	}
	for _, arch := range archs {
		native, err := t.nvrtc.Compile(p.source, arch)
		if err != nil {
			return all, err
		}
		if !bytes.HasPrefix(native.Image, []byte("//")) { // else NVRTC is too old for it
			more, err := p.count("nvrtc", arch, native)
			if all = append(all, more...); err != nil {
				return all, err
			}
		}
		var made accel.Binary
		if made.Image, made.Log, err = ptxas.Assemble(ptx.Image, arch, "-lineinfo"); err != nil {
			return all, err
		}
		more, err := p.count("carried", arch, made)
		if all = append(all, more...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// count counts the instructions of a program's kernels.
func (p *program) count(by, arch string, b accel.Binary) (rows []row, err error) {
	listing, err := ptxas.Listing(b.Image)
	if err != nil {
		return nil, err
	}
	all, err := kernels(listing, ptxas.Sources(p.source.Name, p.source.Text))
	if err != nil {
		return nil, err
	}
	for _, m := range p.models {
		r := row{kind: p.kind, by: by, arch: arch, kernel: m.name}
		kernel := cmp.Or(m.kernel, m.name)
		for _, k := range ptxas.Kernels(b.Log) {
			if k.Name == kernel {
				r.spilled, r.registers = k.Stores, k.Registers
			}
		}
		if r.count, err = m.of(all[kernel]); err != nil {
			return rows, fmt.Errorf("%s: %w", r.key(), err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// parse reads what String says behind the key.
func parse(line string) (r row, err error) {
	_, err = fmt.Sscanf(line, "%d registers %d bytes spilled %f inner %f all", &r.registers, &r.spilled, &r.inner, &r.all)
	return r, err
}
