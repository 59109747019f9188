package main

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// oneRank refuses a run that a launcher started as several ranks: without MPI
// each of them would do all the work, and all would write the same files. With
// comm.backend = "self" that is what the user asks for.
func oneRank(cfg *config.Config, environ []string) error {
	l := machine.ReadLauncher(environ)
	if l.Ranks < 2 || cfg.Comm.Backend == "self" {
		return nil
	}
	return status.Hint(
		status.Resource(fmt.Errorf("comm.backend: %s started %d ranks, but this version of lsm has no MPI: each would do the whole run", l.Name, l.Ranks)),
		`start one process, which uses all its cores; with backend = "self" each rank runs alone`)
}
