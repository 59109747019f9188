package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// TestModelMutants gives HDF5 files to lsm import --model that seeded damage was done to, as many
// as LSM_TEST_DAMAGE says (20). It wants of them what TestMutants wants. The other formats are
// damaged in internal/modelfile.
func TestModelMutants(t *testing.T) {
	mutants := 20
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
	sound := modelSeeds(t)
	counts := map[int]int{}
	for i := range mutants {
		random := rand.New(rand.NewPCG(1997, uint64(i)))
		b, damage := mutate(random, bytes.Clone(sound[i%len(sound)]))
		name := fmt.Sprintf("mutant %d (%s)", i, damage)
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "in.h5"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, folder)
		code, said := mutantRun(t, name, folder, program, "import", "--model", "in.h5", "-o", "out.h5", "--dataset", []string{"m", "velocity", "m"}[i%len(sound)])
		counts[code]++
		switch code {
		case status.Done:
			if code, said := mutantRun(t, name, folder, program, "info", "out.h5", "--verify"); code != status.Done {
				t.Fatalf("%s: info: status %d\n%s", name, code, said)
			}
		case status.BadUsage, status.BadInput, status.NoResource:
			soundMessage(t, said)
			same(t, before, snapshot(t, folder))
		default:
			t.Fatalf("%s: status %d\n%s", name, code, said)
		}
		if t.Failed() {
			t.Fatalf("%s\n%s", name, said)
		}
	}
	t.Logf("%d mutants: %d imported, %d refused", mutants, counts[status.Done], mutants-counts[status.Done])
	if counts[status.Done] == mutants {
		t.Error("the damage is too small to tell anything")
	}
}

// modelSeeds are a file as JUDI has it, one of lsm, and the first after a user block.
func modelSeeds(t *testing.T) (list [][]byte) {
	t.Helper()
	folder := t.TempDir()
	g := grid.Grid{Origin: []float64{100, 0}, Spacing: []float64{10, 5}, Shape: []int{6, 4}}
	v := filled(g.Len(), 0.25)
	judi, own := filepath.Join(folder, "judi.h5"), filepath.Join(folder, "own.h5")
	w, err := h5.Create(judi, "", h5.WriteOptions{})
	for name, list := range map[string][]float64{"/n": {6, 4}, "/d": g.Spacing, "/o": g.Origin} {
		if err == nil {
			err = h5.Write(w, name, []int{2}, list)
		}
	}
	if err == nil {
		err = h5.Write(w, "/m", []int{4, 6}, v)
	}
	if err == nil {
		err = w.Commit()
	}
	if err == nil {
		err = h5.WriteModel(own, g, filled(g.Len(), 2000), h5.WriteOptions{})
	}
	for _, path := range []string{judi, own} {
		b, fault := os.ReadFile(path)
		if err != nil || fault != nil {
			t.Fatal(err, fault)
		}
		list = append(list, b)
	}
	return append(list, slices.Concat(make([]byte, 512), list[0]))
}
