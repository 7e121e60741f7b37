// What process.go calls of MPI. Each function returns MPI_SUCCESS or an error of MPI.
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { DATA = 1, FAILURE = 2 }; // tags

typedef struct {
	MPI_Request request;
	int done, count, failed; // count: of bytes; failed: a rank, or -1
} slot;

// All messages are on a communicator of their own.
static MPI_Comm ours;

// Signals that Go turns into panics: its handlers must stay, but Open MPI sets its own.
static const int panics[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { PANICS = sizeof panics / sizeof *panics };

static int init(int *level) {
	struct sigaction before[PANICS];
	for (int i = 0; i < PANICS; i++) sigaction(panics[i], NULL, &before[i]);
	int e = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, level);
	for (int i = 0; i < PANICS; i++) sigaction(panics[i], &before[i], NULL);
	return e;
}

static int start(int *level, int *rank, int *size, int *node_size) {
	MPI_Comm node;
	int e = init(level);
	if (e == MPI_SUCCESS) e = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (e == MPI_SUCCESS) e = MPI_Comm_dup(MPI_COMM_WORLD, &ours);
	if (e == MPI_SUCCESS) e = MPI_Comm_set_errhandler(ours, MPI_ERRORS_RETURN);
	if (e == MPI_SUCCESS) e = MPI_Comm_rank(ours, rank);
	if (e == MPI_SUCCESS) e = MPI_Comm_size(ours, size);
	if (e == MPI_SUCCESS) e = MPI_Comm_split_type(ours, MPI_COMM_TYPE_SHARED, *rank, MPI_INFO_NULL, &node);
	if (e == MPI_SUCCESS) e = MPI_Comm_size(node, node_size);
	return e == MPI_SUCCESS ? MPI_Comm_free(&node) : e;
}

static int gather(void *mine, int n, void *all) {
	return MPI_Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, ours);
}

static int begin_send(void *b, int n, int to, slot *s) {
	return MPI_Isend(b, n, MPI_BYTE, to, DATA, ours, &s->request);
}

static int begin_recv(void *b, int n, int from, slot *s) {
	return MPI_Irecv(b, n, MPI_BYTE, from, DATA, ours, &s->request);
}

static long since(const struct timespec *t) { // in ns
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - t->tv_sec) * 1000000000L + now.tv_nsec - t->tv_nsec;
}

// poll waits for a request for a few milliseconds, and looks for a message of failure: its rank is in s->failed. In
// the first call of a wait it spins a while, for messages that are on their way; then it sleeps, because the rank
// that it waits for may need the core.
static int poll(slot *s, int first) {
	struct timespec begun, pause = {0, 50000};
	clock_gettime(CLOCK_MONOTONIC, &begun);
	s->failed = -1;
	for (;;) {
		MPI_Status status;
		int e = MPI_Test(&s->request, &s->done, &status);
		if (e != MPI_SUCCESS) return e;
		if (s->done) return MPI_Get_count(&status, MPI_BYTE, &s->count);
		int there;
		e = MPI_Iprobe(MPI_ANY_SOURCE, FAILURE, ours, &there, &status);
		if (e != MPI_SUCCESS) return e;
		if (there) {
			s->failed = status.MPI_SOURCE;
			return e;
		}
		long ns = since(&begun);
		if (ns > 3000000) return e;
		if (first && ns < 100000) sched_yield();
		else nanosleep(&pause, NULL);
	}
}

// hear receives the text of a failure, and sets *n to its length.
static int hear(char *b, int *n, int from) {
	MPI_Status status;
	int e = MPI_Recv(b, *n, MPI_BYTE, from, FAILURE, ours, &status);
	return e == MPI_SUCCESS ? MPI_Get_count(&status, MPI_BYTE, n) : e;
}

// tell sends the text of a failure. b stays in memory for good, and nobody waits.
static int tell(char *b, int n, int to) {
	MPI_Request r;
	int e = MPI_Isend(b, n, MPI_BYTE, to, FAILURE, ours, &r);
	return e == MPI_SUCCESS ? MPI_Request_free(&r) : e;
}

// progress lets messages on their way go on.
static int progress(void) {
	MPI_Status status;
	int there;
	return MPI_Iprobe(MPI_ANY_SOURCE, FAILURE, ours, &there, &status);
}

static void end_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }
