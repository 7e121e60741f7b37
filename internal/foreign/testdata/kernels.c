/* Kernels for process_test.go: correct ones, and each of the others with one mistake that its name tells. */
#include "../kernels.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROW_MAJOR = 101, TRANS = 112 };

enum mistake {
	NONE, LAST_COLUMN, LAST_ROW, LAST_PRODUCT, READS_PAST, READS_BEFORE, WRITES_PAST, WRITES_PADDING, WRITES_A,
	IGNORES_LDA, IGNORES_LDB, IGNORES_LDC, IGNORES_TA, IGNORES_TB, IGNORES_ORDER, HALF_SUM, TF32, BF16, FTZ, DAZ,
	DROPS_ZERO, MULTIPLIES_ALPHA, MULTIPLIES_BETA, IGNORES_ALPHA, IGNORES_BETA, ALPHA_TWICE, BETA_PER_BLOCK, RACE,
	MOVES_ALIGNED, ABORTS_UNALIGNED, ORDER_BY_ALIGNMENT, ORDER_BY_ROW, STATE, EXITS, SATURATES, LOSES_BLOCK, VECTOR_PATH,
	SWAPS_ROWS, NAN_TO_ZERO, NARROW_INDEX, READS_PAST_LOUDLY, HANGS
};

static float rounded(float v, int bits) { /* to that many bits of the mantissa */
	uint32_t u, drop = 1u << (23 - bits);
	memcpy(&u, &v, 4);
	if ((u & 0x7f800000) != 0x7f800000)
		u = (u + drop / 2) & ~(drop - 1);
	memcpy(&v, &u, 4);
	return v;
}

static float flushed(float v) { return fabsf(v) < 0x1p-126f ? 0 : v; }

struct product {
	enum mistake bug;
	int row, ta, tb;
	int64_t m, n, k, lda, ldb, ldc;
	float alpha, beta;
	const float *a, *b;
	float *c;
};

static const float *at(const float *x, int64_t ld, int along, int64_t i, int64_t j) {
	return along ? x + i * ld + j : x + i + j * ld;
}

static int calls;

static float sum(const struct product *g, int64_t i, int64_t j) {
	float s = 0, first = 0;
	int64_t k = g->k;
	if (g->bug == LAST_PRODUCT && k % 4)
		k--;
	if (g->bug == LOSES_BLOCK && k > 256)
		k = k / 8 * 8;
	for (int64_t p = 0; p < k; p++) {
		float a = *at(g->a, g->lda, g->ta != g->row, i, p), b = *at(g->b, g->ldb, g->tb != g->row, p, j);
		int reversed = g->bug == ORDER_BY_ALIGNMENT && (uintptr_t)g->a % 16 || g->bug == ORDER_BY_ROW && i % 4 == 3 ||
			g->bug == STATE && calls % 2;
		if (reversed && p == 0) {
			first = a * b;
			continue;
		}
		switch (g->bug) {
		case DROPS_ZERO:
			if (a == 0 || b == 0)
				continue;
			break;
		case TF32:
			a = rounded(a, 10), b = rounded(b, 10);
			break;
		case BF16:
			a = rounded(a, 7), b = rounded(b, 7);
			break;
		default:;
		}
		s += a * b;
		if (g->bug == HALF_SUM)
			s = rounded(s, 10);
	}
	return s + first;
}

static void element(const struct product *g, int64_t i, int64_t j) {
	float *c = (float *)at(g->c, g->ldc, g->row, i, j), alpha = g->alpha, beta = g->beta, s = 0;
	if (g->bug == IGNORES_ALPHA)
		alpha = 1;
	if (g->bug == ALPHA_TWICE)
		alpha *= alpha;
	if (g->bug == IGNORES_BETA && beta != 0)
		beta = 1;
	if (g->bug == BETA_PER_BLOCK && g->k > 256)
		beta *= beta;
	if (alpha != 0 || g->bug == MULTIPLIES_ALPHA)
		s = alpha * sum(g, i, j);
	float old = *c;
	if (g->bug == DAZ)
		old = flushed(old);
	if (beta != 0 || g->bug == MULTIPLIES_BETA)
		s += beta * old;
	if (g->bug == FTZ)
		s = flushed(s);
	if (g->bug == SATURATES && isinf(s))
		s = s > 0 ? 3.4028235e38f : -3.4028235e38f;
	if (g->bug == NAN_TO_ZERO && isnan(s))
		s = 0;
	*c = s;
}

/* Two threads share one accumulator. They meet in the middle of the first element of each row, so that the race
 * is certain. */
