/* Shared by the test programs: the kernel's clock by real system calls as the
 * truth, and checks whose failures end the program with status 1. */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* By how much a clock reading may differ from the kernel's, in ns. */
#define BOUND_NS 10000LL
/* The default timer slack, by which the kernel's own remainders are too long. */
#define SLACK_NS 50000LL
#define MS 1000000LL
#define SECOND 1000000000LL

static inline int64_t to_ns(struct timespec t)
{
    return t.tv_sec * SECOND + t.tv_nsec;
}

static inline struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){ns / SECOND, ns % SECOND};
}

/* The kernel's clock, around every library. */
static inline int64_t kernel_ns(clockid_t clock)
{
    struct timespec t = {0, 0};
    int kept = errno;
    syscall(SYS_clock_gettime, clock, &t);
    errno = kept;
    return to_ns(t);
}

/* The clock as programs read it. */
static inline int64_t clock_ns(clockid_t clock)
{
    struct timespec t = {-1, -1};
    if (clock_gettime(clock, &t) != 0)
        return -1;
    return to_ns(t);
}

static _Atomic int failures;

/* Says what went wrong; async-signal-safe enough for a failing test. */
#define FAIL(...)                                                              \
    do {                                                                       \
        if (atomic_fetch_add(&failures, 1) < 10) {                             \
            dprintf(2, "FAIL %s:%d: ", __FILE__, __LINE__);                    \
            dprintf(2, __VA_ARGS__);                                           \
            dprintf(2, "\n");                                                  \
        }                                                                      \
    } while (0)

#define CHECK(condition, ...)                                                  \
    do {                                                                       \
        if (!(condition))                                                      \
            FAIL(__VA_ARGS__);                                                 \
    } while (0)

/* For what the test itself needs, such as a thread. */
#define MUST(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            dprintf(2, "cannot test, %s:%d: %s: %s\n", __FILE__, __LINE__,     \
                    #condition, strerror(errno));                              \
            _exit(3);                                                          \
        }                                                                      \
    } while (0)

/* One reading between two of the kernel's. Returns it. */
static inline int64_t check_reading(clockid_t clock, const char *where)
{
    int64_t before = kernel_ns(clock);
    int64_t read = clock_ns(clock);
    int64_t after = kernel_ns(clock);
    CHECK(read >= before - BOUND_NS && read <= after + BOUND_NS,
          "%s: clock %d is %lld ns before or %lld ns after the kernel's", where, (int)clock,
          (long long)(before - read), (long long)(read - after));
    return read;
}

/* Readings for `ns`: right, and CLOCK_MONOTONIC never backwards. */
static inline long check_readings(int64_t ns, const char *where)
{
    int64_t end = kernel_ns(CLOCK_MONOTONIC) + ns, last = 0;
    long n = 0;
    do {
        int64_t now = check_reading(CLOCK_MONOTONIC, where);
        CHECK(now >= last, "%s: backwards by %lld ns", where, (long long)(last - now));
        last = now;
        check_reading(CLOCK_REALTIME, where);
        n++;
    } while (kernel_ns(CLOCK_MONOTONIC) < end);
    return n;
}

static inline int finished(void)
{
    if (failures)
        return 1;
    puts("all checks passed");
    return 0;
}

#endif
