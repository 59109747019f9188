package ahead_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/driver/ahead"
	"github.com/kirchhoff-lsm/lsm/internal/ptxas"
)

// The test program is the compiling child of its own tests.
func TestMain(m *testing.M) {
	if os.Getenv("LSM_TEST_COMPILE") == "" {
		os.Exit(m.Run())
	}
	if err := driver.ServeCompile(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inChild makes a compiler compile in this test program, run anew.
func inChild(t testing.TB, k *driver.Compiler) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k.Child = []string{"env", "LSM_TEST_COMPILE=1", exe}
}

// The compilers of real cards take the kernels, and no register spills. NVRTC makes every fourth
// program for sm_80 or sm_90, in turn, and hiprtc every twelfth; with LSM_TEST_LONG each makes all for all cards.
func TestRealCompilers(t *testing.T) {
	for i, src := range append(carried(), compiled()...) {
		t.Run(fmt.Sprint(src.Name, src.Defines), func(t *testing.T) {
			compileFor(t, src, func(k driver.Engine, card int) bool {
				if os.Getenv("LSM_TEST_LONG") != "" {
					return true
				}
				if k == driver.HIP {
					return i%12 == 0
				}
				return i%4 == 0 && card == i/4%2
			})
		})
	}
}

// compileFor compiles a program by NVRTC for sm_80, sm_90, sm_100 and sm_120 and by hiprtc for
// gfx90a, those of them that are wanted, and fails where a kernel's registers spill. For cards on which the program
// carried as PTX is used instead it has ptxas finish that, and allows what ptxas cannot
// avoid, one register in two places. A compiler that
// this machine lacks, or one too old for the card, is a skipped test that says so.
// LSM_TEST_NVRTC_LIB and LSM_TEST_HIPRTC_LIB name them where the loader does not find
// them. What has passed is remembered in the user's cache folder.
func compileFor(t *testing.T, src accel.Source, wanted func(k driver.Engine, card int) bool) {
	for _, c := range []struct {
		engine   driver.Engine
		variable string
		archs    []string
		spills   func(accel.Binary) (string, error)
	}{
		{driver.CUDA, "LSM_NVRTC_LIB", []string{"sm_80", "sm_90", "sm_100", "sm_120"}, spillsOfCUDA},
		{driver.HIP, "LSM_HIPRTC_LIB", []string{"gfx90a"}, spillsOfHIP},
	} {
		t.Setenv(c.variable, os.Getenv("LSM_TEST"+c.variable[len("LSM"):]))
		for card, arch := range c.archs {
			t.Run(arch, func(t *testing.T) {
				k, err := driver.OpenCompiler(c.engine)
				version := "" // of no compiler
				if err == nil {
					version = k.Version
				}
				if c.engine == driver.CUDA && src.Carried(arch, version) {
					finish(t, src, arch)
					return
				}
				if !wanted(c.engine, card) {
					t.Skip("with LSM_TEST_LONG")
				}
				if err != nil {
					t.Skip(err)
				}
				mark := passed(k, src, arch)
				if _, err := os.Stat(mark); err == nil {
					t.Logf("%s %s made it without spills before", k.Library, k.Version)
					return
				}
				if c.engine == driver.HIP {
					inChild(t, k)
				}
				b, err := k.Compile(src, arch)
				if err != nil {
					t.Fatal(err)
				}
				if bytes.HasPrefix(b.Image, []byte("//")) {
					t.Skipf("%s %s is too old for %s: it makes PTX, which says nothing of spills", k.Library, k.Version, arch)
				}
				spills, err := c.spills(b)
				if err != nil {
					t.Errorf("%s %s: %v\n%s", k.Library, k.Version, err, b.Log)
				}
				if spills != "" {
					t.Errorf("%s: registers spill: %s", arch, spills)
				}
				t.Logf("%s %s, %d bytes\n%s", k.Library, k.Version, len(b.Image), b.Log)
				if !t.Failed() && os.MkdirAll(filepath.Dir(mark), 0o755) == nil {
					_ = os.WriteFile(mark, nil, 0o644) // without it, compiled once more
				}
			})
		}
	}
}

// leastSpill is what may be spilled of programs that are carried, in bytes.
const leastSpill = 8

// finish has ptxas make code of the PTX that is carried of a program.
func finish(t *testing.T, src accel.Source, arch string) {
	said, err := exec.Command(ptxas.Find("ptxas"), "--version").CombinedOutput()
	if err != nil {
		t.Skipf("no ptxas to finish what is carried as PTX for %s: %v", arch, err)
	}
	b, err := ahead.PTX(src)
	if err != nil {
		t.Fatal(err)
	}
	_, log, err := ptxas.Assemble(b.Image, arch)
	if strings.Contains(log, "is not defined for option 'gpu-name'") {
		t.Skipf("ptxas is too old for %s: %s", arch, said)
	}
	if err != nil {
		t.Fatal(err)
	}
	kernels := ptxas.Kernels(log)
	if len(kernels) == 0 {
		t.Fatalf("ptxas says nothing of spills:\n%s", log)
	}
	for _, k := range kernels {
		if k.Stores > leastSpill {
			t.Errorf("%s: %s: registers spill: stores %d and loads %d bytes, at most %d are allowed", arch, k.Name, k.Stores, k.Loads, leastSpill)
		}
	}
}

// passed is the file that is there once a program was compiled without spills, "" for
// no place to keep it.
func passed(k *driver.Compiler, src accel.Source, arch string) string {
	if accel.UserCache().Dir == "" {
		return ""
	}
	return filepath.Join(accel.UserCache().Dir, "no-spills", fmt.Sprintf("%v-%s-%s-%s", k.Engine, k.Version, arch, src.Hash()))
}

// spillsOfCUDA reads ptxas's own words, which -v makes it say of each kernel.
func spillsOfCUDA(b accel.Binary) (spills string, err error) {
	kernels := ptxas.Kernels(b.Log)
	if len(kernels) == 0 {
		return "", fmt.Errorf("the compiler says nothing of spills")
	}
	for _, k := range kernels {
		if k.Stores != 0 || k.Loads != 0 {
			spills += fmt.Sprintf("%s stores %d and loads %d bytes; ", k.Name, k.Stores, k.Loads)
		}
	}
	return spills, nil
}

// spillsOfHIP reads the counts in the code object's notes, which are MessagePack.
func spillsOfHIP(b accel.Binary) (spills string, err error) {
	found := 0
	for _, key := range []string{".vgpr_spill_count", ".sgpr_spill_count"} {
		rest := b.Image
		for {
			_, after, ok := bytes.Cut(rest, []byte(key))
			if !ok {
				break
			}
			n, err := messagePackInt(after)
			if err != nil {
				return "", fmt.Errorf("%s: %w", key, err)
			}
			if found++; n > 0 {
				spills += key + " " + strconv.Itoa(n) + "; "
			}
			rest = after
		}
	}
	if found == 0 {
		return "", fmt.Errorf("the code object says nothing of spills")
	}
	return spills, nil
}

// messagePackInt is the unsigned number that data begins with.
func messagePackInt(data []byte) (int, error) {
	if len(data) < 5 {
		return 0, fmt.Errorf("the notes end early")
	}
	switch c := data[0]; {
	case c < 0x80:
		return int(c), nil
	case c == 0xcc:
		return int(data[1]), nil
	case c == 0xcd:
		return int(binary.BigEndian.Uint16(data[1:])), nil
	case c == 0xce:
		return int(binary.BigEndian.Uint32(data[1:])), nil
	}
	return 0, fmt.Errorf("%#x begins no count", data[0])
}

// spilling wants more registers than a thread may have.
const spilling = `
extern "C" __global__ void __launch_bounds__(1024) spilling(const float *x, float *y, int n)
{
	float v[200];
#pragma unroll
	for (int i = 0; i < 200; i++)
		v[i] = x[i * n + threadIdx.x];
	for (int k = 0; k < n; k++) {
#pragma unroll
		for (int i = 0; i < 200; i++)
			v[i] = v[i] * v[(i + 7) % 200] + x[k];
	}
#pragma unroll
	for (int i = 0; i < 200; i++)
		y[i * n + threadIdx.x] = v[i];
}
`

// A kernel that spills is found out by both compilers.
func TestSpillsAreFound(t *testing.T) {
	for _, c := range []struct {
		engine   driver.Engine
		variable string
		arch     string
		spills   func(accel.Binary) (string, error)
	}{
		{driver.CUDA, "LSM_NVRTC_LIB", "sm_80", spillsOfCUDA},
		{driver.HIP, "LSM_HIPRTC_LIB", "gfx90a", spillsOfHIP},
	} {
		t.Run(c.arch, func(t *testing.T) {
			t.Setenv(c.variable, os.Getenv("LSM_TEST"+c.variable[len("LSM"):]))
			k, err := driver.OpenCompiler(c.engine)
			if err != nil {
				t.Skip(err)
			}
			inChild(t, k)
			for text, want := range map[string]bool{spilling: true, `extern "C" __global__ void f(float *x) { *x = 1; }`: false} {
				b, err := k.Compile(accel.Source{Name: "spilling.cu", Text: text}, c.arch)
				if err != nil {
					t.Fatal(err)
				}
				spills, err := c.spills(b)
				if err != nil || (spills != "") != want {
					t.Errorf("spills %q (%v), want %v\n%s", spills, err, want, b.Log)
				}
			}
		})
	}
}

// hiprtc ends its process over a target it does not know.
func TestUnknownTarget(t *testing.T) {
	t.Setenv("LSM_HIPRTC_LIB", os.Getenv("LSM_TEST_HIPRTC_LIB"))
	k, err := driver.OpenCompiler(driver.HIP)
	if err != nil {
		t.Skip(err)
	}
	inChild(t, k)
	if _, err := k.Compile(accel.Source{Name: "a.cu", Text: `extern "C" __global__ void f() {}`}, "gfx999"); err == nil {
		t.Error("no error")
	}
}

func TestMessagePack(t *testing.T) {
	for want, data := range map[int][]byte{
		7: {7, 0, 0, 0, 0}, 200: {0xcc, 200, 0, 0, 0}, 300: {0xcd, 1, 44, 0, 0}, 70000: {0xce, 0, 1, 0x11, 0x70},
	} {
		if n, err := messagePackInt(data); n != want || err != nil {
			t.Errorf("%x is %d (%v), want %d", data, n, err, want)
		}
	}
	for _, data := range [][]byte{nil, {0xa1, 0, 0, 0, 0}} {
		if _, err := messagePackInt(data); err == nil {
			t.Errorf("%x is a number", data)
		}
	}
}
