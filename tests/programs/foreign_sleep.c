/* A library whose sleeps all fail. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request,
                    struct timespec *remainder)
{
    (void)clock, (void)flags, (void)request, (void)remainder;
    return ENOSYS;
}

int nanosleep(const struct timespec *request, struct timespec *remainder)
{
    (void)request, (void)remainder;
    errno = ENOSYS;
    return -1;
}

int usleep(useconds_t us)
{
    (void)us;
    errno = ENOSYS;
    return -1;
}

unsigned sleep(unsigned seconds)
{
    return seconds + 1;
}
