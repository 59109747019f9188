package navigation

import (
	"fmt"
	"strings"
)

// wholePlaces refuses a row in which a place is given in part, as [WholePlaces] does for columns:
// what is blank would come from the header, in other coordinates perhaps. A row may leave a whole
// place blank, and any static correction.
func (t *Table) wholePlaces(values []float64) error {
	for _, role := range roles {
		given, blank := "", ""
		for i, name := range t.Names() {
			switch {
			case !strings.HasPrefix(name, role+"_") || strings.HasSuffix(name, "_static"):
			case values[i] == values[i]:
				given = name
			default:
				blank = name
			}
		}
		if given != "" && blank != "" {
			return fmt.Errorf("column %s is blank beside %s: a place is given whole, or left to the header whole", blank, given)
		}
	}
	return nil
}

// roles begin the names of the numbers of a place.
var roles = []string{"source", "receiver"}
