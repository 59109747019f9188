package solver

// Footprint is the number of image vectors and of data vectors that the method of
// a configuration name holds besides the data given to it. With Damp a data vector
// has an image's length more.
func Footprint(name string, o Options) (images, data int) {
	switch name {
	case "cg":
		return 5, 2
	case "cgls":
		return 3 + o.Orthogonalize, 2
	case "lsqr":
		return 4, 3
	case "ista":
		return 3, 1
	case "fista":
		return 4, 1
	}
	return 0, 0
}
