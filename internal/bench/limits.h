#ifndef LSM_BENCH_LIMITS_H
#define LSM_BENCH_LIMITS_H
// Each does n rounds of 4096 elements on data in the first-level cache and
// returns a value that depends on all of them.
float lsm_bench_gather_plain(const float *x, const int *index, long n);
float lsm_bench_gather_avx2(const float *x, const int *index, long n); // plain without AVX2
float lsm_bench_store(float *pairs, const int *index, long n);
// One pass of reading over n floats.
float lsm_bench_read(const float *x, long n);
#endif
