/* A library with a time() of its own, and no other clock: it is always 42. */
#include <time.h>

time_t time(time_t *t)
{
    if (t)
        *t = 42;
    return 42;
}
