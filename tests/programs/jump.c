/* siglongjmp out of a handler that interrupted a sleep or a clock reading, at all
 * sorts of moments. Both calls are async-signal-safe, so the program may go on;
 * afterwards clocks and sleeps are as right as ever, in this thread too. */
#include "check.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf home;
static volatile sig_atomic_t armed, jumps;

static void handler(int unused)
{
    (void)unused;
    if (armed) {
        armed = 0;
        jumps++;
        siglongjmp(home, 1);
    }
}

static void arm(int us)
{
    struct itimerval t = {{0, us}, {0, us}};
    setitimer(ITIMER_REAL, &t, NULL);
}

static void rest_is_right(void)
{
    struct timespec brief = to_timespec(MS / 2);
    for (int kind = 0; kind < 3; kind++) {
        int64_t began = kernel_ns(CLOCK_MONOTONIC);
        if (kind == 0)
            nanosleep(&brief, NULL);
        else if (kind == 1)
            usleep(500);
        else {
            struct timespec until = to_timespec(clock_ns(CLOCK_MONOTONIC) + MS / 2);
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        }
        int64_t took = kernel_ns(CLOCK_MONOTONIC) - began;
        CHECK(took >= MS / 2 - 2 * BOUND_NS, "a sleep of 0.5 ms took %lld ns after a jump",
              (long long)took);
        CHECK(took < 5 * SECOND, "a sleep of 0.5 ms took %lld ns after a jump", (long long)took);
    }
    check_readings(MS / 10, "after a jump");
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    for (volatile int i = 0; i < 60; i++) {
        if (sigsetjmp(home, 1) == 0) {
            struct timespec t, brief = to_timespec(90000);
            armed = 1;
            arm(150 + 37 * (i / 3));
            for (;;)
                switch (i % 3) {
                case 0: clock_gettime(CLOCK_MONOTONIC, &t); break;
                case 1: nanosleep(&brief, NULL); break;
                default: usleep(10 * 1000000); break;
                }
        }
        arm(0);
        if (i % 10 == 9)
            rest_is_right();
    }
    CHECK(jumps == 60, "%d jumps", (int)jumps);
    check_readings(10 * MS, "at the end");
    return finished();
}
