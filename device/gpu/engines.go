package gpu

import (
	"slices"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
)

// Engines are those whose cards the program can use, in the order in which they are preferred.
var Engines = []accel.Engine{driver.CUDA, driver.HIP}

// EngineOf returns the engine with a name of a configuration, nil for one without cards.
func EngineOf(name string) accel.Engine {
	return where(func(e accel.Engine) bool { return e.String() == name })
}

// CarriedBy returns the engine whose cards' buffers a backend of a configuration carries, such as
// "nccl"; nil for one that carries any.
func CarriedBy(backend string) accel.Engine {
	return where(func(e accel.Engine) bool { return e.Facts().Collectives.Name == backend })
}

func where(is func(accel.Engine) bool) accel.Engine {
	if i := slices.IndexFunc(Engines, is); i >= 0 {
		return Engines[i]
	}
	return nil
}

// Names returns the names of Engines.
func Names() (names []string) {
	for _, e := range Engines {
		names = append(names, e.String())
	}
	return names
}
