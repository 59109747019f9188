package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/lockfile"
)

// everyWriter are the commands that write output.file.
const everyWriter = "run config.toml; migrate config.toml; traveltime config.toml; model config.toml --reflectivity reflectivity.h5"

// to gives each of these commands an output.
func to(output, commands string) string {
	lines := strings.Split(commands, ";")
	for i := range lines {
		lines[i] += " --set output.file=" + output
	}
	return strings.Join(lines, ";")
}

func badOutputs() []bad {
	return []bad{
		{"output exists", text("out.h5", "precious"), everyWriter + "; check config.toml", usageFault, `^lsm: out\.h5: already exists; --force overwrites`},
		{"adjoint output exists", text("adjoint.h5", "precious"), "run config.toml --set output.adjoint=adjoint.h5", usageFault, `^lsm: adjoint\.h5: already exists`},
		{"output in no folder", nil, to("missing/out.h5", everyWriter), usageFault, `^lsm: missing/out\.h5: there is no folder missing\n`},
		{"output is a folder", folder("out.h5"), everyWriter + "; run config.toml --force", usageFault, `^lsm: out\.h5: is a folder, want the name of a file`},
		{"output is a device", nil, to("/dev/null", everyWriter), usageFault, `^lsm: /dev/null: is not a regular file`},
		{"output under a file", nil, to("survey.h5/out.h5", "run config.toml"), resourceFault, `^lsm: survey\.h5/out\.h5: not a directory`},
		{"synth over a file of its own", both(folder("d"), text("d/model.h5", "precious")), "synth points -o d", usageFault, `^lsm: d/model\.h5: already exists`},
		{"synth over a configuration", both(folder("d"), text("d/config.toml", "precious")), "synth points -o d", usageFault, `^lsm: d/config\.toml: already exists`},
		{"synth over a README", both(folder("d"), text("d/README.md", "precious")), "synth points -o d", usageFault, `^lsm: d/README\.md: already exists`},
		{"synth into a file", text("d", "precious"), "synth points -o d", resourceFault, `^lsm: synth: mkdir d: not a directory`},
		{"another run writes the output", taken("out.h5"), everyWriter + "; run config.toml --force; migrate config.toml --force", usageFault, `^lsm: out\.h5: another run is writing it: process \d+ on .*, since 2.*\nhint: wait`},
		{"another run writes the adjoint", taken("adjoint.h5"), "run config.toml --set output.adjoint=adjoint.h5", usageFault, `^lsm: adjoint\.h5: another run is writing it`},
		{"another run keeps such checkpoints", both(folder("kept"), taken("kept/out")), "run config.toml --set checkpoint.folder=kept", usageFault, `^lsm: checkpoint\.folder: kept/out: another run is writing it`},
		{"checkpoints in a file", text("checkpoints", "precious"), "run config.toml --set checkpoint.iterations=1", resourceFault, `^lsm: checkpoint: .*checkpoints: not a directory`},
	}
}

// taken locks an output as another run does.
func taken(path string) func(t *testing.T) {
	return func(t *testing.T) {
		l, err := lockfile.Take(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Release)
	}
}

func badResources() []bad {
	of := func(name, args, says string) bad { return bad{name, nil, args, resourceFault, `^lsm: ` + says} }
	return []bad{
		of("too little memory", "run config.toml --set machine.memory_gib=1e-6; migrate config.toml --set machine.memory_gib=1e-6",
			`memory: this run needs [\d.]+ [KM]iB \(tables .*\); the limit is 1\.0 KiB\nhint: .*machine\.memory_gib`),
		of("engine cuda", "run config.toml --set kirchhoff.engine=cuda; traveltime config.toml --set kirchhoff.engine=cuda", `kirchhoff\.engine: "cuda": the CUDA driver cannot be loaded: .*\nhint: engine = "cpu"`),
		of("engine hip", "migrate config.toml --set kirchhoff.engine=hip", `kirchhoff\.engine: "hip": `),
		of("synth on no GPU", "synth points -o d --set kirchhoff.engine=cuda", `kirchhoff\.engine: "cuda": `),
	}
}

// The program as a child of the test.
const asProgram = "LSM_TEST_ARGS"

