// Package engines is the table of the features that each engine of the operator offers. A
// feature that an engine lacks is refused: by the configuration, which names the key that
// asks for it, and by the engine's constructor for other programs.
package engines

import (
	"slices"
	"strings"
)

// Features is a set of bits, one for each feature that an engine may offer.
type Features uint32

const (
	Gathers    Features = 1 << iota // an image for each class
	Streamed                        // data that are never held as a whole
	Recomputed                      // tables that every application recomputes
	Coarse                          // the same, interpolated from coarse ones
	Dynamic                         // dynamic weights, also of given amplitudes
	DipLimit
	OpeningLimit
	Antialias
	Aperture // traces count near their midpoints alone
	Exact    // sums that do not depend on how the work is shared out
	Diagonal // the operator with its elements squared
	Several  // several arrivals at a point, or waves that have turned at caustics

	all = 1<<iota - 1
)

// names are the features' names in messages, in the order of their bits.
var names = []string{"images by class", "streamed traces", "recomputed tables", "coarse tables",
	"dynamic weights", "limits of the dip", "limits of the opening angle", "anti-aliasing", "an aperture", "exact sums", "a diagonal", "several or turned arrivals"}

func (f Features) String() string {
	var list []string
	for i, name := range names {
		if f>>i&1 == 1 {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// Engine is one row of the table.
type Engine struct {
	Name   string // in the configuration
	Text   string // what it is, in one line
	Offers Features
	// Library says that the C library alone has it: no configuration names it.
	Library bool
}

// Table has all engines.
var Table = []Engine{
	{"cpu", "float32, on all cores and vector units of the host", all, false},
	{"double", "float64, on all cores and vector units of the host", Gathers | Dynamic | Several, true},
	{"reference", "float64, in plain Go: slow, and what the others are tested against",
		Gathers | Dynamic | DipLimit | OpeningLimit | Antialias | Aperture | Diagonal | Several, false},
	{"cuda", "float32, on an NVIDIA GPU", all &^ Several, false},
	{"hip", "float32, on an AMD GPU", all &^ Several, false},
}

// Missing returns the given features that the named engine does not offer.
func Missing(name string, f Features) Features {
	for _, e := range Table {
		if e.Name == name {
			return f &^ e.Offers
		}
	}
	return f
}

// Offering names the engines of the program that offer all of the given features.
func Offering(f Features) (list []string) {
	for _, e := range Table {
		if f&^e.Offers == 0 && !e.Library {
			list = append(list, e.Name)
		}
	}
	slices.Sort(list)
	return list
}
