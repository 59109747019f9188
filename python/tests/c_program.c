/* Uses the library as a C program does: an operator, its dot test, refusals, two threads, a
   stop, a fork. Ends with status 0 if all is as include/lsm.h says. */
#include <lsm.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NX = 40, NZ = 30, NS = 3, NR = 5, NT = 120 };

static char text[512];

#define EXPECT(is, ...)                                                                                      \
	do {                                                                                                 \
		if (!(is)) {                                                                                 \
			fprintf(stderr, "line %d: %s is false: ", __LINE__, #is);                            \
			fprintf(stderr, __VA_ARGS__);                                                        \
			fprintf(stderr, "\n");                                                               \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

static lsm_operator op;
static float image[NX * NZ], back[NX * NZ], data[NS * NR * NT], first[NS * NR * NT];

static void *forward(void *out)
{
	for (int i = 0; i < 20; i++)
		if (lsm_forward(op, image, NX * NZ, out, NS * NR * NT, NULL, NULL, 0))
			return "failed";
	return NULL;
}

int main(void)
{
	double sources[2 * NS], receivers[2 * NR], wavelet[] = {-0.5, 1, -0.5};
	for (int i = 0; i < NS; i++)
		sources[i] = 100 * i, sources[NS + i] = 0;
	for (int i = 0; i < NR; i++)
		receivers[i] = 70 * i, receivers[NR + i] = 0;
	lsm_problem p = {
		.size = sizeof p, .axes = 2, .shape = {NX, NZ}, .spacing = {10, 10},
		.sources = NS, .receivers = NR, .source_positions = sources, .receiver_positions = receivers,
		.traveltimes = "analytic", .constant = 2000, .samples = NT, .interval = 0.004,
		.wavelet = wavelet, .wavelet_samples = 3, .wavelet_zero = 1, .engine = "cpu",
	};
	EXPECT(lsm_interface() == LSM_INTERFACE, "%d", lsm_interface());
	EXPECT(lsm_version(text, sizeof text) == LSM_DONE && text[0], "%s", text);
	int code = lsm_create(&p, &op, NULL, text, sizeof text);
	EXPECT(code == LSM_DONE && op != 0, "%d: %s", code, text);
	EXPECT(lsm_describe(op, text, sizeof text) == LSM_DONE && !strncmp(text, "cpu: float32", 12), "%s", text);

	double ab = 0, cd = 0, norm = 0;
	for (int i = 0; i < NX * NZ; i++)
		image[i] = sinf(i);
	code = lsm_forward(op, image, NX * NZ, data, NS * NR * NT, NULL, text, sizeof text);
	EXPECT(code == LSM_DONE, "%d: %s", code, text);
	memcpy(first, data, sizeof data);
	for (int i = 0; i < NS * NR * NT; i++)
		data[i] = cosf(i), norm += first[i] * first[i];
	code = lsm_adjoint(op, data, NS * NR * NT, back, NX * NZ, NULL, text, sizeof text);
	EXPECT(code == LSM_DONE, "%d: %s", code, text);
	for (int i = 0; i < NS * NR * NT; i++)
		ab += (double)first[i] * data[i];
	for (int i = 0; i < NX * NZ; i++)
		cd += (double)back[i] * image[i];
	EXPECT(norm > 0 && fabs(ab - cd) < 1e-5 * sqrt(norm * NS * NR * NT), "%g and %g", ab, cd);

	/* Refusals name the thing. */
	code = lsm_forward(op, image, 7, data, NS * NR * NT, NULL, text, sizeof text);
	EXPECT(code == LSM_USAGE && strstr(text, "7 points"), "%d: %s", code, text);
	code = lsm_forward(op + 99, image, 7, data, 7, NULL, text, sizeof text);
	EXPECT(code == LSM_USAGE && strstr(text, "not the handle"), "%d: %s", code, text);
	code = lsm_forward(op, NULL, NX * NZ, data, NS * NR * NT, NULL, text, 10);
	EXPECT(code == LSM_USAGE && strlen(text) == 9, "%d: %s", code, text);
	lsm_problem wrong = p;
	lsm_operator none = 0;
	wrong.constant = -1;
	code = lsm_create(&wrong, &none, NULL, text, sizeof text);
	EXPECT(code == LSM_USAGE && none == 0 && strstr(text, "-1"), "%d: %s", code, text);
	wrong = p;
	wrong.size = 8;
	code = lsm_create(&wrong, &none, NULL, text, sizeof text);
	EXPECT(code == LSM_USAGE && strstr(text, "another lsm.h"), "%d: %s", code, text);
	wrong = p;
	wrong.shape[0] = INT64_MAX / 4;
	code = lsm_create(&wrong, &none, NULL, text, sizeof text);
	EXPECT(code != LSM_DONE, "a huge image: %s", text);

	/* Stops. */
	int stop = 1;
	code = lsm_forward(op, image, NX * NZ, data, NS * NR * NT, &stop, text, sizeof text);
	EXPECT(code == LSM_STOPPED, "%d: %s", code, text);

	/* Threads. */
	static float others[2][NS * NR * NT];
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, forward, others[i]);
	for (int i = 0; i < 2; i++) {
		void *said;
		pthread_join(threads[i], &said);
		EXPECT(said == NULL && !memcmp(others[i], first, sizeof first), "thread %d", i);
	}

	/* A fork is told. */
	pid_t child = fork();
	if (child == 0) {
		alarm(20);
		code = lsm_forward(op, image, NX * NZ, data, NS * NR * NT, NULL, text, sizeof text);
		_exit(code == LSM_OTHER && strstr(text, "forked") && lsm_destroy(op, NULL, 0) == LSM_OTHER ? 0 : 1);
	}
	int said = 0;
	waitpid(child, &said, 0);
	EXPECT(said == 0, "the fork ended with %d", said);

	EXPECT(lsm_destroy(op, text, sizeof text) == LSM_DONE, "%s", text);
	EXPECT(lsm_destroy(op, text, sizeof text) == LSM_USAGE, "%s", text);
	return 0;
}
