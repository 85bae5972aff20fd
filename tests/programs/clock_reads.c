/* How many times per second a program can read the clock, through the C library.
 *
 *     clock_reads MILLISECONDS
 *
 * reads with clock_gettime(CLOCK_MONOTONIC), clock_gettime(CLOCK_REALTIME),
 * gettimeofday and time, each for that long, and prints KEY=VALUE lines:
 *
 *     monotonic_reads_per_s, realtime_reads_per_s, gettimeofday_reads_per_s,
 *     time_reads_per_s
 *     monotonic_reads       readings of CLOCK_MONOTONIC that were compared
 *     monotonic_backward    how many of them lay before the one before
 *     monotonic_backward_ns the farthest that one of them lay before, in ns
 *
 * Exit status: 0 measured, 1 bad argument or a clock that cannot be read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

static void fail(const char *what)
{
	fprintf(stderr, "clock_reads: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The stopwatch: a system call, whatever stands in for the C library's functions. */
static long long stopwatch_ns(void)
{
	struct timespec t;
	if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t) != 0)
		fail("clock_gettime, as a system call");
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static long long last_ns = -1;
static unsigned long long compared, backward;
static long long backward_ns;

static void read_monotonic(void)
{
	struct timespec t;
	if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
		fail("clock_gettime(CLOCK_MONOTONIC)");
	long long now_ns = t.tv_sec * NS_PER_S + t.tv_nsec;
	if (now_ns < last_ns) {
		backward++;
		if (last_ns - now_ns > backward_ns)
			backward_ns = last_ns - now_ns;
	}
	compared++;
	last_ns = now_ns;
}

static void read_realtime(void)
{
	struct timespec t;
	if (clock_gettime(CLOCK_REALTIME, &t) != 0)
		fail("clock_gettime(CLOCK_REALTIME)");
}

static void read_gettimeofday(void)
{
	struct timeval t;
	if (gettimeofday(&t, NULL) != 0)
		fail("gettimeofday");
}

static void read_time(void)
{
	if (time(NULL) == (time_t)-1)
		fail("time");
}

/* Inlined, so that what is read is called directly, as in a program of its own.
 * Reads in batches, and looks at the stopwatch between them. A batch doubles as long
 * as it takes less than a hundredth of the time: so the stopwatch costs next to
 * nothing where reads are quick, and the end is not overrun where they are slow. */
static inline __attribute__((always_inline)) void
measure(const char *name, void (*read_once)(void), long long period_ns)
{
	unsigned long long reads = 0, batch = 1;
	long long start_ns = stopwatch_ns(), before_ns = start_ns, now_ns;
	do {
		for (unsigned long long i = 0; i < batch; i++)
			read_once();
		reads += batch;
		now_ns = stopwatch_ns();
		if (now_ns - before_ns < period_ns / 100)
			batch *= 2;
		before_ns = now_ns;
	} while (now_ns - start_ns < period_ns);
	printf("%s_reads_per_s=%.0f\n", name, reads * 1e9 / (now_ns - start_ns));
}

int main(int argc, char **argv)
{
	char *end = NULL;
	long ms = argc == 2 ? strtol(argv[1], &end, 10) : 0;
	if (argc != 2 || *end != '\0' || ms < 1 || ms > 60000) {
		fprintf(stderr, "clock_reads: expected MILLISECONDS for each clock, from 1 to 60000\n");
		return 1;
	}
	long long period_ns = ms * 1000000LL;
	measure("monotonic", read_monotonic, period_ns);
	measure("realtime", read_realtime, period_ns);
	measure("gettimeofday", read_gettimeofday, period_ns);
	measure("time", read_time, period_ns);
	printf("monotonic_reads=%llu\n", compared);
	printf("monotonic_backward=%llu\n", backward);
	printf("monotonic_backward_ns=%lld\n", backward_ns);
	return 0;
}
