/* What a program sees of a step of the system's time, through the C library.
 *
 *     time_steps SECONDS
 *
 * steps CLOCK_REALTIME by SECONDS and then by -SECONDS. FOR DISPOSABLE MACHINES: it
 * needs root, and when it is killed in between the time stays wrong.
 *
 * A forked child steps the time by system calls, so that nothing that stands in for
 * the C library's functions can know of it. Meanwhile the parent reads
 * CLOCK_REALTIME, gettimeofday, time and CLOCK_MONOTONIC through the C library, each
 * again and again. Prints KEY=VALUE lines, for each step with the prefix `first_` or
 * `second_`:
 *
 *     step_ns           by how much the time was stepped
 *     realtime_seen_ns, gettimeofday_seen_ns, time_seen_ns
 *                       ns of CLOCK_MONOTONIC (system calls) from just before the step
 *                       to the end of the first reading that shows it, or `never`
 *     loops             how often all clocks were read
 *     longest_loop_ns   the longest of these rounds: what waiting for a CPU explains
 *
 * and for all together:
 *
 *     gettimeofday_worst_ns  the farthest that gettimeofday lay outside two readings of
 *                            CLOCK_REALTIME around it (0: always between them)
 *     monotonic_backward     readings of CLOCK_MONOTONIC before the one before
 *     monotonic_worst_ns     the farthest that it lay outside two system calls around it
 *     realtime_worst_ns      afterwards: the farthest that CLOCK_REALTIME lay outside
 *                            two system calls around it
 *
 * Exit status: 0 measured, 1 bad argument or not allowed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL
/* How long readers get to see a step. */
#define LIMIT_NS (300 * NS_PER_MS)
/* The part of a second at which a step is made: time() then says for half a second
 * which of the two times it follows. */
#define STEP_AT_NS (300 * NS_PER_MS)

static void fail(const char *what)
{
	fprintf(stderr, "time_steps: %s: %s\n", what, strerror(errno));
	exit(1);
}

