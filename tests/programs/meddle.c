/* Faults of known size, to test programs that judge clocks: a library for LD_PRELOAD
 * that answers clock_gettime, gettimeofday and time by system calls and spoils the
 * answers as the environment says. All variables are optional, all values numbers:
 *
 *     MEDDLE_SLOW_NS       every reading takes this much longer
 *     MEDDLE_BACK_NS       every thousandth CLOCK_MONOTONIC lies this far back
 *     MEDDLE_REALTIME_LATE_MS, MEDDLE_GETTIMEOFDAY_LATE_MS, MEDDLE_TIME_LATE_MS
 *                          how long this function hides a step of the system's time
 *
 * For programs with one thread.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL
#define NS_PER_MS 1000000LL

static long long raw_ns(clockid_t clock)
{
	struct timespec t = {0};
	syscall(SYS_clock_gettime, clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static long long setting(const char *name)
{
	const char *value = getenv(name);
	return value ? atoll(value) : 0;
}

static void be_slow(void)
{
	long long end_ns = setting("MEDDLE_SLOW_NS");
	if (end_ns == 0)
		return;
	end_ns += raw_ns(CLOCK_MONOTONIC);
	while (raw_ns(CLOCK_MONOTONIC) < end_ns)
		;
}

/* CLOCK_REALTIME of one function, behind its own delay. */
struct late {
	long long shown_offset_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC, as shown */
	long long since_ns;        /* when a step was found that is still hidden */
	int started;
};

static long long late_ns(struct late *late, const char *variable)
{
	long long now_ns = raw_ns(CLOCK_MONOTONIC);
	long long offset_ns = raw_ns(CLOCK_REALTIME) - now_ns;
	int step = llabs(offset_ns - late->shown_offset_ns) > 100 * NS_PER_MS;

	/* Anew: the step may have come between the two readings above. */
	if (late->started && step && late->since_ns == 0)
		late->since_ns = raw_ns(CLOCK_MONOTONIC);
	if (!late->started || !step ||
	    now_ns - late->since_ns >= setting(variable) * NS_PER_MS) {
		late->shown_offset_ns = offset_ns;
		late->since_ns = 0;
		late->started = 1;
	}
	return now_ns + late->shown_offset_ns;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static struct late late;
	static unsigned long long count;
	long long now_ns;

	be_slow();
	if (clock == CLOCK_REALTIME)
		now_ns = late_ns(&late, "MEDDLE_REALTIME_LATE_MS");
	else if (clock == CLOCK_MONOTONIC)
		now_ns = raw_ns(clock) - (++count % 1000 ? 0 : setting("MEDDLE_BACK_NS"));
	else
		return syscall(SYS_clock_gettime, clock, t);
	t->tv_sec = now_ns / NS_PER_S;
	t->tv_nsec = now_ns % NS_PER_S;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	static struct late late;
	(void)zone;
	be_slow();
	long long now_ns = late_ns(&late, "MEDDLE_GETTIMEOFDAY_LATE_MS");
	t->tv_sec = now_ns / NS_PER_S;
	t->tv_usec = now_ns % NS_PER_S / 1000;
	return 0;
}

time_t time(time_t *t)
{
	static struct late late;
	be_slow();
	time_t now = late_ns(&late, "MEDDLE_TIME_LATE_MS") / NS_PER_S;
	if (t)
		*t = now;
	return now;
}
