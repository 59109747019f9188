package forecast

import (
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/solver"
)

// vectors is what the solver, its preconditioner and its problem hold, in bytes.
func (c *count) vectors() int64 {
	options, residual := c.SolverOptions(), c.Config.Output.Residual.IsSet()
	if c.TwoLevel() {
		options.Preconditioner = struct{ dist.Operator }{} // any
	}
	images, data := footprint(c.Config.Solver.Method, options)
	if c.Matches() {
		images, data = 3, 1
	}
	below, besides := c.rowVectors()
	images += below*(data+1) + besides // the data's rows, too
	if c.Config.Solver.Preconditioner == "diagonal" {
		images += 3         // P, what lies between it and the operator, the image
		data = max(data, 3) // w² and what engines make of it; the solver's come later
	}
	if c.Engine == "reference" {
		data++ // the data in double precision
	}
	if c.Weighted() {
		data += 2 // the weights and what lies between them and the operator
		if residual {
			data++ // the weighted data beside the data
		}
	}
	if c.Surface != nil {
		images += 3 // likewise, and the image beside the iterate
	}
	if residual {
		data++
	}
	classes := int64(max(1, c.Classes.N))
	elements := int64(images)*classes*c.points() + int64(data)*c.samples() + c.twoLevelElements()
	if classes > 1 {
		elements += c.points() // their sum
		if c.Config.Output.Adjoint.IsSet() {
			elements += classes * c.points() // written before the solve, and not at once given back
		}
	}
	return int64(c.Type().Size()) * elements
}

// rowVectors is how many vectors of an image's length the rows of a problem take:
// below each vector of data, and for themselves besides.
func (c *count) rowVectors() (below, besides int) {
	dim := c.Image.Dim()
	if c.Config.Solver.Damping > 0 {
		below++
	}
	if c.Regularizes() {
		switch c.Config.Solver.Regularization {
		case "gradient":
			below += dim
			besides++ // the stack's scratch
		case "laplacian":
			below++
			besides += 2 // the sum's
		case "dip":
			below += dim - 1
			besides += dim*(dim-1) + 2 // the directions, and scratch
		}
	}
	if below > 0 {
		besides++ // the scratch of the stack of data and rows
	}
	return below, besides
}

// dipBytes is what rank 0 holds for the directions of the layers.
func (c *count) dipBytes() int64 {
	if !c.Regularizes() || c.Config.Solver.Regularization != "dip" {
		return 0
	}
	arrays := map[int]int64{2: 5, 3: 12}[c.Image.Dim()]
	return 4 * arrays * int64(c.Image.Len())
}

// matchBytes is what rank 0 holds for matching filters besides the image that they make.
func (c *count) matchBytes() int64 {
	if !c.Matches() {
		return 0
	}
	o, err := c.Matching()
	if err != nil {
		return 0 // the plan would not have been made
	}
	return 8*int64(c.Image.Len()) + o.Bytes(c.Image.Shape)
}

// windowBytes is what windows of the two-level preconditioner take on the host: their
// multipliers, as many before they are smoothed, and whole images on their way.
func (c *count) windowBytes() int64 {
	if !c.TwoLevel() {
		return 0
	}
	whole, each := int64(c.Image.Len()), int64(1)<<c.Image.Dim()/2 // multipliers a point
	bytes := 4*each*(whole+c.points()) + 5*4*whole
	if g := c.Coarsened(); g != nil {
		bytes += 4 * (2*each + 3) * size(g.Shape)
	}
	return bytes
}

func size(shape []int) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= int64(s)
	}
	return n
}

// twoLevelElements is what the two-level preconditioner holds of vectors.
func (c *count) twoLevelElements() int64 {
	if !c.TwoLevel() {
		return 0
	}
	n := 3*c.points() + c.samples()
	if g := c.Coarsened(); g != nil {
		n += 8*size(g.Shape) + int64(c.share.Traces())*int64(c.Survey.NT/c.Thinning()+1)
	}
	return n
}

// coarseBytes is what the host's engine takes on the coarser grid. Its tables are made
// before the solver has its vectors.
func (c *count) coarseBytes(vectors int64) int64 {
	p := c.CoarseProblem(c.share)
	if p == nil {
		return 0
	}
	if c.Engine == "reference" {
		return kirchhoff.ReferenceNeeds(p).Tables
	}
	n := kirchhoff.Needs(p, kirchhoff.Work{Exact: c.Exact()})
	return n.Tables + n.Scratch + n.Heap + n.Traces + max(0, n.Making-n.Traces-vectors)
}

// footprint is the number of image vectors and of data vectors that a method holds
// besides the data given to it.
func footprint(name string, o solver.Options) (images, data int) {
	switch name {
	case "cg":
		return 5, 2
	case "cgls":
		if o.Preconditioner != nil {
			return 3 + 2*max(1, o.Orthogonalize), 2
		}
		return 3 + o.Orthogonalize, 2
	case "lsqr":
		return 4, 3
	case "ista":
		images = 3
	case "fista":
		images = 4
	default:
		return 0, 0
	}
	if o.Backtracking {
		images++
		if name == "fista" {
			images++
		}
	}
	return images, 1
}

// streamFootprint is the number of image vectors that a method holds for streamed data.
func streamFootprint(name string, o solver.Options) int {
	if name != "cgls" {
		return 4
	}
	return 4 + o.Orthogonalize
}