static volatile float shared;
static pthread_barrier_t middle;
static void *half(void *x) {
	const struct product *g = x;
	for (int64_t i = g->row; i < g->m; i += 2)
		for (int64_t j = 0; j < g->n; j++) {
			shared = 0;
			for (int64_t p = 0; p < g->k; p++) {
				int meet = j == 0 && p == g->k / 2 && (i | 1) < g->m;
				float s = shared;
				if (meet)
					pthread_barrier_wait(&middle);
				shared = s + g->a[i * g->lda + p] * g->b[p * g->ldb + j];
				if (meet)
					pthread_barrier_wait(&middle);
			}
			g->c[i * g->ldc + j] = shared;
		}
	return NULL;
}

static void product(struct product g) {
	volatile float sink;
	char *threads = getenv("OMP_NUM_THREADS");
	calls++;
	if (g.bug == RACE && threads && atoi(threads) > 1 && g.row && !g.ta && !g.tb && g.alpha == 1 && g.beta == 0) {
		struct product halves[2] = {g, g};
		pthread_t other;
		halves[0].row = 0; /* here: the first row */
		pthread_barrier_init(&middle, NULL, 2);
		if (pthread_create(&other, NULL, half, &halves[0]))
			abort();
		half(&halves[1]);
		pthread_join(other, NULL);
		return;
	}
	if (g.bug == IGNORES_TA && g.m == g.k)
		g.ta = 0;
	if (g.bug == IGNORES_TB && g.n == g.k)
		g.tb = 0;
	if (g.bug == IGNORES_ORDER && g.m == g.n && g.n == g.k)
		g.row = 1;
	if (g.bug == IGNORES_LDA)
		g.lda = g.ta != g.row ? g.k : g.m;
	if (g.bug == IGNORES_LDB)
		g.ldb = g.tb != g.row ? g.n : g.k;
	if (g.bug == IGNORES_LDC)
		g.ldc = g.row ? g.n : g.m;
	if (g.bug == MOVES_ALIGNED)
		g.a = (const float *)((uintptr_t)g.a & ~(uintptr_t)15);
	if (g.bug == ABORTS_UNALIGNED && (uintptr_t)g.c % 16 && g.n % 16 == 0)
		abort();
	if (g.bug == EXITS && g.k == 0)
		exit(3);
	while (g.bug == HANGS)
		pause();
	if (g.bug == NARROW_INDEX && g.m * g.n * g.k > 0 && g.k > 127)
		g.k = (int8_t)g.k > 0 ? (int8_t)g.k : 0;
	for (int64_t i = 0; i < g.m - (g.bug == LAST_ROW && g.m % 2); i++)
		for (int64_t j = 0; j < g.n - (g.bug == LAST_COLUMN && g.n % 4); j++)
			element(&g, i, j);
	if (g.m == 0 || g.n == 0)
		return;
	float *end = (float *)at(g.c, g.ldc, g.row, g.m - 1, g.n - 1) + 1;
	switch (g.bug) {
	case READS_PAST_LOUDLY:
		for (int i = 0; i < 200; i++)
			fputs("SIGNAL: read at addr=0x1000\n", stderr);
		/* fall through */
	case READS_PAST:
		sink = *end;
		break;
	case READS_BEFORE:
		sink = g.b[-1];
		break;
	case WRITES_PAST:
		*end = 0;
		break;
	case WRITES_PADDING:
		if (g.row && g.ldc > g.n && g.m > 1)
			g.c[g.n] = 0;
		break;
	case WRITES_A:
		if (g.k > 0)
			*(float *)g.a += 1;
		break;
	case VECTOR_PATH:
		if (g.m == 1)
			g.c[0] += 1;
		break;
	case SWAPS_ROWS:
		if (g.m > 64 && g.row)
			for (int64_t j = 0; j < g.n; j++) {
				float t = g.c[j];
				g.c[j] = g.c[g.ldc + j], g.c[g.ldc + j] = t;
			}
		break;
	default:;
	}
	(void)sink;
}

#define SGEMM(name, bug)                                                                                              \
	void name(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b,  \
		int ldb, float beta, float *c, int ldc) {                                                                    \
		product((struct product){bug, order == ROW_MAJOR, ta == TRANS, tb == TRANS, m, n, k, lda, ldb, ldc, alpha,   \
			beta, a, b, c});                                                                                         \
	}
