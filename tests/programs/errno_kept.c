/* `errno` is the program's: 0 where it begins, and left alone by calls that succeed.
 * Compiled with -DLIBRARY a library that looks at it in its constructor and destructor,
 * which others' come before and after. With any argument the program closes all descriptors
 * but the standard ones before its end. */
#include "check.h"

#ifdef LIBRARY
__attribute__((constructor)) static void construct(void)
{
    dprintf(1, "library's constructor: %d\n", errno);
}

__attribute__((destructor)) static void destruct(void)
{
    dprintf(1, "library's destructor: %d\n", errno);
}
#else
#include <pthread.h>
#include <sys/wait.h>

static int at_constructor = -1;

__attribute__((constructor)) static void construct(void)
{
    at_constructor = errno;
}

#define LEAVES_ERRNO(call)                                                                 \
    do {                                                                                   \
        errno = 77;                                                                        \
        CHECK(call, "%s: %s failed: %m", where, #call);                                    \
        CHECK(errno == 77, "%s: %s made errno %d", where, #call, errno);                   \
    } while (0)

static void *calls(void *name)
{
    const char *where = name;
    struct timespec brief = to_timespec(MS / 5), until;
    struct timeval today;
    struct timezone zone;
    time_t seconds;
    CHECK(errno == 0, "%s: errno is %d at first", where, errno);
    /* Every clock begins anew after a pause, too. */
    for (int i = 0; i < 6; i++) {
        struct timespec pause = to_timespec(i % 2 * 6 * MS);
        LEAVES_ERRNO(clock_gettime(CLOCK_MONOTONIC, &until) == 0);
        until = to_timespec(to_ns(until) + MS / 5);
        LEAVES_ERRNO(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0);
        LEAVES_ERRNO(clock_gettime(CLOCK_REALTIME, &until) == 0);
        until = to_timespec(to_ns(until) + 3 * MS);
        LEAVES_ERRNO(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL) == 0);
        LEAVES_ERRNO(clock_nanosleep(CLOCK_REALTIME, 0, &brief, NULL) == 0);
        LEAVES_ERRNO(clock_gettime(CLOCK_BOOTTIME, &until) == 0);
        LEAVES_ERRNO(gettimeofday(&today, NULL) == 0);
        LEAVES_ERRNO(gettimeofday(&today, &zone) == 0);
        LEAVES_ERRNO(time(&seconds) > 0 && time(NULL) >= seconds);
        LEAVES_ERRNO(nanosleep(&pause, NULL) == 0);
        LEAVES_ERRNO(usleep(200) == 0);
        LEAVES_ERRNO(sleep(0) == 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int at_main = errno;
    (void)argv;
    printf("constructor: %d, main: %d\n", at_constructor, at_main);
    /* As a program tells a number that is too large, without setting errno before. */
    CHECK(strtol("42", NULL, 10) == 42 && errno == 0, "no number, says errno: %m");
    errno = 0;
    calls("main");
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, calls, "thread") == 0);
    pthread_join(thread, NULL);
    errno = 0;
    fflush(stdout);
    int before = failures;
    pid_t child = fork();
    MUST(child >= 0);
    calls(child ? "parent" : "child");
    if (child == 0)
        _exit(failures != before);
    int status = 0;
    MUST(waitpid(child, &status, 0) == child);
    CHECK(status == 0, "the child failed");
    int result = finished();
    fflush(stdout);
    for (int fd = 3; argc > 1 && fd < 1024; fd++)
        close(fd);
    errno = 78;
    return result;
}
#endif
