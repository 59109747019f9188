package config

import (
	"maps"
	"slices"

	"github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
	"github.com/kirchhoff-lsm/lsm/solver"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Choice is one value of a text key that another package offers.
type Choice struct {
	Name   string
	Help   string   // what it does, a sentence without its period
	Traits []string // what conditions may ask it for, such as "tables"
}

// registries are the offered values by key, in addition to those of the tag choices.
var registries = map[string][]Choice{
	"traveltime.method": traveltimes(),
	"kirchhoff.engine":  operators(),
	"solver.method":     methods(),
}

func operators() (list []Choice) {
	for _, e := range engines.Table {
		if !e.Library {
			list = append(list, Choice{Name: e.Name, Help: e.Text})
		}
	}
	return list
}

// Register offers values of a text key, such as "solver.regularization", before the
// first configuration is read: packages above this one call it where they initialise. It
// returns true, for a variable without a name.
func Register(key string, choices ...Choice) bool {
	registries[key] = append(registries[key], choices...)
	return true
}

func methods() (list []Choice) {
	for _, m := range solver.Methods {
		list = append(list, Choice{Name: m.Name, Help: m.Description})
	}
	return append(list,
		Choice{Name: "matching", Help: "the migrated image filtered by what undoes one more pass of modelling and migration (Guitton 2004), at the cost of about two iterations"})
}

func traveltimes() (list []Choice) {
	for _, m := range traveltime.Choices {
		has := map[string]bool{"tables": m.NeedsTables, "constant": m.NeedsConstant}
		for _, d := range m.Domains {
			has[d.String()] = true
		}
		list = append(list, Choice{m.Name, m.Help, traits(has)})
	}
	return list
}

// traits lists those that a choice has.
func traits(has map[string]bool) []string {
	maps.DeleteFunc(has, func(_ string, has bool) bool { return !has })
	return slices.Collect(maps.Keys(has))
}
