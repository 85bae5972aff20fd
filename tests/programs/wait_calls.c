/* Waits that go past the library, straight to the kernel, agree with the clocks
 * that the program reads: none ends early by more than the clock's bound. */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t monotonic, realtime = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

enum { ABSOLUTE, RELATIVE };

/* `call` waits until the absolute time `until`, or for the time `length`; its value
 * and errno must be what a timeout gives. */
#define WAIT(kind, clock, call, expected)                                       \
    do {                                                                       \
        for (int i = 0; i < 4; i++) {                                          \
            int64_t ns = (1 + i % 3) * MS + i * 12345;                         \
            int64_t began = clock_ns(clock);                                   \
            struct timespec until = to_timespec(began + ns);                   \
            struct timespec length = to_timespec(ns);                          \
            struct itimerspec timer = {{0, 0}, kind == ABSOLUTE ? until : length}; \
            struct timeval length_tv = {0, (ns + 999) / 1000};                 \
            int length_ms = (int)((ns + MS - 1) / MS);                         \
            uint64_t expirations;                                              \
            (void)until, (void)length, (void)timer, (void)length_tv;           \
            (void)length_ms, (void)expirations;                                \
            errno = 0;                                                         \
            long got = (call);                                                 \
            CHECK(got == (expected), "%s: %ld (%s)", #call, got, strerror(errno)); \
            int64_t now = clock_ns(clock);                                     \
            /* A difference of two readings has the bound of both. */          \
            int64_t least = began + ns - (kind == ABSOLUTE ? 1 : 2) * BOUND_NS; \
            CHECK(now >= least, "%s: %lld ns early", #call, (long long)(least - now)); \
            CHECK(now < began + 10 * SECOND, "%s: %lld ns late", #call,        \
                  (long long)(now - began - ns));                              \
        }                                                                      \
    } while (0)

static long wait_timer(int fd, int flags, const struct itimerspec *timer)
{
    uint64_t expirations = 0;
    if (timerfd_settime(fd, flags, timer, NULL) != 0)
        return -1;
    if (read(fd, &expirations, sizeof expirations) != sizeof expirations)
        return -1;
    return expirations;
}

int main(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    MUST(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    MUST(pthread_cond_init(&monotonic, &attributes) == 0);
    MUST(sem_init(&semaphore, 0, 0) == 0);
    int on_monotonic = timerfd_create(CLOCK_MONOTONIC, 0);
    int on_realtime = timerfd_create(CLOCK_REALTIME, 0);
    int epoll = epoll_create1(0);
    sigset_t none, alarm;
    sigemptyset(&none);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarm, NULL);
    MUST(on_monotonic >= 0 && on_realtime >= 0 && epoll >= 0);

    pthread_mutex_lock(&mutex);
    WAIT(ABSOLUTE, CLOCK_MONOTONIC, pthread_cond_timedwait(&monotonic, &mutex, &until), ETIMEDOUT);
    WAIT(ABSOLUTE, CLOCK_REALTIME, pthread_cond_timedwait(&realtime, &mutex, &until), ETIMEDOUT);
    WAIT(ABSOLUTE, CLOCK_MONOTONIC,
         pthread_cond_clockwait(&realtime, &mutex, CLOCK_MONOTONIC, &until), ETIMEDOUT);
    WAIT(ABSOLUTE, CLOCK_REALTIME,
         pthread_cond_clockwait(&monotonic, &mutex, CLOCK_REALTIME, &until), ETIMEDOUT);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&held);
    WAIT(ABSOLUTE, CLOCK_REALTIME, pthread_mutex_timedlock(&held, &until), ETIMEDOUT);
    WAIT(ABSOLUTE, CLOCK_MONOTONIC, pthread_mutex_clocklock(&held, CLOCK_MONOTONIC, &until),
         ETIMEDOUT);

    WAIT(ABSOLUTE, CLOCK_REALTIME, sem_timedwait(&semaphore, &until), -1);
    WAIT(ABSOLUTE, CLOCK_REALTIME,
         sem_timedwait(&semaphore, &until) == -1 ? errno : 0, ETIMEDOUT);
    WAIT(ABSOLUTE, CLOCK_MONOTONIC,
         sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) == -1 ? errno : 0, ETIMEDOUT);

    WAIT(ABSOLUTE, CLOCK_MONOTONIC, wait_timer(on_monotonic, TFD_TIMER_ABSTIME, &timer), 1);
    WAIT(ABSOLUTE, CLOCK_REALTIME, wait_timer(on_realtime, TFD_TIMER_ABSTIME, &timer), 1);
    WAIT(RELATIVE, CLOCK_MONOTONIC, wait_timer(on_monotonic, 0, &timer), 1);
    WAIT(RELATIVE, CLOCK_REALTIME, wait_timer(on_realtime, 0, &timer), 1);

    WAIT(RELATIVE, CLOCK_MONOTONIC, poll(NULL, 0, length_ms), 0);
    WAIT(RELATIVE, CLOCK_MONOTONIC, ppoll(NULL, 0, &length, &none), 0);
    WAIT(RELATIVE, CLOCK_MONOTONIC, select(0, NULL, NULL, NULL, &length_tv), 0);
    WAIT(RELATIVE, CLOCK_MONOTONIC, pselect(0, NULL, NULL, NULL, &length, &none), 0);
    struct epoll_event event;
    WAIT(RELATIVE, CLOCK_MONOTONIC, epoll_wait(epoll, &event, 1, length_ms), 0);
    WAIT(RELATIVE, CLOCK_MONOTONIC, sigtimedwait(&alarm, NULL, &length) == -1 ? errno : 0, EAGAIN);

    /* The replaced calls themselves, on the clocks they are given. */
    WAIT(ABSOLUTE, CLOCK_MONOTONIC, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL), 0);
    WAIT(ABSOLUTE, CLOCK_REALTIME, clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL), 0);
    WAIT(ABSOLUTE, CLOCK_BOOTTIME, clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, NULL), 0);
    WAIT(RELATIVE, CLOCK_MONOTONIC, clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL), 0);
    WAIT(RELATIVE, CLOCK_MONOTONIC, nanosleep(&length, NULL), 0);
    WAIT(RELATIVE, CLOCK_MONOTONIC, usleep(length_tv.tv_usec), 0);
    return finished();
}