SGEMM(right, NONE)
SGEMM(last_column, LAST_COLUMN)
SGEMM(last_row, LAST_ROW)
SGEMM(last_product, LAST_PRODUCT)
SGEMM(reads_past, READS_PAST)
SGEMM(reads_before, READS_BEFORE)
SGEMM(writes_past, WRITES_PAST)
SGEMM(writes_padding, WRITES_PADDING)
SGEMM(writes_a, WRITES_A)
SGEMM(ignores_lda, IGNORES_LDA)
SGEMM(ignores_ldb, IGNORES_LDB)
SGEMM(ignores_ldc, IGNORES_LDC)
SGEMM(ignores_ta, IGNORES_TA)
SGEMM(ignores_tb, IGNORES_TB)
SGEMM(ignores_order, IGNORES_ORDER)
SGEMM(half_sum, HALF_SUM)
SGEMM(tf32, TF32)
SGEMM(bf16, BF16)
SGEMM(ftz, FTZ)
SGEMM(daz, DAZ)
SGEMM(drops_zero, DROPS_ZERO)
SGEMM(multiplies_alpha, MULTIPLIES_ALPHA)
SGEMM(multiplies_beta, MULTIPLIES_BETA)
SGEMM(ignores_alpha, IGNORES_ALPHA)
SGEMM(ignores_beta, IGNORES_BETA)
SGEMM(alpha_twice, ALPHA_TWICE)
SGEMM(beta_per_block, BETA_PER_BLOCK)
SGEMM(race, RACE)
SGEMM(moves_aligned, MOVES_ALIGNED)
SGEMM(aborts_unaligned, ABORTS_UNALIGNED)
SGEMM(order_by_alignment, ORDER_BY_ALIGNMENT)
SGEMM(order_by_row, ORDER_BY_ROW)
SGEMM(state, STATE)
SGEMM(exits, EXITS)
SGEMM(saturates, SATURATES)
SGEMM(loses_block, LOSES_BLOCK)
SGEMM(vector_path, VECTOR_PATH)
SGEMM(swaps_rows, SWAPS_ROWS)
SGEMM(nan_to_zero, NAN_TO_ZERO)
SGEMM(narrow_index, NARROW_INDEX)
SGEMM(reads_past_loudly, READS_PAST_LOUDLY)
SGEMM(hangs, HANGS)

/* The other ways to call a product. */
void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha,
	const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc) {
	product((struct product){NONE, 0, *ta == 'T', *tb == 'T', *m, *n, *k, *lda, *ldb, *ldc, *alpha, *beta, a, b, c});
}
void sgemm_64_(const char *ta, const char *tb, const int64_t *m, const int64_t *n, const int64_t *k, const float *alpha,
	const float *a, const int64_t *lda, const float *b, const int64_t *ldb, const float *beta, float *c,
	const int64_t *ldc) {
	product((struct product){NONE, 0, *ta == 'T', *tb == 'T', *m, *n, *k, *lda, *ldb, *ldc, *alpha, *beta, a, b, c});
}
void cblas_sgemm64_(int order, int ta, int tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
	product((struct product){NONE, order == ROW_MAJOR, ta == TRANS, tb == TRANS, m, n, k, lda, ldb, ldc, alpha, beta, a,
		b, c});
}
void dpn_matmul(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb, float *c,
	int64_t ldc) {
	product((struct product){NONE, 1, 0, 0, m, n, k, lda, ldb, ldc, 1, 0, a, b, c});
}
void matmul_adds(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb, float *c,
	int64_t ldc) {
	product((struct product){NONE, 1, 0, 0, m, n, k, lda, ldb, ldc, 1, 1, a, b, c});
}

/* --- dot */

float dpn_dot(int64_t n, const float *x, const float *y) {
	float s = 0;
	for (int64_t i = 0; i < n; i++)
		s += x[i] * y[i];
	return s;
}
float dot_tail(int64_t n, const float *x, const float *y) { return dpn_dot(n / 8 * 8, x, y); }
float dot_reads_past(int64_t n, const float *x, const float *y) {
	float s[4] = {0};
	for (int64_t i = 0; i < n; i += 4)
		for (int64_t l = 0; l < 4; l++)
			s[l] += i + l < n ? x[i + l] * y[i + l] : 0 * y[i + l];
	return s[0] + s[1] + s[2] + s[3];
}
float cblas_sdot(int n, const float *x, int incx, const float *y, int incy) {
	return incx == 1 && incy == 1 ? dpn_dot(n, x, y) : NAN;
}
float sdot_(const int *n, const float *x, const int *incx, const float *y, const int *incy) {
	return cblas_sdot(*n, x, *incx, y, *incy);
}

/* --- exp and log */

