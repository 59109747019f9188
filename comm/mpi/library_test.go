package mpi

import (
	"reflect"
	"strings"
	"testing"
)

// The library that goes with the launcher comes first, and one that is named alone.
func TestWanted(t *testing.T) {
	open, mpich := files["openmpi"], files["mpich"]
	for _, c := range []struct {
		variables string
		want      []string
	}{
		{"", append(append([]string{}, open...), mpich...)},
		{"PMI_RANK=0", append(append([]string{}, mpich...), open...)},
		{"PMIX_RANK=0", append(append([]string{}, open...), mpich...)},
		{"OMPI_COMM_WORLD_SIZE=2 PMI_RANK=0", append(append([]string{}, open...), mpich...)}, // inherited from a step of Slurm
		{Variable + "=mpich OMPI_COMM_WORLD_SIZE=2", mpich},
		{Variable + "=/some/libmpi.so", []string{"/some/libmpi.so"}},
	} {
		t.Run(c.variables, func(t *testing.T) {
			for _, s := range started {
				t.Setenv(s.variable, "")
			}
			t.Setenv(Variable, "")
			for _, v := range strings.Fields(c.variables) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			l := findWanted()
			if got := l.Candidates(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// A library that is none of MPI's is refused with the name of what it lacks.
func TestNoMPI(t *testing.T) {
	t.Setenv(Variable, "libm.so.6")
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "libm.so.6 has no MPI_Init_thread") {
		t.Errorf("got %v", err)
	}
	t.Setenv(Variable, "/none")
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "MPI cannot be loaded") {
		t.Errorf("got %v", err)
	}
}
