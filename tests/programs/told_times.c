/* What time it is to each call that tells it, for libraries that change that.
 *
 *     told_times
 *
 * prints the seconds of clock_gettime, gettimeofday and time, and of time by a pointer
 * that was taken before the start.
 *
 *     told_times SECONDS
 *
 * sleeps so long by each call, and prints what that took: by the clock that it reads, and
 * by the kernel's.
 */
#include "check.h"

static time_t (*volatile held)(time_t *) = time;

static const char *beside(int64_t ns, int64_t asked)
{
    return ns < asked - BOUND_NS ? "less" : ns < 2 * asked ? "as asked" : "far more";
}

int main(int argc, char **argv)
{
    struct timespec now, length;
    struct timeval today;
    if (argc < 2) {
        MUST(clock_gettime(CLOCK_REALTIME, &now) == 0 && gettimeofday(&today, NULL) == 0);
        printf("%ld %ld ", (long)now.tv_sec, (long)today.tv_sec);
        printf("%ld %ld\n", (long)time(NULL), (long)held(NULL));
        return 0;
    }
    length.tv_sec = strtol(argv[1], NULL, 10);
    length.tv_nsec = 0;
    int64_t told = clock_ns(CLOCK_REALTIME), kernels = kernel_ns(CLOCK_MONOTONIC);
    MUST(nanosleep(&length, NULL) == 0);
    MUST(clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL) == 0);
    MUST(usleep(length.tv_sec * 1000000) == 0);
    /* What libfaketime's returns was never set. */
    sleep(length.tv_sec);
    told = clock_ns(CLOCK_REALTIME) - told;
    kernels = kernel_ns(CLOCK_MONOTONIC) - kernels;
    printf("told: %s, kernel's: %s\n", beside(told, 4 * to_ns(length)),
           beside(kernels, 4 * to_ns(length)));
    return 0;
}
