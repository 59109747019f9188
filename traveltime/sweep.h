// The fast sweeping solver of the factored eikonal equation for a batch of
// sources. eikonal.go has the equations, sweep_body.h the loops.
#ifndef LSM_TRAVELTIME_SWEEP_H
#define LSM_TRAVELTIME_SWEEP_H

#include <stdint.h>

enum { EIK_CHUNK = 32, EIK_GHOSTS = 2, EIK_DIRECTIONS = 8, EIK_LANES = 16 };

// Coefficients of the polynomial that is the square of a tilted medium's g (sweep_tilted.h).
enum { EIK_CONE = 17 };

// The spreading takes slopes over this part of the distance to the source, at most, on each side.
enum { EIK_APART = 32 };

// Value of tau where no wave has come yet, and at the ghost points beyond both
// ends of every row. tau is scaled so that no true value exceeds 1.
#define EIK_UNREACHED 1e4f

// Second order fades where the second point upwind is later than the first, and ends where the squares
// of the two times differ by this times the square of the time that a cell takes. If it ended at once,
// rounding would decide between slopes that differ by a half.
#define EIK_FADE 1.0f

// One batch. A lane is one source; arrays have their lane axis last. A row is
// one line of points along z, and a block EIK_CHUNK points of a row. The grid
// holds the windows of all lanes. A lane is not swept in rows outside its own
// window, so its times there stay unreached, as they are beyond the grid.
typedef struct {
	int dim;          // 2 or 3
	int lanes;        // 4, 8 or EIK_LANES
	int n[3];         // points along x, y, z; n[1] = 1 in 2-D
	int chunks;       // blocks in a row
	int wide;         // rows of the medium along y
	float h[3];       // spacing, in units of the smallest one
	float *tau;       // [n0*n1][n2 + 2*EIK_GHOSTS][lanes]
	float *beyond;    // [n2 + 2*EIK_GHOSTS][lanes], stands for rows outside the grid
	float *rho[3];    // [n][lanes], position minus source, in the unit of h
	float *rho_back;  // -rho[2]
	uint16_t *box[3]; // [n], lanes whose start box spans this index
	uint16_t *in[2];  // [n] along x, y, lanes whose window spans this index
	uint16_t *dirty;  // [n0*n1*chunks][EIK_DIRECTIONS], lanes due in that sweep direction, if in
	uint16_t *dirs;   // like dirty: lanes some of whose rays run in that direction
	const float *cone; // [EIK_CONE + dim][lanes]: g² of the lane's source, in powers of 2 cos² - 1, and
	                   // the symmetry axis there, z last; null where the medium is isotropic
	int terms;        // powers in cone beyond these have no coefficients
	float tolerance;  // a relative change up to this one goes unnoticed
	float gain;       // share of the way to its new value that a tilted medium's second-order time goes

	// Values that stay with a ray. The first is how it left its source, as the turn from the
	// straight line to the point in 2-D (radians, from z to x), as the difference of two unit
	// vectors in 3-D. With line, in 2-D, there is also the excess of the integral of v along the
	// ray over a homogeneous medium's, as a share.
	long carried[3]; // from tau to arrays like it
	int line;
	float *home;     // [lanes], slowness at the source
} eik_batch;

// Whether this machine and build sweep batches of 16 (AVX-512), 8 (AVX2) or 4
// (portable) lanes.
int eik_offers(int lanes);

// One sweep over all due blocks; returns their number. Bit a of direction is
// set if axis a runs backwards; medium is the squared slowness, [n0][wide][n2],
// scaled to a largest value of 1, or with a cone plane, along, cross and the symmetry axis
// of each point, [n0][wide][n2][3 + dim]. straight is the share of T's own differences in those of
// second order, [n0][wide], 0 in smooth columns.
long eik_sweep(eik_batch *b, const float *medium, const float *straight, int direction, int second);

// One sweep like these for what rays carry, once tau is there, whose medium is not tilted.
// Values start unreached but in the start boxes, and a change is an absolute one.
long eik_carry(eik_batch *b, const float *medium, int direction);

// The spreading that follows, over that of a homogeneous medium, at most limit: out [used][most]
// like eik_split's. row is scratch, [n2][lanes].
void eik_spreading(float *out, const eik_batch *b, const float *medium, float *row, long most, int used, float limit);

// Marks all blocks that read row and chunk as due in all directions.
void eik_mark_all(const eik_batch *b, int x, int y, int chunk, uint16_t lanes);

#endif
