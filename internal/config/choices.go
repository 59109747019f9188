package config

import "github.com/kirchhoff-lsm/lsm/traveltime"

// Choice is one value of a key whose values another package registers.
type Choice struct {
	Name   string
	Help   string   // what it does, a sentence without its period
	Traits []string // what conditions may ask it for, such as "tables"
}

// registries are the values of the keys with the tag choices:"registry".
var registries = map[string][]Choice{
	"traveltime.method": traveltimes(),
}

func traveltimes() (list []Choice) {
	for _, m := range traveltime.Choices() {
		c := Choice{Name: m.Name, Help: m.Help}
		if m.NeedsTables {
			c.Traits = append(c.Traits, "tables")
		}
		if m.NeedsConstant {
			c.Traits = append(c.Traits, "constant")
		}
		list = append(list, c)
	}
	return list
}
