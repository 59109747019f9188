package target

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/blas"
	"github.com/kirchhoff-lsm/lsm/dist/dense"
	"github.com/kirchhoff-lsm/lsm/internal/job"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// newGrid shares H with n rows out to the ranks of a job. H lies on their cards if they have
// some, with a library, and room for it, else in host memory. done gives the library back. It is
// collective.
func newGrid(j *job.Job, n int) (g *dense.Grid, done func(), err error) {
	rows, columns := dense.Shape(j.World.Size())
	if j.Card != nil {
		l, why := onCard(j, int64(n), rows, columns)
		if why = comm.Together(j.World, why); why == nil {
			g, err = dense.NewGrid(carrier(j), rows, columns, j.Card, l)
			return g, func() { l.Close() }, err
		}
		if l != nil {
			l.Close() // another rank has none
		}
		j.Report.Infof("target: H lies in host memory: %v", why)
	}
	g, err = hostGrid(j)
	return g, func() {}, err
}

// hostGrid shares a matrix in host memory out to the ranks of a job. It is collective.
func hostGrid(j *job.Job) (*dense.Grid, error) {
	rows, columns := dense.Shape(j.World.Size())
	l, err := blas.Choose("auto", j.Host.Threads())
	if err := j.Together(err); err != nil {
		return nil, err
	}
	return dense.NewGrid(j.World, rows, columns, j.Host, l)
}

// onCard opens the library of a card that has room for H and for columns to solve for. They and
// the operator may take half of the memory.
func onCard(j *job.Job, n int64, rows, columns int) (*blas.Card, error) {
	cuts := dense.Cut(int(n), dense.Tile)
	need := dense.Bytes(device.F64, cuts, cuts, rows, columns) + 4*8*n*(batch+dense.Tile)
	m := j.Memory()
	if limit := m.CardLimit / 2; m.Card+need > limit {
		return nil, status.Resource(fmt.Errorf("on the GPU it would take %s beside %s of the operator, of %s",
			readable.Bytes(need), readable.Bytes(m.Card), readable.Bytes(limit)))
	}
	return blas.NewCard(j.Card)
}

// carrier is what carries H between cards: the run's communicator, through the host unless it
// takes memory of GPUs. The cards' own library is for work that is made again when it fails.
func carrier(j *job.Job) comm.Comm {
	if mpi.Aware(j.Card.Space()) {
		return j.World
	}
	return comm.Staged(j.World)
}
