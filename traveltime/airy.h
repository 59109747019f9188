// The Airy function of waves beyond a fold of rays, see doc.go.
#ifndef LSM_TRAVELTIME_AIRY_H
#define LSM_TRAVELTIME_AIRY_H

enum { tail_end = 2 }; // how far it counts; there it is a tenth of its value at 0

// The Airy function from 0 to tail_end, by its series.
static inline double airy(double z)
{
	double f = 0.355028053887817, g = -0.258819403792807 * z, sum = f + g;
	for (int k = 3; k < 24; k += 3) {
		f *= z * z * z / (k * (k - 1)), g *= z * z * z / (k * (k + 1));
		sum += f + g;
	}
	return sum;
}

#endif
