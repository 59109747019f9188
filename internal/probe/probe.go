// Package probe loads a library, asks it for its version and has it do something small
// whose result is known. It does so in a child process: a library that crashes or hangs does not
// stop this one.
package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/mpi"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Report holds the findings about a library.
type Report struct {
	Subject  string                `json:"library"`            // one of Subjects
	About    string                `json:"about"`              // the library with its version; "" if it could not be loaded
	Cards    []accel.Card          `json:"cards,omitempty"`    // of a driver
	Programs string                `json:"programs,omitempty"` // where the cards' programs come from
	Claims   map[string]comm.Claim `json:"claims,omitempty"`   // of MPI, by the kind of GPU memory
	Tried    bool                  `json:"tried,omitempty"`    // by MPI: it was given something to send
	Did      string                `json:"did,omitempty"`      // what it did right
	Error    string                `json:"error,omitempty"`    // why it did not do more
	Hint     string                `json:"hint,omitempty"`
}

// Loaded reports whether the library could be loaded and told its version.
func (r *Report) Loaded() bool { return r.About != "" }

// Works reports whether the library did what it was asked to.
func (r *Report) Works() bool { return r.Did != "" && r.Error == "" }

// trial tries a library. It adds to its report and calls told where that is worth knowing
// even if the library crashes later. compile is a command that compiles kernels.
type trial func(r *Report, engine accel.Engine, compile []string, told func()) error

// subject is a trial, with an engine of cards or nil.
type subject struct {
	trial
	engine accel.Engine
}

// subjects are all that can be tried.
var subjects = func() map[string]subject {
	all := map[string]subject{"openblas": {products, nil}, "mpi": {message, nil}}
	for _, e := range gpu.Engines {
		all[e.String()] = subject{cards, e}
		all[e.Facts().Collectives.Name] = subject{link, e}
		all[e.Facts().Matrices.Name] = subject{cardProducts, e}
		all["mpi-"+e.String()] = subject{cardMessage, e}
	}
	return all
}()

