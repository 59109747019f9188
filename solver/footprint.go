package solver

// Footprint is the number of image vectors and of data vectors that the method of
// a configuration name holds besides the data given to it. With AddRows a data
// vector is longer by the length of the rows.
func Footprint(name string, o Options) (images, data int) {
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
