package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// run is the program inside a test: it returns the exit status.
func run(args []string, out, errs io.Writer) int {
	return cli.Run(args, out, errs, commands, func(*cli.App, *cobra.Command) {})
}

// asRank makes this test's executable the program lsm.
const asRank = "LSM_TEST_AS_PROGRAM"

func init() {
	if os.Getenv(asRank) != "" {
		main()
	}
}

func TestMain(m *testing.M) {
	// A process that tests run the program in starts itself anew with a command, as lsm does.
	if strings.HasSuffix(os.Args[0], ".test") && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		main()
		return
	}
	// As on a machine without a GPU, wherever tests run.
	for _, library := range noGPU {
		os.Setenv(library, "/none")
	}
	testscript.Main(m, map[string]func(){"lsm": main, "makeh5": makeH5})
}

// noGPU are the variables that name the drivers.
var noGPU = []string{"LSM_CUDA_LIB", "LSM_HIP_LIB"}

// TestScripts runs testdata/*.txt: what a user types, and what comes back.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   cmdExits,
			"events":  cmdEvents,
			"cut":     cmdCut,
			"statics": cmdStatics,
		},
		Condition: func(name string) (bool, error) {
			return name == "mpi" && mpi.About() != "", nil
		},
		Setup: func(e *testscript.Env) error {
			// HDF5 may lie where only this says; no LSM_ variable gets through.
			e.Setenv("LD_LIBRARY_PATH", os.Getenv("LD_LIBRARY_PATH"))
			for _, library := range noGPU {
				e.Setenv(library, "/none")
			}
			return nil
		},
	})
}

// cmdExits is "exits STATUS COMMAND ARGUMENT…": the command ends with exactly
// this exit status.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARGUMENT…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cmdEvents is "events NAME… [KEY=VALUE…]": every line of the last command's
// output is a JSON object with an "event"; those of these names occur in this
// order, the last name is that of the last line, no other line is "done" or
// "error", and the last line holds the keys with these values.
func cmdEvents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: events NAME… [KEY=VALUE…]")
	}
	if text := ts.ReadFile("stderr"); text != "" {
		ts.Fatalf("text on the error stream: %s", text)
	}
	var names []string
	for len(args) > 0 && !strings.Contains(args[0], "=") {
		names, args = append(names, args[0]), args[1:]
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	next := 0
	var event map[string]any
	for i, line := range lines {
		event = nil
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			ts.Fatalf("line %d is no JSON object: %v: %s", i+1, err, line)
		}
		name, ok := event["event"].(string)
		if !ok {
			ts.Fatalf("line %d has no event: %s", i+1, line)
		}
		last := i == len(lines)-1
		if last != (name == "done" || name == "error") {
			ts.Fatalf("line %d of %d is %q", i+1, len(lines), name)
		}
		if next < len(names)-1 && name == names[next] || last && name == names[len(names)-1] {
			next++
		}
	}
	if next != len(names) {
		ts.Fatalf("event %q is missing", names[min(next, len(names)-1)])
	}
	for _, arg := range args {
		key, want, _ := strings.Cut(arg, "=")
		if got := fmt.Sprint(event[key]); got != want {
			ts.Fatalf("%s is %q, want %q", key, got, want)
		}
	}
}

// makeH5 is the program "makeh5 KIND FILE": it makes a file of a kind that lsm does not
// make. It is a program, not a command of the script,
// because an open HDF5 file is inherited, with its lock, by whatever other
// scripts start meanwhile.
func makeH5() {
	kind, path := os.Args[1], os.Args[2]
	w, err := h5.Create(path, "", h5.WriteOptions{})
	must(err)
	nan := float32(math.NaN())
	switch kind {
	case "other":
		must(h5.Write(w, "/things", []int{3}, []float64{1, 2, 3}))
	case "broken":
		must(h5.Write(w, "/velocity", []int{2, 2}, []float32{1, 2, 3, 4},
			h5.Attr{Name: "origin", Value: []float64{0, 0}}))
	case "nan":
		must(h5.Write(w, "/velocity", []int{2, 2}, []float32{1, 2, 3, nan},
			h5.Attr{Name: "origin", Value: []float64{0, 0}},
			h5.Attr{Name: "spacing", Value: []float64{1, 1}}))
		must(w.SetAttrs("/", h5.Attr{Name: "odd", Value: []float64{math.NaN(), 1}}))
	case "surface": // a plane under the cases of lsm synth
		z := make([]float64, 301)
		for i := range z {
			z[i] = 190 + 0.2*float64(i)
		}
		must(h5.Write(w, "/surface", []int{301}, z,
			h5.Attr{Name: "origin", Value: []float64{0}}, h5.Attr{Name: "spacing", Value: []float64{10}}))
	case "velocity": // makeh5 velocity FILE NUMBER [UNITS]: one velocity under the cases of lsm synth
		number, err := strconv.ParseFloat(os.Args[3], 64)
		must(err)
		v := make([]float64, 301*151)
		for i := range v {
			v[i] = number
		}
		attrs := []h5.Attr{{Name: "origin", Value: []float64{0, 0}}, {Name: "spacing", Value: []float64{10, 10}}}
		if len(os.Args) > 4 {
			attrs = append(attrs, h5.Attr{Name: "units", Value: os.Args[4]})
		}
		must(h5.Write(w, "/velocity", []int{301, 151}, v, attrs...))
	default:
		must(fmt.Errorf("no kind %q", kind))
	}
	must(w.Commit())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// cmdCut is "cut BYTES FROM TO": TO gets the first bytes of FROM.
func cmdCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut BYTES FROM TO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(ts.ReadFile(args[1])[:n]), 0o644))
}

// cmdStatics is "statics FILE": the first four traces of a SEG-Y file in big-endian
// floats get a source static of 6 ms.
func cmdStatics(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: statics FILE")
	}
	b := []byte(ts.ReadFile(args[0]))
	samples := int(b[3220])<<8 | int(b[3221])
	for i := range 4 {
		b[3600+i*(240+4*samples)+99] = 6 // byte 100, the lower one of 99 and 100
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}
