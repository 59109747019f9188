package main

import (
	"fmt"

	"github.com/dustin/go-humanize/english"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
)

// meaning says how this machine would carry out a value of a configuration key.
type meaning struct {
	Key   string `json:"key"` // with its value, such as "comm.backend = \"auto\""
	Means string `json:"means"`
}

// keys says what the keys of engines and communicators come to on this machine.
func (f found) keys(l machine.Launcher) (list []meaning) {
	add := func(key, format string, args ...any) {
		list = append(list, meaning{key, fmt.Sprintf(format, args...)})
	}
	card := f.card()
	if card != nil {
		add(`kirchhoff.engine = "auto"`, "%v or cpu, whichever takes less time for a sample of the survey", card)
	} else {
		add(`kirchhoff.engine = "auto"`, "cpu: no GPU works")
	}
	for _, engine := range gpu.Engines {
		key := fmt.Sprintf("kirchhoff.engine = %q", engine)
		if f[engine.String()].Works() {
			add(key, "%v", engine)
		} else {
			add(key, "an error")
		}
	}
	add(`comm.backend = "auto"`, "%s", f.between("auto", l, card))
	add(`comm.backend = "mpi"`, "%s", f.between("mpi", l, card))
	for _, engine := range gpu.Engines {
		name := nccl.Backend(engine)
		key := fmt.Sprintf("comm.backend = %q", name)
		if f[name].Works() {
			add(key, "%s between GPUs, %s beside it", name, f.ranks(name, l))
			add(key+`, fallback = "mpi"`, "the same, and mpi alone from an iteration in which %s fails", name)
			continue
		}
		add(key, "an error")
		if f[engine.String()].Works() {
			add(key+`, fallback = "mpi"`, "%s", f.between(name, l, engine))
		} else {
			add(key+`, fallback = "mpi"`, "%s, on the cpu", f.ranks(name, l))
		}
	}
	return list
}

// card is the engine of the GPUs that engine = "auto" may take, nil for none.
func (f found) card() accel.Engine {
	for _, engine := range gpu.Engines {
		if f[engine.String()].Works() {
			return engine
		}
	}
	return nil
}

// ranks is the communicator of the run's ranks, or the error that a run ends with.
func (f found) ranks(want string, l machine.Launcher) string {
	name, _, err := cli.ChooseComm(want, l)
	switch r := f["mpi"]; {
	case err != nil:
		return "an error"
	case name == "mpi" && !r.Works():
		return "mpi, which fails: " + r.Error
	}
	return name
}

// between says how a backend would communicate between ranks and, if card is not nil, between GPUs.
func (f found) between(want string, l machine.Launcher, card accel.Engine) string {
	name := f.ranks(want, l)
	if name != "mpi" || card == nil {
		return name
	}
	means, ways := "mpi, and sums between GPUs go through the host", []string{"mpi-staged", "mpi-onesided"}
	if f.takes(card).Takes {
		means, ways = "mpi, which is given the memory of GPUs", append([]string{"mpi"}, ways...)
	}
	if want != "auto" {
		return means
	}
	if library := nccl.Backend(card); f[library].Works() {
		means, ways = fmt.Sprintf("mpi, and %s between GPUs", library), append([]string{library}, ways...)
	}
	return fmt.Sprintf(`%s; with reproducible = "ranks" the fastest of %s`, means, english.WordSeries(ways, "and"))
}
