/* A shared library whose constructor and destructor read the clocks and sleep, at
 * moments when the preloaded library may not have begun or may have ended. */
#include "check.h"

static void everything(const char *where)
{
    struct timespec brief = to_timespec(100000);
    struct timeval day;
    check_readings(7 * MS, where);
    CHECK(gettimeofday(&day, NULL) == 0 && time(NULL) > 0, "%s: gettimeofday or time", where);
    errno = 77;
    int64_t began = kernel_ns(CLOCK_MONOTONIC);
    CHECK(nanosleep(&brief, NULL) == 0, "%s: nanosleep", where);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL) == 0, "%s: clock_nanosleep", where);
    CHECK(usleep(100) == 0 && sleep(0) == 0, "%s: usleep or sleep", where);
    CHECK(errno == 77, "%s: errno became %d", where, errno);
    int64_t took = kernel_ns(CLOCK_MONOTONIC) - began;
    CHECK(took >= 300000 - 6 * BOUND_NS, "%s: 300 us of sleep took %lld ns", where,
          (long long)took);
    dprintf(1, "%s\n", where);
}

__attribute__((constructor(101))) static void early(void)
{
    everything("first constructor");
}

__attribute__((constructor)) static void construct(void)
{
    everything("constructor");
}

__attribute__((destructor(101))) static void late(void)
{
    everything("last destructor");
    if (failures)
        _exit(1);
}

void early_library(void)
{
    everything("called");
}
