package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// mutantMemory is the address space of a child, KiB: room for the program and for
// files of this size, not for what a damaged header may ask for.
const mutantMemory = 4 << 20

// mutantTime is how long a child may take.
const mutantTime = 60 * time.Second

// dump is how the Go runtime begins when it gives up.
var dump = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+ \[|SIG[A-Z]+: |runtime: )`)

// TestMutants gives SEG-Y and SU files to lsm import that seeded damage was done to, as
// many as LSM_TEST_DAMAGE says (30). Whatever the damage, the program ends by itself in
// time, with status 0, 2, 3 or 4 and without a dump. After a failure nothing is left
// behind; after a success the survey can be read, and every number is what its digest
// says.
func TestMutants(t *testing.T) {
	mutants := 30
	if n := os.Getenv("LSM_TEST_DAMAGE"); n != "" {
		if _, err := fmt.Sscan(n, &mutants); err != nil {
			t.Fatal(err)
		}
	}
	quietEnvironment(t)
	program, err := exec.LookPath("lsm") // TestMain put it there
	if err != nil {
		t.Fatal(err)
	}
	sound := mutantSeeds(t)
	counts := map[int]int{}
	for i := range mutants {
		random := rand.New(rand.NewPCG(20171, uint64(i)))
		seed := sound[i%len(sound)]
		b, damage := mutate(random, bytes.Clone(seed.bytes))
		name := fmt.Sprintf("mutant %d of %s (%s)", i, seed.name, damage)
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "in"+seed.extension), b, 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"import", "in" + seed.extension, "-o", "out.h5", "--ricker", "20"}
		for _, flag := range []string{"--3d", "--apply-statics", "--keep-dead", "--keep-positive", "--salvage"} {
			if random.IntN(2) == 0 {
				args = append(args, flag)
			}
		}
		switch i % 7 {
		case 1:
			args = append(args, "--samples", "60")
		case 2:
			args = append(args, "--extended-texts", "0")
		}
		if i%10 == 0 {
			args = append(args, "--report", "qc")
		}
		before := snapshot(t, folder)
		code, said := mutantRun(t, name, folder, program, args...)
		counts[code]++
		switch code {
		case status.Done:
			if code, said := mutantRun(t, name, folder, program, "info", "out.h5", "--range", "--verify"); code != status.Done {
				t.Errorf("%s: info: status %d\n%s", name, code, said)
			}
			s, err := surveytest.Read(filepath.Join(folder, "out.h5"))
			if err != nil || s.NumTraces() == 0 {
				t.Errorf("%s: the survey cannot be read: %v", name, err)
			}
		case status.BadUsage, status.BadInput, status.NoResource:
			soundMessage(t, said)
			same(t, before, snapshot(t, folder))
		default:
			t.Errorf("%s: lsm %v: status %d\n%s", name, args, code, said)
		}
		if t.Failed() {
			t.Fatalf("%s: lsm %v\n%s", name, args, said)
		}
	}
	t.Logf("%d mutants: %d imported, %d refused as input, %d as usage, %d for want of memory or disk",
		mutants, counts[status.Done], counts[status.BadInput], counts[status.BadUsage], counts[status.NoResource])
	if mutants >= 30 && (counts[status.Done] == 0 || counts[status.BadInput] == 0) {
		t.Error("the damage is too great or too small to tell anything")
	}
}

// TestHugeFiles gives files to lsm import that are large without taking disk, because
// most of them was never written: the memory does not hold what their headers ask for.
func TestHugeFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is limited on Linux alone")
	}
	quietEnvironment(t)
	program, err := exec.LookPath("lsm")
	if err != nil {
		t.Fatal(err)
	}
	reel := mutantSeeds(t)[4].bytes[:3600+240] // revision 2
	number := func(b []byte, at int, v uint32) { binary.BigEndian.PutUint32(b[at-1:], v) }
	for name, c := range map[string]struct {
		change func(b []byte)
		size   int64
		code   int
		says   string
	}{
		"one trace of 2^31 - 1 samples": {func(b []byte) {
			number(b, 3269, math.MaxInt32)
			b[3225] = byte(segy.Int8)
		}, 3600 + 240 + math.MaxInt32, status.NoResource, `trace 1: byte 3715 \(number of samples, header byte 115\): is 2147483647, the limit \d+: more than the memory holds`},
		"millions of traces": {func(b []byte) { number(b, 3269, 2) }, 1 << 32, status.NoResource, `in.sgy: a list of \d+ traces: takes .* of memory, .* can be had`},
	} {
		folder := t.TempDir()
		b := bytes.Clone(reel)
		c.change(b)
		path := filepath.Join(folder, "in.sgy")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, c.size); err != nil {
			t.Skipf("%s: the file system has no files of %d bytes: %v", name, c.size, err)
		}
		code, said := mutantRun(t, name, folder, program, "import", "in.sgy", "-o", "out.h5", "--ricker", "20")
		if code != c.code || !regexp.MustCompile(c.says).MatchString(said) {
			t.Errorf("%s: status %d, want %d and %s\n%s", name, code, c.code, c.says, said)
		}
		if list, err := os.ReadDir(folder); err != nil || len(list) != 1 {
			t.Errorf("%s: %d files are there, want 1", name, len(list))
		}
	}
}

// mutantRun runs the program in a folder with limits on memory and time; a signal, a
// dump or too long a time is a failure.
func mutantRun(t *testing.T, name, folder, program string, args ...string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), mutantTime)
	defer cancel()
	limit := ""
	if runtime.GOOS == "linux" { // elsewhere there is no such limit
		limit = fmt.Sprintf("ulimit -v %d; ", mutantMemory)
	}
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", limit + `exec "$0" "$@"`, program}, args...)...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Stderr = folder, &errs
	err := cmd.Run()
	said = errs.String()
	if ctx.Err() != nil {
		t.Fatalf("%s: lsm %v did not end within %v\n%s", name, args, mutantTime, said)
	}
	if code = cmd.ProcessState.ExitCode(); code < 0 || dump.MatchString(said) {
		t.Fatalf("%s: lsm %v: %v\n%s", name, args, err, said)
	}
	return code, said
}

// mutantSeed is a sound file.
type mutantSeed struct {
	name, extension string
	bytes           []byte
}

// mutantSeeds are files of every revision, in several formats and both orders.
func mutantSeeds(t *testing.T) (list []mutantSeed) {
	t.Helper()
	add := func(name, extension string, spec segy.Spec, change func(b []byte) []byte) {
		var b bytes.Buffer
		w, err := segy.NewWriter(&b, spec)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float32, spec.Samples)
		for i := range 12 {
			for k := range v {
				v[k] = float32(100 * math.Sin(0.4*float64(k)+float64(i)))
			}
			fields := map[segy.Field]int64{
				segy.TraceID: 1, segy.FieldRecord: int64(i / 4), segy.Channel: int64(i % 4), segy.CDP: int64(i),
				segy.CoordinateScalar: -10, segy.ElevationScalar: 1, segy.SourceX: int64(1000 * (i / 4)), segy.ReceiverX: int64(5000 + 250*(i%4)),
				segy.ReceiverElevation: 3, segy.SourceDepth: 5, segy.CoordinateUnits: 1, segy.SourceStatic: int64(i), segy.ReceiverStatic: -3,
			}
			if err := w.Write(fields, v); err != nil {
				t.Fatal(err)
			}
		}
		list = append(list, mutantSeed{name, extension, change(b.Bytes())})
	}
	keep := func(b []byte) []byte { return b }
	put := func(at int, v uint16) func(b []byte) []byte {
		return func(b []byte) []byte {
			binary.BigEndian.PutUint16(b[at-1:], v)
			return b
		}
	}
	add("revision 0", ".sgy", segy.Spec{Samples: 60, Interval: 4000, Format: segy.IBM32}, keep)
	add("revision 1", ".sgy", segy.Spec{Major: 1, Samples: 60, Interval: 4000}, keep)
	add("traces of their own length", ".sgy", segy.Spec{Major: 1, Samples: 60, Interval: 2000, Format: segy.Int16}, put(3503, 0))
	add("extended texts", ".sgy", segy.Spec{Major: 1, Samples: 60, Interval: 4000}, func(b []byte) []byte {
		text := bytes.Repeat([]byte("((SEG: Any)) "), 247)[:3200]
		return put(3505, 1)(slices.Concat(b[:3600], text, b[3600:]))
	})
	add("revision 2", ".sgy", segy.Spec{Major: 2, Samples: 60, Interval: 4000, Format: segy.IEEE64}, keep)
	add("revision 2, little-endian", ".sgy", segy.Spec{Major: 2, Samples: 60, Interval: 4000, Order: segy.Little}, keep)
	add("header extensions", ".sgy", segy.Spec{Major: 2, Samples: 60, Interval: 4000}, func(b []byte) []byte {
		trace := (len(b) - 3600) / 12
		out := bytes.Clone(b[:3600])
		for at := 3600; at < len(b); at += trace {
			extension := make([]byte, 240)
			copy(extension[232:], "SEG00001")
			out = append(append(append(out, b[at:at+240]...), extension...), b[at+240:at+trace]...)
		}
		return put(3509, 1)(out)
	})
	add("SU", ".su", segy.Spec{Kind: segy.SU, Samples: 60, Interval: 4000}, keep)
	return list
}

// mutate damages a file in one to three ways and says how.
func mutate(r *rand.Rand, b []byte) (out []byte, how string) {
	for n := range 1 + r.IntN(3) {
		if n > 0 {
			how += ", "
		}
		// Most of what matters lies in the headers of the file and of the first trace.
		at := r.IntN(max(1, len(b)))
		if r.IntN(3) > 0 && len(b) > 4100 {
			at = 3200 + r.IntN(640)
		}
		if len(b) < 16 {
			return b, how + "nothing more"
		}
		at = min(at, len(b)-8)
		length := 1 + r.IntN(min(len(b)-at, 4000))
		switch r.IntN(8) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
			how += fmt.Sprintf("a bit of byte %d", at+1)
		case 1:
			for i := range min(length, 8) {
				b[at+i] = byte(r.IntN(256))
			}
			how += fmt.Sprintf("up to 8 bytes from %d", at+1)
		case 2, 3:
			v := []uint32{0, 1, 2, 0xFFFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0x00010000}[r.IntN(11)]
			at &^= 1
			if r.IntN(2) == 0 {
				binary.BigEndian.PutUint32(b[at:], v)
			} else {
				binary.BigEndian.PutUint16(b[at:], uint16(v))
			}
			how += fmt.Sprintf("%#x at byte %d", v, at+1)
		case 4:
			b = b[:at]
			how += fmt.Sprintf("cut to %d bytes", at)
		case 5:
			for range length {
				b = append(b, byte(r.IntN(256)))
			}
			how += fmt.Sprintf("%d bytes more", length)
		case 6:
			other := r.IntN(len(b) - min(length, len(b)-1))
			for i := 0; i < length && at+i < len(b) && other+i < len(b); i++ {
				b[at+i], b[other+i] = b[other+i], b[at+i]
			}
			how += fmt.Sprintf("%d bytes at %d and %d swapped", length, at+1, other+1)
		default:
			b = slices.Delete(b, at, min(at+length, len(b)))
			how += fmt.Sprintf("%d bytes at %d taken out", length, at+1)
		}
	}
	return b, how
}
