/* Signals at a high rate, in several threads, whose handlers call everything that is
 * replaced, while the threads are inside the same calls or inside malloc, free,
 * mktime and localtime, whose locks the handlers must not want. */
#include "check.h"

#include <pthread.h>
#include <signal.h>

static _Atomic long handled;

static void handler(int unused)
{
    int kept = errno;
    (void)unused;
    struct timespec brief = {0, 500}, until;
    struct timeval day;
    check_reading(CLOCK_MONOTONIC, "handler");
    check_reading(CLOCK_REALTIME, "handler");
    gettimeofday(&day, NULL);
    time(NULL);
    long n = atomic_fetch_add(&handled, 1);
    if (n % 4 == 0)
        nanosleep(&brief, NULL);
    if (n % 4 == 1)
        usleep(1);
    if (n % 4 == 2) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    if (n % 4 == 3)
        sleep(0);
    errno = kept;
}

static void *work(void *arg)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    struct itimerspec every = {{0, 400000}, {0, 1000}};
    timer_t timer;
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif
    event.sigev_notify_thread_id = syscall(SYS_gettid);
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    /* The handler's reading may be the first of all. */
    MUST(timer_settime(timer, 0, &every, NULL) == 0);
    int64_t end = kernel_ns(CLOCK_MONOTONIC) + 200 * MS;
    struct timespec brief = {0, 30000};
    for (long i = (long)arg; kernel_ns(CLOCK_MONOTONIC) < end; i++)
        switch (i % 4) {
        case 0:
            for (int k = 0; k < 100; k++)
                free(malloc(100 + k * 50));
            break;
        case 1: {
            time_t now = time(NULL);
            struct tm fields;
            localtime_r(&now, &fields);
            CHECK(mktime(&fields) == now, "mktime");
            break;
        }
        case 2:
            check_readings(MS / 10, "interrupted");
            break;
        default:
            nanosleep(&brief, NULL);
        }
    timer_delete(timer);
    return NULL;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(handled > 60, "only %ld signals came", (long)handled);
    return finished();
}
