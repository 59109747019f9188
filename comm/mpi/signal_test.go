//go:build mpi

package mpi

import (
	"strings"
	"testing"
)

// Libraries come with handlers for faults; a fault of Go must stay a panic that
// can be recovered from.
func TestFaultsStayPanics(t *testing.T) {
	if !asRanks(t, 1) {
		return
	}
	defer func() {
		err, _ := recover().(error)
		if err == nil || !strings.Contains(err.Error(), "nil pointer") {
			t.Errorf("recovered %v, want a nil pointer dereference", err)
		}
	}()
	var nobody *group
	t.Log(nobody.size)
}
