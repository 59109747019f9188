package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// imagesOfTwo are the images of a file of two surveys, in their order.
var imagesOfTwo = []string{"baseline", "monitor", "difference"}

// surveys are what to draw of a file: what was loaded, or of an image of two surveys those that
// --survey asks for. Without it a file that is alone gives all three, on one scale.
func (d *drawing) surveys(file string, it *item, alone bool) ([]*item, error) {
	if d.survey != "" && !slices.Contains(imagesOfTwo, d.survey) {
		return nil, status.Usage(fmt.Errorf("plot: --survey is %q, want baseline, monitor or difference", d.survey))
	}
	if !it.image {
		return []*item{it}, nil
	}
	r, err := h5.ReadRepeat(file)
	if err != nil || r == nil {
		return []*item{it}, err
	}
	d.used = append(d.used, "survey")
	if d.survey == "" && alone {
		d.common = true
	}
	var out []*item
	for i, values := range [][]float32{it.values, r.Monitor, r.Difference} {
		name := imagesOfTwo[i]
		if want := cmp.Or(d.survey, map[bool]string{true: name, false: imagesOfTwo[0]}[alone]); want != name {
			continue
		}
		one := *it
		one.title, one.values = it.title+": "+name, values
		out = append(out, &one)
	}
	return out, nil
}
