/* How precise one call is, by the kernel's clock.
 *
 *     precision CALL COUNT
 *
 * A call that sleeps is made COUNT times, and as often before, unless it takes whole
 * seconds, to let it learn; prints "late NS" for each. A call that reads a clock is made
 * for COUNT milliseconds; prints "step NS", the smallest one between two readings, "off
 * NS", by how much one was outside of what the kernel said before and after it, and "cost
 * NS", the median of what one took. `time`, whose step is a second, is asked at COUNT of
 * their edges; prints "late NS", when it had the new one. `prctl` stands for all readings
 * after it forbade the counter.
 *
 * Exit status: 0 printed, 1 a sleep ended early, 2 there is no such call.
 */
#include "check.h"

#include <sys/prctl.h>

#ifndef PR_SET_TSC
#define PR_SET_TSC 26
#define PR_TSC_SIGSEGV 2
#endif

static int usage(void)
{
    fputs("usage: precision CALL COUNT\n", stderr);
    return 2;
}

/* Sleeps ------------------------------------------------------------------------- */

static clockid_t sleeps_clock = CLOCK_MONOTONIC;
static int absolute;

static int by_clock_nanosleep(int64_t ns)
{
    /* The beginning by the clock that the program reads. */
    struct timespec until = to_timespec(ns + (absolute ? clock_ns(sleeps_clock) : 0));
    int code = clock_nanosleep(sleeps_clock, absolute ? TIMER_ABSTIME : 0, &until, NULL);
    if (absolute) {
        CHECK(clock_ns(sleeps_clock) >= to_ns(until), "early to the program");
        CHECK(kernel_ns(sleeps_clock) >= to_ns(until), "early to the kernel");
    }
    return code;
}

static int by_nanosleep(int64_t ns)
{
    struct timespec length = to_timespec(ns);
    return nanosleep(&length, NULL);
}

static int by_usleep(int64_t ns)
{
    return usleep(ns / 1000);
}

static int by_sleep(int64_t ns)
{
    return sleep(ns / SECOND);
}

/* How late one ends. */
static int64_t late(int (*call)(int64_t), int64_t ns)
{
    int64_t began = kernel_ns(CLOCK_MONOTONIC);
    MUST(call(ns) == 0);
    int64_t took = kernel_ns(CLOCK_MONOTONIC) - began;
    CHECK(absolute || took >= ns, "early by %lld ns", (long long)(ns - took));
    return took - ns;
}

static void sleeps(int (*call)(int64_t), long count)
{
    int whole_seconds = call == by_sleep;
    for (long i = 0; i < (whole_seconds ? 20 : count); i++)
        late(whole_seconds ? by_nanosleep : call, whole_seconds ? 40 * MS : MS);
    for (long i = 0; i < count; i++)
        printf("late %lld\n", (long long)late(call, whole_seconds ? SECOND : MS));
}

/* Readings ------------------------------------------------------------------------ */

static int64_t monotonic(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static int64_t realtime(void)
{
    return clock_ns(CLOCK_REALTIME);
}

static int64_t day(void)
{
    struct timeval t = {-1, -1};
    gettimeofday(&t, NULL);
    return t.tv_sec * SECOND + t.tv_usec * 1000LL;
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* By a clock that shows what is below `unit` as zeros. */
static void readings(int64_t (*read)(void), clockid_t clock, int64_t unit, long ms)
{
    enum { BATCHES = 1000, READS = 50 };
    static int64_t costs[BATCHES];
    int64_t end = kernel_ns(CLOCK_MONOTONIC) + ms * MS, step = SECOND, off = 0;
    do {
        int64_t before = kernel_ns(clock), reading = read(), after = kernel_ns(clock);
        off = most(off, most(before - before % unit - reading, reading - after));
        for (int64_t last = read(), i = 0, now; i < 100; i++, last = now) {
            now = read();
            if (now > last && now - last < step)
                step = now - last;
        }
    } while (kernel_ns(CLOCK_MONOTONIC) < end);
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t began = kernel_ns(CLOCK_MONOTONIC);
        for (int i = 0; i < READS; i++)
            read();
        costs[batch] = (kernel_ns(CLOCK_MONOTONIC) - began) / READS;
    }
    qsort(costs, BATCHES, sizeof *costs, ascending);
    printf("step %lld\noff %lld\ncost %lld\n", (long long)step, (long long)off,
           (long long)costs[BATCHES / 2]);
}

/* When time() changes, by the kernel. */
static void edges(long count)
{
    while (count--) {
        int64_t edge = (kernel_ns(CLOCK_REALTIME) / SECOND + 1) * SECOND, now;
        /* Most of it in the kernel, by a call that nobody replaces. */
        struct timespec near = to_timespec(edge - 5 * MS);
        syscall(SYS_clock_nanosleep, CLOCK_REALTIME, TIMER_ABSTIME, &near, NULL);
        do {
            now = kernel_ns(CLOCK_REALTIME);
        } while (time(NULL) < edge / SECOND);
        printf("late %lld\n", (long long)most(now - edge, 0));
    }
}

int main(int argc, char **argv)
{
    long count = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (count <= 0)
        return usage();
    const char *call = argv[1];
    char name[64];
    if (strcmp(call, "nanosleep") == 0) {
        sleeps(by_nanosleep, count);
    } else if (strcmp(call, "usleep") == 0) {
        sleeps(by_usleep, count);
    } else if (strcmp(call, "sleep") == 0) {
        sleeps(by_sleep, count);
    } else if (strcmp(call, "time") == 0) {
        edges(count);
    } else if (strcmp(call, "gettimeofday") == 0) {
        readings(day, CLOCK_REALTIME, 1000, count);
    } else if (strcmp(call, "clock_gettime CLOCK_MONOTONIC") == 0) {
        readings(monotonic, CLOCK_MONOTONIC, 1, count);
    } else if (strcmp(call, "clock_gettime CLOCK_REALTIME") == 0) {
        readings(realtime, CLOCK_REALTIME, 1, count);
    } else if (strcmp(call, "prctl") == 0) {
        MUST(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
        readings(monotonic, CLOCK_MONOTONIC, 1, count);
        readings(realtime, CLOCK_REALTIME, 1, count);
        readings(day, CLOCK_REALTIME, 1000, count);
    } else {
        for (int clock = 0; clock < 2; clock++)
            for (absolute = 0; absolute < 2; absolute++) {
                sleeps_clock = clock ? CLOCK_REALTIME : CLOCK_MONOTONIC;
                snprintf(name, sizeof name, "clock_nanosleep %s %s",
                         clock ? "CLOCK_REALTIME" : "CLOCK_MONOTONIC",
                         absolute ? "absolute" : "relative");
                if (strcmp(call, name) == 0) {
                    sleeps(by_clock_nanosleep, count);
                    return failures != 0;
                }
            }
        return usage();
    }
    return failures != 0;
}
