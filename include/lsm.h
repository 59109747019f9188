/*
 * The Kirchhoff operator of lsm as a C library of plain arrays.
 *
 *     cc program.c -llsm
 *
 * Units are metres, seconds, metres per second and degrees. Arrays are in C order, the last
 * index fastest. The axes of an image are x, z, or in 3-D any two horizontal ones and z; z
 * points down. The columns of positions have the order of the axes.
 *
 * Every function that returns an int returns one of lsm_status. Where it is not LSM_DONE, the
 * reason is written to `text`, a buffer of `size` bytes that the caller owns, as a string that
 * is cut where it does not fit. `text` may be NULL. After a fault of the library itself, which
 * is such an error too, an operator can only be destroyed.
 *
 * The library keeps no pointer after a call. All functions may be called from several threads
 * at once; calls for one operator wait for each other. A process that was forked from one that
 * has loaded the library cannot use it: functions return LSM_OTHER there. It can load a copy of the
 * library, of another name, or start a new program.
 *
 * A call can be stopped by `stop`: while it is not NULL, the library looks every few
 * milliseconds whether *stop is 0. If not, the call ends with LSM_STOPPED. A signal handler or
 * another thread may set it. The arrays that the call was to fill are then undefined.
 */
#ifndef LSM_H
#define LSM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It grows with every change that a program may notice. */
#define LSM_INTERFACE 2

/* The exit statuses of the program lsm. */
enum lsm_status {
	LSM_DONE = 0,
	LSM_OTHER = 1,     /* any other failure */
	LSM_USAGE = 2,     /* a wrong argument, or what this library does not offer */
	LSM_INPUT = 3,     /* arrays with values that cannot be */
	LSM_RESOURCE = 4,  /* too little memory */
	LSM_NUMERICAL = 5, /* not returned by these functions so far */
	LSM_STOPPED = 130  /* stopped by *stop */
};

/*
 * An operator. Zeros stand for what is not given. Begin with
 *
 *     lsm_problem p = {.size = sizeof p};
 *
 * `points` below is the product of the shape. `traces` is the number of traces, by default of all pairs of a
 * source and a receiver: trace s * receivers + r then belongs to source s and receiver r.
 */
typedef struct lsm_problem {
	size_t size; /* sizeof(lsm_problem) */

	/* The grid of the image. */
	int64_t axes; /* 2 or 3 */
	int64_t shape[3];
	double origin[3], spacing[3]; /* m; spacings are positive */

	/* Positions, [axes, sources] and [axes, receivers], m. */
	int64_t sources, receivers;
	const double *source_positions, *receiver_positions;

	/* Traces that are not all pairs: their number, and the source and the receiver of each, [traces],
	   counted from 0. 0 and NULL stand for all pairs. Not with pair_times. */
	int64_t traces;
	const int32_t *source_index, *receiver_index;

	/*
	 * Traveltimes.
	 *
	 * "analytic": straight rays at the velocity `constant`. Positions may lie anywhere.
	 * "eikonal":  first arrivals in `velocity`. Positions lie inside the grid.
	 * "table":    source_times [sources, points] and receiver_times [receivers, points], s,
	 *             or pair_times [sources * receivers, points], which are the sums of both. No weights
	 *             go with pair_times. Positions then matter only for distances. NaN, without weights,
	 *             stands for no arrival.
	 *
	 * The weights of `dynamic` divide by the velocity at each point: velocity [points], or
	 * constant where that is NULL.
	 */
	const char *traveltimes;
	double constant;        /* m/s */
	const double *velocity; /* [points], m/s */
	const double *source_times, *receiver_times, *pair_times;

	/* Samples of a trace, their interval, and the time of the first, s. */
	int64_t samples;
	double interval, start;

	/* The wavelet, [wavelet_samples] at the interval of the traces. Its time 0 is at
	   sample wavelet_zero. */
	const double *wavelet;
	int64_t wavelet_samples, wavelet_zero;
	/* 0: none. 1: that of PyLops, the half derivative in 2-D and minus the derivative in 3-D, circular
	   over the wavelet. 2: the half derivative in 2-D and the derivative in 3-D, not circular, with
	   which a reflector has the wavelet's polarity. */
	int32_t wavelet_filter;

	/*
	 * Amplitude weights (docs/numerics/weights.md). Factors of spreading follow from distances, or
	 * are given as source_amplitudes [sources, points] and receiver_amplitudes [receivers,
	 * points]. angle_limit is where a taper begins and where it cuts, in degrees of both rays
	 * from the vertical; a cut of 0 stands for no limit.
	 */
	int32_t dynamic;
	const double *source_amplitudes, *receiver_amplitudes;
	double angle_limit[2];

	/* Half widths, m, along each horizontal axis, of the window around the midpoint of a trace
	   in which the trace counts, and of its taper; 0 stands for no limit. */
	double aperture[2], aperture_taper[2];

	/* [traces], or NULL: a trace counts at points from this index of z on alone. */
	const int32_t *first_depth;

	/* "cpu": float on vector units. "double": double on vector units, without an aperture.
	   "reference": double in plain code, slow. */
	const char *engine;
	int32_t threads; /* 0: one for each processor */
} lsm_problem;

/* A handle of an operator; 0 is none. */
typedef uint64_t lsm_operator;

/* LSM_INTERFACE of the library. */
int lsm_interface(void);

/* Writes the version of lsm as text. */
int lsm_version(char *text, size_t size);

/* Makes an operator: traveltimes are computed or copied here. Nothing of p is kept. */
int lsm_create(const lsm_problem *p, lsm_operator *out, const int *stop, char *text, size_t size);

/* Writes the element type, the instruction set and how the work is done as text. */
int lsm_describe(lsm_operator op, char *text, size_t size);

/*
 * The forward overwrites data [traces, samples] with the traces of image [points]. The adjoint,
 * the exact transpose, overwrites image with the migrated data. Elements are float for the
 * engine "cpu" and double for the others. points and samples count all elements, and must be right.
 */
int lsm_forward(lsm_operator op, const void *image, size_t points, void *data, size_t samples,
		const int *stop, char *text, size_t size);
int lsm_adjoint(lsm_operator op, const void *data, size_t samples, void *image, size_t points,
		const int *stop, char *text, size_t size);

/* Frees an operator, after the calls that use it. */
int lsm_destroy(lsm_operator op, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
