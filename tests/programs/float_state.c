/* The floating-point state is the program's: with every exception unmasked, clocks are
 * read over many renewals and sleeps are slept; no trap, no flag, and the direction of
 * rounding as it was. */
#include "check.h"

#include <fenv.h>

int main(void)
{
    static const int directions[] = {FE_UPWARD, FE_DOWNWARD, FE_TONEAREST};
    feenableexcept(FE_ALL_EXCEPT);
    for (int i = 0; i < 3; i++) {
        struct timespec brief = {0, 200000};
        fesetround(directions[i]);
        int64_t end = kernel_ns(CLOCK_MONOTONIC) + 40 * MS, last = 0;
        while (kernel_ns(CLOCK_MONOTONIC) < end) {
            int64_t now = clock_ns(CLOCK_MONOTONIC);
            CHECK(now >= last, "backwards");
            last = now;
            clock_ns(CLOCK_REALTIME);
            gettimeofday(&(struct timeval){0}, NULL);
        }
        for (int n = 0; n < 20; n++)
            nanosleep(&brief, NULL);
        CHECK(fegetround() == directions[i], "rounding changed");
        CHECK(fetestexcept(FE_ALL_EXCEPT) == 0, "flags %x", fetestexcept(FE_ALL_EXCEPT));
    }
    return finished();
}