// Subjects are the libraries that can be tried: the drivers "cuda" and "hip", the
// communicators "nccl", "rccl" and "mpi", MPI with memory of a card, "mpi-cuda" and "mpi-hip",
// and the libraries for matrices "openblas", "cublas" and "hipblas".
func Subjects() (names []string) {
	for name := range subjects {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Serve tries a library in this process and writes reports to out as lines of JSON. Later
// ones say more. compile is a command that compiles kernels, see accel.Driver.
func Serve(subject string, compile []string, out io.Writer) error {
	s, known := subjects[subject]
	if !known {
		return status.Usage(fmt.Errorf("probe: library %q is unknown, want one of %v", subject, Subjects()))
	}
	r := &Report{Subject: subject}
	lines := json.NewEncoder(out)
	err := s.trial(r, s.engine, compile, func() { _ = lines.Encode(r) }) // the last line reports a broken pipe
	if err != nil {
		r.Error, r.Hint = err.Error(), status.HintOf(err)
	}
	return lines.Encode(r)
}

// numbers is the length of the arrays that are tried.
const numbers = 1000

// ramp is 1, 2, 3, …
func ramp() []float32 {
	x := make([]float32, numbers)
	for i := range x {
		x[i] = float32(i + 1)
	}
	return x
}

// holds makes sure that x is a ramp, times a factor.
func holds(x device.Buf, factor float32) error {
	got := make([]float32, numbers)
	if err := device.Download(got, x); err != nil {
		return err
	}
	for i, v := range ramp() {
		if got[i] != factor*v {
			return status.Numerical(fmt.Errorf("element %d is %g, want %g", i, got[i], factor*v))
		}
	}
	return nil
}

// onCard puts a ramp on a card and calls f with it.
func onCard(engine accel.Engine, number int, compile []string, f func(d *gpu.Device, x device.Buf) error) error {
	d, err := gpu.Open(gpu.Options{Engine: engine, Card: number, Cache: accel.UserCache(), Child: compile})
	if err != nil {
		return err
	}
	defer d.Close()
	x, err := d.Alloc(numbers, device.F32)
	if err != nil {
		return err
	}
	if err := device.Upload(x, ramp()); err != nil {
		return err
	}
	return f(d, x)
}

// cards has every card of a driver compute.
func cards(r *Report, engine accel.Engine, compile []string, told func()) error {
	lib, err := engine.Open()
	if err != nil {
		return err
	}
	if r.About, err = lib.About(); err != nil {
		return err
	}
	told()
	if r.Cards, err = lib.Cards(); err != nil {
		return err
	}
	told()
	for _, c := range r.Cards {
		if err := onCard(engine, c.Index, compile, func(d *gpu.Device, x device.Buf) error {
			r.Programs = d.Programs()
			if err := d.Axpby(1, x, 1, x); err != nil {
				return err
			}
			return holds(x, 2)
		}); err != nil {
			return fmt.Errorf("GPU %d: %w", c.Index, err)
		}
	}
	r.Did = readable.Count(len(r.Cards), "GPU") + " copied and added numbers"
	return nil
}

// link sums over one rank by NCCL or RCCL.
func link(r *Report, engine accel.Engine, compile []string, told func()) error {
	lib, err := nccl.Open(engine)
	if err != nil {
		return err
	}
	r.About = lib.String()
	told()
	return onCard(engine, 0, compile, func(d *gpu.Device, x device.Buf) error {
		g, err := nccl.New(comm.Self(), d, nccl.Options{})
		if err != nil {
			return err
		}
		defer g.Close()
		if err := g.AllReduce(x); err != nil {
			return err
		}
		r.Did = "it summed numbers on GPU 0"
		return holds(x, 1)
	})
}

// joined joins MPI as one rank and asks it what it is.
func joined(r *Report, told func(), f func(c comm.Comm) error) error {
	c, err := mpi.Open()
	if err != nil {
		return err
	}
	defer mpi.Close()
	r.About, r.Claims = mpi.About(), map[string]comm.Claim{}
	for _, e := range gpu.Engines {
		s := e.Facts().Space
		r.Claims[s.String()] = mpi.Claim(s)
	}
	told()
	return f(c)
}

// echo sends x to this very rank, which receives it in y and sums it over itself alone.
func echo(r *Report, c comm.Comm, x, y device.Buf, where string, told func()) error {
	r.Tried = true
	told()
	if err := c.SendRecv(x, c.Rank(), y, c.Rank()); err != nil {
		return err
	}
	if err := c.AllReduce(y); err != nil {
		return err
	}
	r.Did = "it sent and summed numbers in the memory of " + where
	return holds(y, 1)
}

// message sends numbers in the host's memory by MPI.
func message(r *Report, _ accel.Engine, _ []string, told func()) error {
	return joined(r, told, func(c comm.Comm) error {
		host := device.NewHost(1)
		return echo(r, c, device.Wrap(host, ramp()), device.Wrap(host, make([]float32, numbers)), "the host", told)
	})
}

// cardMessage sends numbers in a card's memory by MPI, which must claim to take them.
func cardMessage(r *Report, engine accel.Engine, compile []string, told func()) error {
	return joined(r, told, func(c comm.Comm) error {
		return onCard(engine, 0, compile, func(d *gpu.Device, x device.Buf) error {
			if claim := r.Claims[d.Space().String()]; !claim.Takes {
				return status.Resource(fmt.Errorf("%s", claim.Why))
			}
			y, err := d.Alloc(numbers, device.F32)
			if err != nil {
				return err
			}
			return echo(r, c, x, y, "GPU 0", told)
		})
	})
}

// Judge says whether MPI, which claims to take the memory of an engine's cards, is given
// it: not if it failed to send some. A trial that could not come to that leaves the claim
// as it is.
func Judge(claim comm.Claim, trial *Report) comm.Claim {
	switch {
	case trial.Works():
		claim.Why += ", and in a trial " + trial.Did
	case trial.Tried:
		claim.Takes = false
		claim.Why += ", but in a trial: " + trial.Error
	default:
		claim.Why += ", and it could not be tried: " + trial.Error
	}
	return claim
}