// TestAsProgram is no test but the program, where another test starts it so.
func TestAsProgram(t *testing.T) {
	if args := os.Getenv(asProgram); args != "" {
		os.Exit(run(strings.Fields(args), os.Stdout, os.Stderr))
	}
}

// TestFullDisk meets the end of the disk in every command that writes. A limit
// on the size of files fails in the same places, and needs no rights to set up.
func TestFullDisk(t *testing.T) {
	quietEnvironment(t)
	sound := soundFiles(t)
	for _, args := range []string{
		"run config.toml",
		"run config.toml --set output.adjoint=adjoint.h5",
		"run config.toml --set checkpoint.iterations=1",
		"migrate config.toml",
		"traveltime config.toml",
		"model config.toml --reflectivity reflectivity.h5",
		"synth points -o d --shots 2 --channels 2",
		"migrate config.toml --force --set output.file=reflectivity.h5",
		"velocity survey.h5 -o new.h5 --at 0:1500 --depth 500 --spacing 5",
		"process survey.h5 gain=1 -o new.h5",
		"process survey.h5 decon=spiking,0.02 -o new.h5",
		"export survey.h5 -o new.sgy",
		"plot model.h5 -o new.png",
		"wavelet survey.h5 -o new.h5 --length 0.05",
	} {
		for _, blocks := range []string{"0", "4"} { // of 512 or 1024 bytes, for each file
			t.Run(args+" "+blocks, func(t *testing.T) {
				t.Chdir(sound.copy(t))
				before := snapshot(t, ".")
				var out, errs bytes.Buffer
				cmd := exec.Command("sh", "-c", `ulimit -f `+blocks+` && exec "$0" -test.run='^TestAsProgram$'`, os.Args[0])
				cmd.Env = append(os.Environ(), asProgram+"="+args)
				cmd.Stdout, cmd.Stderr = &out, &errs
				err := cmd.Run()
				t.Logf("%v\n%s", err, &errs)
				if cmd.ProcessState.ExitCode() != resourceFault {
					t.Errorf("status %d, want %d", cmd.ProcessState.ExitCode(), resourceFault)
				}
				if !strings.Contains(errs.String(), "file too large") {
					t.Error("the message does not say why")
				}
				soundMessage(t, errs.String())
				same(t, before, snapshot(t, "."))
			})
		}
	}
}

// TestAddressSpace starts the program with less address space than Go needs to begin.
func TestAddressSpace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skipf("not run: limits on address space are looked at on Linux, this is %s", runtime.GOOS)
	}
	t.Chdir(soundFiles(t).copy(t))
	for _, mib := range []int{100, 300, 500, 800, 1000} {
		for _, args := range []string{"run config.toml", "version --json"} {
			var out, errs bytes.Buffer
			cmd := exec.Command("sh", "-c", fmt.Sprintf("ulimit -v %d && exec lsm %s", mib<<10, args))
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			if least := 300; mib < least && strings.Contains(errs.String(), "error while loading shared libraries") {
				t.Logf("%d MiB: not even the libraries fit: the loader says so before the program begins", mib)
				continue
			}
			if code := cmd.ProcessState.ExitCode(); code != resourceFault {
				t.Errorf("%d MiB: lsm %s: %v, want status %d\n%s", mib, args, err, resourceFault, &errs)
				continue
			}
			says := fmt.Sprintf("memory: the limit on address space (ulimit -v) is %d MiB, this program needs ", mib)
			if strings.Contains(args, "--json") {
				soundEvent(t, out.Bytes(), resourceFault, out.String())
			} else {
				soundMessage(t, errs.String())
			}
			if !strings.Contains(out.String()+errs.String(), says) {
				t.Errorf("%d MiB: lsm %s: says %s%s", mib, args, &out, &errs)
			}
		}
	}
}

// TestReadOnlyFolder needs a folder that even root cannot write into.
func TestReadOnlyFolder(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(soundFiles(t).copy(t))
	folder(`locked`)(t)
	if err := os.Chmod("locked", 0o555); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Skip("root may write into any folder")
	}
	for _, line := range strings.Split(to("locked/out.h5", everyWriter), ";") {
		refuse(t, strings.Fields(line), resourceFault, mustSay(`^lsm: locked/out\.h5: cannot write in its folder: permission denied`))
	}
}
