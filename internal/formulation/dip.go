package formulation

import (
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/imaging"
)

// dip penalises differences along the layers of the migrated image.
var _ = register("dip", "first derivatives along the layers, whose dips are measured on the migrated image", &Regulariser{
	Rows: dipRows,
	HostBytes: func(image grid.Grid) int64 { // the arrays of imaging.Layers
		arrays := map[int]int64{2: 5, 3: 12}[image.Dim()]
		return 4 * arrays * int64(image.Len())
	},
})

// dipRows takes the directions of the layers from rank 0, which estimates them.
func dipRows(s *Setting, migrated *dist.Vector) (dist.Operator, error) {
	defer s.Report.Time("dips")()
	whole, err := s.Gather(migrated)
	if err != nil {
		return nil, err
	}
	dim := s.Image.Dim()
	found, directions := make([][][]float32, dim-1), make([][]*dist.Vector, dim-1)
	if whole != nil {
		found = imaging.Layers(s.Image.Shape, whole, s.Threads)
	}
	for k := range directions {
		for a := range dim {
			var component []float32
			if whole != nil {
				component = found[k][a]
			}
			v, err := s.Scatter(component, migrated.Layout)
			if err != nil {
				return nil, err
			}
			directions[k] = append(directions[k], v)
		}
	}
	return dist.Steered(directions...)
}
