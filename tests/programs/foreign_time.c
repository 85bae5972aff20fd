/* A library with a time() of its own, and no other clock: it is always 42. */
#include <time.h>

time_t time(time_t *t)
{
    if (t)
        *t = 42;
    return 42;
}

#ifdef USES_LIBC
/* With a function of libc's in use a library has versions: of what it needs, if of nothing
 * that it has. */
#include <stdlib.h>

const char *foreign_time_uses(void)
{
    return getenv("HOME");
}
#endif