static long long raw_ns(clockid_t clock)
{
	struct timespec t;
	if (syscall(SYS_clock_gettime, clock, &t) != 0)
		fail("clock_gettime, as a system call");
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static long long clock_ns(clockid_t clock)
{
	struct timespec t;
	if (clock_gettime(clock, &t) != 0)
		fail("clock_gettime");
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static long long gettimeofday_ns(void)
{
	struct timeval t;
	if (gettimeofday(&t, NULL) != 0)
		fail("gettimeofday");
	return t.tv_sec * NS_PER_S + t.tv_usec * 1000LL;
}

static long long time_ns(void)
{
	return time(NULL) * NS_PER_S;
}

static void sleep_ns(long long ns)
{
	struct timespec t = {ns / NS_PER_S, ns % NS_PER_S};
	while (syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, &t) != 0 && errno == EINTR)
		;
}

/* What child and parent share. */
struct shared {
	volatile long long before_ns; /* CLOCK_MONOTONIC just before the step */
	volatile int error;           /* errno of the step, or 0 */
	volatile int done;
};

/* The child: steps the time by `step_ns` once the second is STEP_AT_NS old, or at most
 * half as much older, as when it is woken late. */
static void step(struct shared *shared, long long step_ns)
{
	struct timeval t;
	long long now_ns, early_ns;
	while (now_ns = raw_ns(CLOCK_REALTIME),
	       early_ns = (NS_PER_S + STEP_AT_NS - now_ns % NS_PER_S) % NS_PER_S,
	       early_ns > 0 && early_ns < NS_PER_S - STEP_AT_NS / 2)
		sleep_ns(early_ns);
	shared->before_ns = raw_ns(CLOCK_MONOTONIC);
	now_ns = raw_ns(CLOCK_REALTIME) + step_ns;
	t.tv_sec = now_ns / NS_PER_S;
	t.tv_usec = now_ns % NS_PER_S / 1000;
	if (syscall(SYS_settimeofday, &t, NULL) != 0)
		shared->error = errno;
	shared->done = 1;
	_exit(0);
}

static long long outside(long long value, long long from, long long to)
{
	return value < from ? from - value : value > to ? value - to : 0;
}

static void keep_greatest(long long *greatest, long long value)
{
	if (value > *greatest)
		*greatest = value;
}

/* Whether a clock that showed `value_ns` at `monotonic_ns` had made the step. */
static int stepped(long long value_ns, long long monotonic_ns, long long offset_ns,
		   long long step_ns)
{
	long long shift_ns = value_ns - monotonic_ns - offset_ns;
	return step_ns > 0 ? shift_ns > step_ns / 2 : shift_ns < step_ns / 2;
}

static long long gettimeofday_worst_ns, monotonic_worst_ns, realtime_worst_ns;
static unsigned long long monotonic_backward;

enum reader { REALTIME, GETTIMEOFDAY, TIME, READERS };
static const char *const reader_names[READERS] = {"realtime", "gettimeofday", "time"};

static void watch(const char *prefix, struct shared *shared, long long step_ns)
{
	long long seen_at_ns[READERS] = {0};
	long long offset_ns = raw_ns(CLOCK_REALTIME) - raw_ns(CLOCK_MONOTONIC);
	long long last_monotonic_ns = 0, longest_loop_ns = 0, loop_ns, now_ns;
	unsigned long long loops = 0;

	memset((void *)shared, 0, sizeof *shared);
	fflush(stdout);
	pid_t child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		/* Nobody's time is stepped after the parent was killed. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		step(shared, step_ns);
	}
	now_ns = raw_ns(CLOCK_MONOTONIC);
	do {
		long long value_ns[READERS], at_ns[READERS];

		loop_ns = now_ns;
		value_ns[REALTIME] = clock_ns(CLOCK_REALTIME);
		at_ns[REALTIME] = raw_ns(CLOCK_MONOTONIC);
		value_ns[GETTIMEOFDAY] = gettimeofday_ns();
		at_ns[GETTIMEOFDAY] = raw_ns(CLOCK_MONOTONIC);
		/* It cuts off up to a second: the middle is its best guess. */
		value_ns[TIME] = time_ns() + NS_PER_S / 2;
		at_ns[TIME] = raw_ns(CLOCK_MONOTONIC);
		long long after_ns = clock_ns(CLOCK_REALTIME);
		long long before_monotonic_ns = raw_ns(CLOCK_MONOTONIC);
		long long monotonic_ns = clock_ns(CLOCK_MONOTONIC);

		now_ns = raw_ns(CLOCK_MONOTONIC);
		/* Earlier, time() would seem to have stepped at the end of a second. */
		for (int i = 0; i < READERS && shared->before_ns; i++)
			if (!seen_at_ns[i] && stepped(value_ns[i], at_ns[i], offset_ns, step_ns))
				seen_at_ns[i] = at_ns[i];
		/* Not in a round in which the step came between the two readings. */
		if (stepped(value_ns[REALTIME], at_ns[REALTIME], offset_ns, step_ns) ||
		    !stepped(after_ns, before_monotonic_ns, offset_ns, step_ns))
			/* It cuts off up to a microsecond. */
			keep_greatest(&gettimeofday_worst_ns,
				      outside(value_ns[GETTIMEOFDAY],
					      value_ns[REALTIME] / 1000 * 1000, after_ns));
		keep_greatest(&monotonic_worst_ns,
			      outside(monotonic_ns, before_monotonic_ns, now_ns));
		monotonic_backward += monotonic_ns < last_monotonic_ns;
		last_monotonic_ns = monotonic_ns;
		if (shared->before_ns)
			keep_greatest(&longest_loop_ns, now_ns - loop_ns);
		loops++;
	} while (!shared->done || now_ns - shared->before_ns < LIMIT_NS);
	waitpid(child, NULL, 0);
	if (shared->error) {
		errno = shared->error;
		fail("the system's time cannot be set");
	}
	printf("%sstep_ns=%lld\n", prefix, step_ns);
	for (int i = 0; i < READERS; i++)
		if (seen_at_ns[i])
			printf("%s%s_seen_ns=%lld\n", prefix, reader_names[i],
			       seen_at_ns[i] - shared->before_ns);
		else
			printf("%s%s_seen_ns=never\n", prefix, reader_names[i]);
	printf("%sloops=%llu\n", prefix, loops);
	printf("%slongest_loop_ns=%lld\n", prefix, longest_loop_ns);
}

int main(int argc, char **argv)
{
	char *end = NULL;
	long seconds = argc == 2 ? strtol(argv[1], &end, 10) : 0;
	if (argc != 2 || *end != '\0' || seconds == 0 || labs(seconds) > 1000000) {
		fprintf(stderr, "time_steps: expected SECONDS to step the time by and back, "
				"from -1000000 to 1000000, not 0\n");
		return 1;
	}
	struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		fail("mmap");
	watch("first_", shared, seconds * NS_PER_S);
	watch("second_", shared, -seconds * NS_PER_S);
	for (int i = 0; i < 10000; i++) {
		long long before_ns = raw_ns(CLOCK_REALTIME);
		long long value_ns = clock_ns(CLOCK_REALTIME);
		keep_greatest(&realtime_worst_ns,
			      outside(value_ns, before_ns, raw_ns(CLOCK_REALTIME)));
	}
	printf("gettimeofday_worst_ns=%lld\n", gettimeofday_worst_ns);
	printf("monotonic_backward=%llu\n", monotonic_backward);
	printf("monotonic_worst_ns=%lld\n", monotonic_worst_ns);
	printf("realtime_worst_ns=%lld\n", realtime_worst_ns);
	return 0;
}
