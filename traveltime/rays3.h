// Rays of a point source in a smooth 3-D velocity, and arrivals between them. rays3.go has the method.
#ifndef LSM_TRAVELTIME_RAYS3_H
#define LSM_TRAVELTIME_RAYS3_H

#include <stdint.h>

// A velocity model: the coefficients of cubic B-splines, [n0][n1][n2]. The first belongs to the
// position origin, in m, and c holds those from index first along x. Beyond lo and hi, in coefficients,
// the velocity goes on linearly from the nearest point, within a factor of 2.
typedef struct {
	long first, n[3];
	double origin[3], spacing[3]; // m
	double lo[3], hi[3];
} ray3_medium;

// The values traced along a ray: position from the source (m), slowness (s/m), the first unit vector of
// ray-centred coordinates, and their derivatives Q and P by the two angles of the take-off, [2][2],
// with a row for each ray-centred coordinate.
enum { RAY3_X = 0, RAY3_P = 3, RAY3_E = 6, RAY3_Q = 9, RAY3_PQ = 13, RAY3_LENGTH = 20 };

typedef struct {
	double v[RAY3_LENGTH];
	double takeoff[3]; // unit vector
	int64_t turns;     // KMAH index
} ray3_ray;

// The data of a front that arrivals near a ray need.
typedef struct {
	double x[3];     // m, from the source
	double p[3];     // slowness, s/m
	double m[6];     // second derivatives of the time: xx, xy, xz, yy, yz, zz
	double d, wide;  // det Q over that of a homogeneous medium, |Q| over the distance
	double u[3];     // take-off, times the distance from the source
	double time;     // s
	int32_t turns;   // KMAH index
	int32_t rough;   // m does not predict the slowness of a neighbour
} ray3_corner;

// A triangle of neighbouring rays, anticlockwise as seen from outside the front, its neighbour across
// each edge (v[i], v[i+1]), -1 for none, and its longest edge with that edge's size.
typedef struct {
	int32_t v[3], next[3];
	int32_t longest;
	float size;
} ray3_triangle;

// How large edges may be.
typedef struct {
	double angle;  // between slownesses, rad
	double length; // m
	double change; // of d
	double least;  // between take-offs, rad, of edges that may be cut
} ray3_limits;

// An arrival at a point of the window. strength is the fourth power of b; unbound is by how much
// that would be larger without the bound at caustics, 0 beyond a fold.
typedef struct {
	float time;
	float p[3];
	float strength, unbound;
	float takeoff;
	int32_t turns;
} ray3_arrival;

// Where arrivals are found, [slot][n0][n1][n2], the points those of the window. A point i lies
// at i spacing - shift from the source, in m.
typedef struct {
	long n[3];
	double spacing[3], shift[3];
	int slots;        // of a point, strongest arrivals first; first: one for the earliest
	long all;         // points
	uint8_t *count;   // [points], arrivals there are
	int first;
	int takeoff;      // set if requested
	double latest;    // s
	double slowness;  // at the source, s/m
	double cap, near; // most b over that of a homogeneous medium; distance that counts at least, m
	double period;    // s, of the waves whose amplitude bounds b at caustics; 0: cap alone does
} ray3_image;

// Traces n rays from one front to the next in steps steps.
void ray3_advance(const ray3_medium *m, const float *c, const double source[3], ray3_ray *to, const ray3_ray *from, long n, double dt, int steps);

// The data of rays at a time that arrivals need.
void ray3_describe(const ray3_medium *m, const float *c, const double source[3], ray3_corner *to, const ray3_ray *from, long n, double time);

// The velocity, its gradient and its second derivatives xx, xy, xz, yy, yz, zz at a position from the source.
void ray3_velocity(const ray3_medium *m, const float *c, const double source[3], const double x[3], double v[10]);

// Finds the longest edge of each triangle.
void ray3_measure(ray3_triangle *t, long n, const ray3_corner *c, const ray3_ray *r, const ray3_limits *limits);

// Marks the corners whose m does not predict the slownesses of neighbours.
void ray3_check(const ray3_triangle *t, long n, ray3_corner *c);

// Fills the prisms between the triangles at two fronts.
void ray3_prisms(const ray3_image *g, ray3_arrival *a, const ray3_triangle *t, long n, const ray3_corner *from, const ray3_corner *to);

// Fills what lies beyond folds in those prisms, which no ray reaches.
void ray3_tails(const ray3_image *g, ray3_arrival *a, const ray3_triangle *t, long n, const ray3_corner *from, const ray3_corner *to);

// Fills the sliver between a triangle (a, b, c) and the middle m of its edge (a, b), all of one front.
void ray3_sliver(const ray3_image *g, ray3_arrival *a, const ray3_corner *c, const int32_t v[4]);

// Fills the tetrahedra between triangles and the source.
void ray3_ball(const ray3_image *g, ray3_arrival *a, const ray3_triangle *t, long n, const ray3_corner *c, const ray3_medium *m, const float *k, const double source[3]);

#endif
