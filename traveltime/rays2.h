// Rays of one place in 2-D, and the arrivals that they bring to the points of a grid. See rays2.c.
#ifndef LSM_TRAVELTIME_RAYS2_H
#define LSM_TRAVELTIME_RAYS2_H

#include <stdint.h>

// Cubic B-splines of the squared slowness, s²/m²: coefficients [nx][nz] of nodes h apart, the first at
// o. c holds those from node first along x. Positions beyond the second node from each end count as
// that node.
typedef struct {
	const double *c;
	int first, nx, nz;
	double ox, oz, hx, hz;
} rays2_model;

// How rays are traced from (x, z), where the slowness is s0.
typedef struct {
	double x, z, s0;
	double step;          // m, between fronts
	double apart, turned; // neighbouring rays are closer, m, and differ less in direction, radians
	double widest;        // m, cells that are wider bring nothing
	int first, halvings;  // rays at the start, and how often the angle between two may be halved
	double lo[2], hi[2];  // m, where rays end, along x and z
	double latest;        // s, when they end
	double period;        // s, of the waves whose amplitude bounds that at caustics; 0: most alone does
	double most;          // of b over that of a homogeneous medium
	double least;         // m, least distance whose b is that of a homogeneous medium
	int point;            // b of a point source instead of a line source
} rays2_place;

// An arrival at a point.
typedef struct {
	double t;          // s
	float b, unbound;  // as spreading.go; without the bound at caustics, 0 beyond a fold
	float px, pz;      // s/m
	float takeoff;     // radians from the vertical
	int32_t turns;     // quarter periods by which the phase has turned
} rays2_arrival;

// The arrivals at the points of a grid, strongest first, or only the earliest.
typedef struct {
	int nx, nz;
	double ox, oz, hx, hz;
	const double *slowness; // [nx][nz], s/m
	int branches, earliest;
	rays2_arrival *arrivals; // [branch][nx][nz]
	uint8_t *count;          // [nx][nz], how many there are
} rays2_grid;

enum { RAYS2_DONE, RAYS2_STOPPED };

// Fills g. room is for rays2_room(place) doubles. *stop is read between rays.
int rays2_arrivals(const rays2_model *m, const rays2_place *p, rays2_grid *g, double *room, const int32_t *stop);
long rays2_room(const rays2_place *p);

// Makes the call that reads *stop end.
void rays2_stop(int32_t *stop);

// The squared slowness at a position, its two slopes and three second derivatives: xx, xz, zz.
void rays2_sloth(const rays2_model *m, double x, double z, double out[6]);

#endif
