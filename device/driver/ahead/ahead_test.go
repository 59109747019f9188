package ahead_test

import (
	"bytes"
	"compress/bzip2"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/driver/ahead"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/imaging"
	"github.com/kirchhoff-lsm/lsm/internal/bench"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	kirchhoffgpu "github.com/kirchhoff-lsm/lsm/kirchhoff/gpu"
	times "github.com/kirchhoff-lsm/lsm/traveltime/gpu"
)

// update makes the files anew: go generate ./device/driver/ahead. It needs NVRTC and bzip2.
var update = flag.Bool("update", false, "rewrite ptx/*.ptx.bz2")

// limit is what all files may take together, in bytes.
const limit = 150 << 10

// Kinds of tables. Each has a program of its own, which is carried as PTX, or where there
// is no room for that, only compiled to see that no register spills.
var (
	carriedKinds  = []kirchhoff.Layout{{Fields: 1}, {Fields: 3}, {Fields: 5}}
	compiledKinds = []kirchhoff.Layout{{Fields: 1, Aperture: 1}, {Fields: 1, Aperture: 2}, {Fields: 3, Aperture: 1}, {Fields: 5, Aperture: 2},
		{Fields: 3, Limits: true}, {Fields: 3, Limits: true, Aperture: 1}, {Fields: 5, Limits: true}, {Fields: 5, Limits: true, Aperture: 2},
		{Fields: 5, Limits: true, Unequal: true, Bands: 2, Aperture: 1}, {Fields: 5, Limits: true, Unequal: true, Aperture: 2},
		{Fields: 1, Bands: 2}, {Fields: 1, Bands: 2, Aperture: 1}, {Fields: 3, Bands: 2}, {Fields: 3, Bands: 2, Limits: true, Aperture: 1},
		{Fields: 5, Bands: 2}, {Fields: 5, Bands: 2, Aperture: 2}, {Fields: 5, Bands: 2, Limits: true, Aperture: 2}}
)

// carried are the programs that are carried as PTX.
func carried() []accel.Source {
	ends := kirchhoffgpu.Programs(kirchhoff.Layout{Fields: 1})[1]
	image := imaging.Program()
	return append(operators(carriedKinds), ends, kirchhoffgpu.PackProgram(), gpu.VectorSource(),
		accel.Source{Name: image.Name, Text: image.Text}, bench.LimitsSource())
}

// operators are the programs for some kinds of tables.
func operators(kinds []kirchhoff.Layout) (sources []accel.Source) {
	for _, l := range kinds {
		sources = append(sources, kirchhoffgpu.Programs(l)[0])
	}
	return sources
}

// compiled are those that are not carried. Without a compiler the host solves for traveltimes.
func compiled() []accel.Source {
	list := append(operators(compiledKinds), times.Program(2), times.Program(3))
	for _, l := range append(slices.Clone(carriedKinds), compiledKinds...) {
		list = append(list, kirchhoffgpu.SquaredProgram(l))
	}
	return list
}

// compiler is NVRTC, nil where there is none.
func compiler(t *testing.T) *driver.Compiler {
	t.Setenv("LSM_NVRTC_LIB", os.Getenv("LSM_TEST_NVRTC_LIB"))
	k, err := driver.OpenCompiler(driver.CUDA)
	if err != nil {
		t.Log(err)
		return nil
	}
	return k
}

var kernel = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)

// maker is the line in which NVRTC gives its version.
var maker = regexp.MustCompile(`(?m)^// Cuda compilation tools, .*$`)

// calls are the numbers of calls in comments, which NVRTC counts through a process.
var calls = regexp.MustCompile(`// callseq \d+`)

// What is carried was made of the sources as they are: their hashes say so, and
// where NVRTC is at hand, what it makes of them.
func TestFresh(t *testing.T) {
	k := compiler(t)
	if *update {
		if k == nil {
			t.Fatal("no NVRTC to make PTX with")
		}
		write(t, k)
	}
	const stale = "go generate ./device/driver/ahead makes them anew (with NVRTC)"
	var names []string
	for _, src := range carried() {
		names = append(names, ahead.Name(src))
		b, err := os.ReadFile(filepath.Join("ptx", ahead.Name(src)))
		if err != nil {
			t.Errorf("%s %v was changed: %v; %s", src.Name, src.Defines, err, stale)
			continue
		}
		carried := unpacked(t, b)
		if !bytes.Contains(carried, []byte(".target sm_80")) || !kernel.Match(carried) {
			t.Errorf("%s %v: what is carried is no PTX for sm_80", src.Name, src.Defines)
		}
		if k == nil {
			continue
		}
		made, err := k.Compile(src, ahead.Arch)
		if err != nil {
			t.Error(err)
		} else if by := maker.Find(made.Image); !bytes.Equal(by, maker.Find(carried)) {
			t.Logf("%s %v: NVRTC here is %s, PTX was made by %s: only kernels are compared", src.Name, src.Defines, by, maker.Find(carried))
			if a, b := kernels(made.Image), kernels(carried); !slices.Equal(a, b) {
				t.Errorf("%s %v has kernels %q, carried are %q", src.Name, src.Defines, a, b)
			}
		} else if !bytes.Equal(calls.ReplaceAll(made.Image, nil), calls.ReplaceAll(carried, nil)) {
			t.Errorf("%s %v: NVRTC makes something else of it; %s", src.Name, src.Defines, stale)
		}
	}
	total := int64(0)
	there, err := os.ReadDir("ptx")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
		if !slices.Contains(names, f.Name()) {
			t.Errorf("ptx/%s is of no program; %s", f.Name(), stale)
		}
	}
	if total > limit {
		t.Errorf("all PTX takes %d bytes, at most %d are to be", total, limit)
	}
	t.Logf("%d programs, %d bytes", len(there), total)
}

func kernels(ptx []byte) (names []string) {
	for _, m := range kernel.FindAllSubmatch(ptx, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	return names
}

func unpacked(t *testing.T, packed []byte) []byte {
	t.Helper()
	out, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(packed)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// write makes all files and removes others.
func write(t *testing.T, k *driver.Compiler) {
	t.Helper()
	old, err := filepath.Glob("ptx/*.ptx.bz2")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, src := range carried() {
		b, err := k.Compile(src, ahead.Arch)
		if err != nil {
			t.Fatal(err)
		}
		pack := exec.Command("bzip2", "-9")
		pack.Stdin = bytes.NewReader(b.Image)
		packed, err := pack.Output() // to which Go has no writer
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("ptx", ahead.Name(src)), packed, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A program that is not carried is an error that names it.
func TestNotCarried(t *testing.T) {
	src := gpu.VectorSource()
	src.Text += "\n"
	if _, err := ahead.PTX(src); err == nil || !strings.Contains(err.Error(), "vector.cu") {
		t.Errorf("error is %v", err)
	}
	b, err := ahead.PTX(gpu.VectorSource())
	if err != nil || !bytes.Contains(b.Image, []byte(".entry axpby_f32(")) {
		t.Errorf("%d bytes, %v", len(b.Image), err)
	}
}
