/* A library with a clock of its own: it is always 42 s past the beginning of time. */
#define _GNU_SOURCE
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    *t = (struct timespec){42, 0};
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    (void)zone;
    *t = (struct timeval){42, 0};
    return 0;
}

#ifdef USES_LIBC
/* With a function of libc's in use a library has versions: of what it needs, if of nothing
 * that it has. */
#include <stdlib.h>

const char *foreign_clock_uses(void)
{
    return getenv("HOME");
}
#endif
