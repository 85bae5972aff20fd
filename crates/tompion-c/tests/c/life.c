/* Signal handlers, threads and children of fork. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <tompion.h>
#include <unistd.h>

#include "check.h"

static volatile sig_atomic_t handled;
static volatile uint64_t backwards_ns;
static __thread uint64_t last_ns;

static void reads(int signal)
{
    (void)signal;
    int kept = errno;
    uint64_t ticks_ns, before = last_ns, now = tompion_now_ns();
    if (now < before)
        backwards_ns = before - now;
    tompion_now_ordered_ns();
    tompion_ticks_to_ns(1000, &ticks_ns);
    tompion_clock_get_source();
    handled++;
    errno = kept;
}

static void *reads_and_allocates(void *seconds)
{
    uint64_t end = tompion_now_ns() + *(uint64_t *)seconds * 1000000000u;
    while ((last_ns = tompion_now_ns()) < end)
        free(malloc(100));
    return NULL;
}

static void handlers_and_threads_read(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = reads;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_t threads[3];
    uint64_t seconds = 1;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, reads_and_allocates, &seconds);
    reads_and_allocates(&seconds);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(handled > 100, "%d signals", (int)handled);
    CHECK(backwards_ns == 0, "back by %" PRIu64 " ns", backwards_ns);
    printf("%d signals handled\n", (int)handled);
}

/* Of a program with threads: only what is safe between fork and exec. */
static void children_read_and_sleep(void)
{
    tompion_sleeper *sleeper = tompion_sleeper_new(TOMPION_SLEEP_POLICY_HYBRID, 0.1);
    for (int i = 0; i < 20; i++) {
        uint64_t before = tompion_now_ordered_ns();
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            uint64_t now = tompion_now_ns(), deadline = kernel_ns() + 2000000;
            int wrong = now < before;
            tompion_sleeper_sleep_until_ns(sleeper, deadline, NULL, 0);
            wrong |= (kernel_ns() < deadline) << 1;
            uint64_t a = kernel_ns(), b = tompion_now_ordered_ns(), c = kernel_ns();
            wrong |= (b + 20000 < a || b > c + 20000) << 2;
            _exit(wrong);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && status == 0, "status %#x", status);
    }
    tompion_sleeper_free(sleeper);
}

static void timer_slack_is_taken_and_given_back(void)
{
    int usual = prctl(PR_GET_TIMERSLACK);
    tompion_sleep_ns(1);
    CHECK(prctl(PR_GET_TIMERSLACK) == 1, "%d", prctl(PR_GET_TIMERSLACK));
    CHECK(tompion_restore_timer_slack() == 0, "not restored");
    CHECK(prctl(PR_GET_TIMERSLACK) == usual, "%d", prctl(PR_GET_TIMERSLACK));
}

static void *forks(void *unused)
{
    (void)unused;
    children_read_and_sleep();
    return NULL;
}

int main(void)
{
    timer_slack_is_taken_and_given_back();
    tompion_clock_init(TOMPION_CLOCK_POLICY_AUTO);
    handlers_and_threads_read();
    children_read_and_sleep();
    /* Beside threads that are in the middle of a read. */
    pthread_t reader, forker;
    uint64_t seconds = 1;
    pthread_create(&reader, NULL, reads_and_allocates, &seconds);
    pthread_create(&forker, NULL, forks, NULL);
    pthread_join(forker, NULL);
    pthread_join(reader, NULL);
    return failures > 0;
}
