/* clock_gettime, gettimeofday and time beside the kernel's clock, by four threads;
 * CLOCK_MONOTONIC never goes backwards. Also from one thread to another. */
#include "check.h"

#include <pthread.h>

static _Atomic int64_t latest;
static _Atomic int stop;

static void *reader(void *unused)
{
    int64_t last = 0;
    while (!stop) {
        int64_t shared = atomic_load(&latest);
        int64_t now = check_reading(CLOCK_MONOTONIC, "thread");
        CHECK(now >= last, "a thread's clock went backwards by %lld ns", (long long)(last - now));
        CHECK(now >= shared - 2 * BOUND_NS, "%lld ns behind another thread's clock",
              (long long)(shared - now));
        last = now;
        while (shared < now && !atomic_compare_exchange_weak(&latest, &shared, now))
            ;
    }
    return unused;
}

/* gettimeofday and time between two readings of the kernel. time() is that of the
 * last tick in the C library, so the coarse clock is its lower bound. */
static void calendar(void)
{
    struct timeval t = {-1, -1};
    struct timezone zone = {77, 77};
    int64_t before = kernel_ns(CLOCK_REALTIME);
    CHECK(gettimeofday(&t, NULL) == 0, "gettimeofday failed: %m");
    int64_t after = kernel_ns(CLOCK_REALTIME);
    int64_t us = t.tv_sec * 1000000LL + t.tv_usec;
    CHECK(us >= (before - BOUND_NS) / 1000 && us <= (after + BOUND_NS) / 1000,
          "gettimeofday: %lld us, the kernel %lld..%lld ns", (long long)us, (long long)before,
          (long long)after);
    CHECK(t.tv_usec >= 0 && t.tv_usec < 1000000, "tv_usec is %ld", (long)t.tv_usec);

    CHECK(gettimeofday(&t, &zone) == 0, "gettimeofday with a timezone failed: %m");
    CHECK(zone.tz_minuteswest != 77 && zone.tz_dsttime != 77, "timezone not written");

    int64_t least = kernel_ns(CLOCK_REALTIME_COARSE) / SECOND;
    time_t stored = -1, got = time(&stored), plain = time(NULL);
    int64_t most = (kernel_ns(CLOCK_REALTIME) + BOUND_NS) / SECOND;
    CHECK(got == stored, "time(&t) returned %ld and stored %ld", (long)got, (long)stored);
    CHECK(got >= least && got <= plain && plain <= most, "time: %ld, then %ld, not in %ld..%ld",
          (long)got, (long)plain, (long)least, (long)most);
}

int main(void)
{
    pthread_t threads[3];
    check_reading(CLOCK_MONOTONIC, "first");
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, reader, NULL) == 0);
    int64_t end = kernel_ns(CLOCK_MONOTONIC) + 120 * MS;
    while (kernel_ns(CLOCK_MONOTONIC) < end) {
        check_readings(MS, "main");
        calendar();
    }
    /* Across a second's edge time() and the others change together. */
    struct timespec pause = to_timespec(SECOND - kernel_ns(CLOCK_REALTIME) % SECOND - MS);
    if (to_ns(pause) > 0 && to_ns(pause) < 250 * MS)
        nanosleep(&pause, NULL);
    for (int i = 0; i < 2000; i++)
        calendar();
    stop = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return finished();
}