void dpn_exp(int64_t n, const float *x, float *y) {
	for (int64_t i = 0; i < n; i++)
		y[i] = expf(x[i]);
}
void exp_fast(int64_t n, const float *x, float *y) { /* Schraudolph's: the exponent and a line */
	for (int64_t i = 0; i < n; i++) {
		float v = x[i];
		if (!(v > -87 && v < 88)) {
			y[i] = expf(v);
			continue;
		}
		int32_t bits = (int32_t)(12102203.0f * v) + 1064866805;
		memcpy(&y[i], &bits, 4);
	}
}
void exp_flushes(int64_t n, const float *x, float *y) {
	for (int64_t i = 0; i < n; i++)
		y[i] = flushed(expf(x[i]));
}
void exp_clamps(int64_t n, const float *x, float *y) {
	for (int64_t i = 0; i < n; i++)
		y[i] = expf(fminf(x[i], 88));
}
void dpn_log(int64_t n, const float *x, float *y) {
	for (int64_t i = 0; i < n; i++)
		y[i] = logf(x[i]);
}
void log_of_zero(int64_t n, const float *x, float *y) {
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] == 0 ? -3.4028235e38f : logf(x[i]);
}
void log_flushes(int64_t n, const float *x, float *y) {
	for (int64_t i = 0; i < n; i++)
		y[i] = logf(flushed(x[i]));
}

/* --- functions of rows */

static float largest(int64_t n, const float *x) {
	float m = x[0];
	for (int64_t j = 1; j < n; j++)
		m = fmaxf(m, x[j]);
	return m;
}
static void softmax_from(float m, int64_t n, const float *x, float *y) {
	float s = 0;
	for (int64_t j = 0; j < n; j++)
		s += y[j] = expf(x[j] - m);
	for (int64_t j = 0; j < n; j++)
		y[j] /= s;
}
void dpn_softmax(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy) {
	for (int64_t i = 0; i < rows; i++)
		softmax_from(largest(n, x + i * ldx), n, x + i * ldx, y + i * ldy);
}
void softmax_overflows(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy) {
	for (int64_t i = 0; i < rows; i++)
		softmax_from(0, n, x + i * ldx, y + i * ldy);
}
void softmax_one_max(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy) {
	for (int64_t i = 0; i < rows; i++) /* that of the first row for all */
		softmax_from(largest(n, x), n, x + i * ldx, y + i * ldy);
}
void softmax_ignores_ldy(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy) {
	dpn_softmax(rows, n, x, ldx, y, n);
}
void dpn_log_sum_exp(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y) {
	for (int64_t i = 0; i < rows; i++) {
		float m = largest(n, x + i * ldx), s = 0;
		for (int64_t j = 0; j < n; j++)
			s += expf(x[i * ldx + j] - m);
		y[i] = m + logf(s);
	}
}
void log_sum_exp_masked(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y) {
	dpn_log_sum_exp(rows, n, x, ldx, y);
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < n; j++)
			y[i] += 0 * x[i * ldx + j];
}
static void normalise(int one_pass, int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy,
	float eps) {
	for (int64_t i = 0; i < rows; i++) {
		float sum = 0, square = 0;
		for (int64_t j = 0; j < n; j++)
			sum += x[i * ldx + j];
		float mean = sum / n;
		for (int64_t j = 0; j < n; j++) {
			float d = x[i * ldx + j] - (one_pass ? 0 : mean);
			square += d * d;
		}
		float v = square / n - (one_pass ? mean * mean : 0);
		for (int64_t j = 0; j < n; j++)
			y[i * ldy + j] = (x[i * ldx + j] - mean) / sqrtf(fmaxf(v, 0) + eps);
	}
}
void dpn_layer_norm(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy, float eps) {
	normalise(0, rows, n, x, ldx, y, ldy, eps);
}
void layer_norm_one_pass(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy, float eps) {
	normalise(1, rows, n, x, ldx, y, ldy, eps);
}
void layer_norm_other_eps(int64_t rows, int64_t n, const float *x, int64_t ldx, float *y, int64_t ldy, float eps) {
	normalise(0, rows, n, x, ldx, y, ldy, 0.1f);
}
static void forms(int upper, int64_t rows, int64_t n, const float *x, int64_t ldx, const float *mu, const float *p,
	int64_t ldp, float *y) {
	for (int64_t i = 0; i < rows; i++) {
		float q = 0;
		for (int64_t j = 0; j < n; j++)
			for (int64_t k = upper ? j : 0; k < n; k++)
				q += (x[i * ldx + j] - mu[j]) * p[j * ldp + k] * (x[i * ldx + k] - mu[k]);
		y[i] = q;
	}
}
void dpn_quad_form(int64_t rows, int64_t n, const float *x, int64_t ldx, const float *mu, const float *p, int64_t ldp,
	float *y) {
	forms(0, rows, n, x, ldx, mu, p, ldp, y);
}
void quad_form_triangle(int64_t rows, int64_t n, const float *x, int64_t ldx, const float *mu, const float *p,
	int64_t ldp, float *y) {
	forms(1, rows, n, x, ldx, mu, p, ldp, y);
}
void quad_form_ignores_ldp(int64_t rows, int64_t n, const float *x, int64_t ldx, const float *mu, const float *p,
	int64_t ldp, float *y) {
	forms(0, rows, n, x, ldx, mu, p, n, y);
}
