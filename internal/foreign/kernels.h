/* Functions that "dpnbench check --library FILE --symbol NAME" checks, besides cblas_sgemm, sgemm_, cblas_sdot and
 * sdot_ of BLAS. Matrices are row-major: row i of x begins at x + i * ldx. All lengths and distances count floats.
 * No function may read or write the floats between two rows, or read its output. NAME may be another name than
 * here if --kernel says which function it is. */
#ifndef DPNBENCH_KERNELS_H
#define DPNBENCH_KERNELS_H

#include <stdint.h>

/* --kernel matmul: C = A B, where A is m x k, B is k x n and C is m x n. */
void dpn_matmul(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb,
	float *c, int64_t ldc);

/* --kernel dot: the sum of x[i] y[i]. */
float dpn_dot(int64_t n, const float *x, const float *y);

/* --kernel exp: y[i] = exp(x[i]), within 4 ULPs. */
void dpn_exp(int64_t n, const float *x, float *y);

/* --kernel log: y[i] = log(x[i]), the natural logarithm, within 4 ULPs. */
void dpn_log(int64_t n, const float *x, float *y);

/* --kernel softmax: y[i][j] = exp(x[i][j]) / sum over j of exp(x[i][j]), for each row i of n numbers. */
void dpn_softmax(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy);

/* --kernel log-sum-exp: y[i] = log of the sum over j of exp(x[i][j]), for each row i of n numbers. */
void dpn_log_sum_exp(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y);

/* --kernel layer-norm: y[i][j] = (x[i][j] - mean)/sqrt(variance + eps), for each row i of n numbers. The variance is
 * the mean of the squared differences from the mean. */
void dpn_layer_norm(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy, float eps);

/* --kernel quad-form: y[i] = (x_i - mu)^T P (x_i - mu), for each row x_i of n numbers; P is n x n, symmetric. */
void dpn_quad_form(int64_t rows, int64_t n, const float *x, int64_t ldx, const float *mu, const float *p, int64_t ldp,
	float *y);

#endif
