package traveltime

// Kept says which arrivals of a point a method that knows several gives.
type Kept struct {
	// Count is how many at most, the strongest ones: those of the largest spreading b. 0 stands
	// for the first arrival alone.
	Count int
}

// turned lists the branches of fields with so many arrivals: of the first arrival, which passes no
// caustic, one; else for each arrival one of waves that have not turned, and then as many of those
// that have. A point has at most Count arrivals in all of them.
func (k Kept) turned() []bool {
	if k.Count == 0 {
		return []bool{false}
	}
	list := make([]bool, 2*k.Count)
	for i := range k.Count {
		list[k.Count+i] = true
	}
	return list
}

// RayOptions say how rays are traced.
type RayOptions struct {
	Kept Kept
	// Fill gives the first arrival of the eikonal equation to points that no ray reaches.
	Fill bool
	// Smoothing is the standard deviation, in m, of the Gaussian with which the slowness is
	// smoothed for rays.
	Smoothing float64
	// Period is that, in s, of the waves whose amplitude at caustics bounds that of rays.
	Period float64
	// Latest is when rays end, in s. Points that they reach later have no arrival.
	Latest float64
}
