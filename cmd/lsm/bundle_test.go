package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

// proof is the part of prove.sh's report.json that tests look at.
type proof struct {
	GPU, Compiler, Kernel string
	Failed                int
	Sections              []struct {
		Section, Status, Reason string
		Seconds                 float64
		Commands                []string
		Figures                 []map[string]any
	}
}

// prove runs a bundle's prove.sh and returns what it reports, by section "STATUS reason".
func prove(t *testing.T, bundle string, environ []string, sections ...string) (p proof, by map[string]string, failed bool) {
	t.Helper()
	out := t.TempDir()
	cmd := exec.Command("bash", append([]string{filepath.Join(bundle, "prove.sh"), "-o", out}, sections...)...)
	cmd.Env = append(os.Environ(), environ...)
	said, err := cmd.CombinedOutput()
	text, readErr := os.ReadFile(filepath.Join(out, "report.json"))
	if readErr != nil {
		t.Fatalf("%v (%v)\n%s", readErr, err, said)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	report, err2 := os.ReadFile(filepath.Join(out, "report.txt"))
	if err2 != nil {
		t.Fatal(err2)
	}
	by = map[string]string{}
	for _, s := range p.Sections {
		by[s.Section] = s.Status + " " + s.Reason
		if !strings.Contains(string(report), fmt.Sprintf("%-22s %-8s", s.Section, s.Status)) {
			t.Errorf("report.txt does not say that %s is %s:\n%s", s.Section, s.Status, report)
		}
	}
	if t.Failed() || testing.Verbose() {
		log, _ := os.ReadFile(filepath.Join(out, "log.txt"))
		t.Logf("%s\n%s\n%s", said, report, log)
	}
	return p, by, err != nil
}

// The bundle that make gpu-bundle packs proves the emulated GPU, without this tree.
func TestBundle(t *testing.T) {
	if !gputest.Long() {
		t.Skip("with LSM_TEST_LONG (make test-long): it builds the tests of a package anew")
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // before emulatedCards names another
	if err != nil {
		t.Skip(err)
	}
	gputest.Cards(t, 1)
	if why := gputest.Missing(); why != "" {
		t.Skip(why)
	}
	bundle := filepath.Join(t.TempDir(), "bundle")
	pack := exec.Command("../../scripts/gpu-bundle.sh", bundle)
	pack.Env = append(os.Environ(), "GOCACHE="+strings.TrimSpace(string(cache)), "MPI=none", "PACKAGES=device/gpu")
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	small := []string{"PROVE_SMALL=1"}
	p, by, failed := prove(t, bundle, small, "carried", "kernels", "vectors", "operator", "speed", "solve", "nccl", "matrices")
	for section, want := range map[string]string{
		"machine": "OK", "carried": "OK", "kernels": "OK", "vectors": "OK", "speed": "OK", "solve": "OK", "nccl": "OK", "matrices": "OK",
		"operator": "SKIPPED the bundle has no tests of kirchhoff-gpu",
	} {
		if strings.TrimSpace(by[section]) != want {
			t.Errorf("%s: %s, want %s", section, by[section], want)
		}
	}
	if failed || p.Failed != 0 || p.GPU != "emulated GPU" || !strings.HasPrefix(p.Compiler, "compiled by ") || len(p.Sections) != 9 {
		t.Errorf("failed %v: %+v", failed, p)
	}
	for _, s := range p.Sections {
		switch {
		case s.Section == "vectors" && (len(s.Figures) != 1 || s.Figures[0]["failed"] != 0. || s.Figures[0]["passed"].(float64) < 5 || len(s.Commands) != 1),
			s.Section == "speed" && (len(s.Figures) != 4 || s.Figures[3]["case"] != "3-D, weights" || !(s.Figures[3]["forward_issue_share"].(float64) > 0)),
			s.Section == "solve" && (len(s.Figures) != 1 || s.Figures[0]["taken"] == nil):
			t.Errorf("%s: %+v", s.Section, s)
		}
	}

	// A GPU that cannot be opened.
	_, by, failed = prove(t, bundle, append(small, "GPUEMU_FAULT=cuDevicePrimaryCtxRetain:1:2"), "speed")
	if !failed || !strings.HasPrefix(by["speed"], "FAILED exit status 4: ") ||
		!strings.HasPrefix(by["machine"], "FAILED exit status 1:   not engine cuda") {
		t.Errorf("a GPU that cannot be opened: failed %v: %v", failed, by)
	}
	_, by, failed = prove(t, bundle, append(small, "LSM_CUDA_LIB=/none/libcuda.so"), "machine", "vectors")
	if !failed || !strings.HasPrefix(by["machine"], "FAILED exit status 1:   not engine cuda: the CUDA driver cannot be loaded") || by["vectors"] != "SKIPPED no GPU that lsm can use" {
		t.Errorf("no GPU: failed %v: %v", failed, by)
	}
}

// What hangs is cut and has failed, what is left is skipped, and a section has failed whose main
// test is skipped, or all within it; the report says so.
func TestProveEnds(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"bin/lsm":                    `if [ "$1" = doctor ]; then echo '{"event":"gpu","engine":"cuda","name":"a \\ card","arch":"sm_1"}'; fi`,
		"bin/device-gpu.test":        "echo '    gpu_test.go:1: no card'; echo '--- SKIP: TestCUDA (0.00s)'; echo '--- PASS: TestOther (0.00s)'",
		"bin/imaging.test":           "echo '=== RUN   TestOnCards'; echo '    card_test.go:1: no such card'; echo '--- PASS: TestOnCards (0.00s)'; echo '    --- SKIP: TestOnCards/cuda (0.00s)'",
		"bin/traveltime-gpu.test":    "echo '--- PASS: TestTimes (0.00s)'; echo '    --- PASS: TestTimes/cuda (0.00s)'; echo '    --- SKIP: TestTimes/hip (0.00s)'",
		"bin/device-driver.test":     "echo FAILED",
		"bin/internal-pipeline.test": "trap '' TERM; echo $$ >" + folder + "/stubborn; while true; do sleep 1; done",
	} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/bash\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("tar", "-C", folder, "-czf", filepath.Join(folder, "payload.tgz"), "bin").CombinedOutput(); err != nil {
		t.Skipf("tar: %v %s", err, out)
	}
	script, err := filepath.Abs("../../scripts/prove.sh")
	if err == nil {
		err = os.Symlink(script, filepath.Join(folder, "prove.sh"))
	}
	if err != nil {
		t.Fatal(err)
	}
	// Sections as they come, and then those after the one that is cut.
	p, by, failed := prove(t, folder, nil, "speed", "vectors", "operator", "images", "traveltimes")
	for section, want := range map[string]string{
		"machine": "OK ", "vectors": "FAILED exit status 1: lsm: TestCUDA did not run:     gpu_test.go:1: no card",
		"images":      "FAILED exit status 1: lsm: TestOnCards did not run:     card_test.go:1: no such card",
		"traveltimes": "OK ", "operator": "SKIPPED the bundle has no tests of kirchhoff-gpu",
		"speed": "FAILED exit status 1: lsm: the operator gave no result",
	} {
		if !strings.HasPrefix(by[section], want) {
			t.Errorf("%s: %s, want %s", section, by[section], want)
		}
	}
	if !failed || p.Failed != 3 {
		t.Errorf("failed %v: %+v", failed, p)
	}
	p, by, failed = prove(t, folder, []string{"PROVE_SECONDS=10"}, "solver", "racecheck", "peers")
	for section, want := range map[string]string{
		"machine": "OK ", "solver": "FAILED cut after ", "racecheck": "SKIPPED no time was left", "peers": "SKIPPED no time was left",
	} {
		if !strings.HasPrefix(by[section], want) {
			t.Errorf("%s: %s, want %s", section, by[section], want)
		}
	}
	if !failed || p.Failed != 1 || p.GPU != `a \\ card` {
		t.Errorf("failed %v: %+v", failed, p)
	}
	text, err := os.ReadFile(filepath.Join(folder, "stubborn"))
	if err != nil {
		t.Fatal(err)
	}
	if cmdline, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(text)), "cmdline")); err == nil && len(cmdline) > 0 {
		t.Errorf("process %s goes on: %q", text, cmdline)
	}
}
