/* prctl(PR_SET_TSC, PR_TSC_SIGSEGV): this program's own use of the counter faults,
 * its clocks and sleeps go on. The first argument says when it is forbidden:
 * first (before any reading), between, thread, inherited, flip, exec, exec-forbidden
 * (the prohibition outlives exec, and then the C library's loader itself faults);
 * "after-exec" is the program that exec starts. */
#include "check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static sigjmp_buf home;
static volatile sig_atomic_t expected;

static void on_fault(int unused)
{
    (void)unused;
    if (expected)
        siglongjmp(home, 1);
    static const char words[] = "FAIL a clock call used the forbidden counter\n";
    (void)!write(2, words, sizeof words - 1);
    _exit(4);
}

/* Whether the counter faults, tried as the program itself would use it. */
static int faults(void)
{
    int faulted = 1;
    expected = 1;
    if (sigsetjmp(home, 1) == 0) {
        __builtin_ia32_rdtsc();
        faulted = 0;
    }
    expected = 0;
    return faulted;
}

static void set(int mode)
{
    int now = 0;
    MUST(prctl(PR_SET_TSC, mode, 0, 0, 0) == 0);
    MUST(prctl(PR_GET_TSC, &now, 0, 0, 0) == 0);
    CHECK(now == mode, "PR_GET_TSC says %d after PR_SET_TSC %d", now, mode);
}

static void everything(const char *where)
{
    struct timespec brief = to_timespec(100000);
    struct timeval day;
    check_readings(8 * MS, where); /* longer than readings stay good by themselves */
    CHECK(gettimeofday(&day, NULL) == 0 && time(NULL) > 0, "%s: gettimeofday or time", where);
    for (int kind = 0; kind < 4; kind++) {
        int64_t began = kernel_ns(CLOCK_MONOTONIC);
        struct timespec until = to_timespec(began + 100000);
        switch (kind) {
        case 0: nanosleep(&brief, NULL); break;
        case 1: clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL); break;
        case 2: clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL); break;
        default: usleep(100);
        }
        int64_t took = kernel_ns(CLOCK_MONOTONIC) - began;
        CHECK(took >= 100000 - 2 * BOUND_NS, "%s: a sleep of 100 us took %lld ns", where,
              (long long)took);
    }
}

static _Atomic int stop, ready;

static void *unrestricted(void *unused)
{
    while (!stop) {
        check_readings(MS, "another thread, counter allowed");
        ready = 1;
    }
    return unused;
}

static void *restricted(void *unused)
{
    everything("in a thread, before");
    set(PR_TSC_SIGSEGV);
    CHECK(faults(), "the counter still works in the thread that forbade it");
    everything("in a thread, forbidden");
    return unused;
}

/* A thread begins with what its maker had: nobody tells the library. */
static void *inheritor(void *unused)
{
    CHECK(faults(), "a new thread has not inherited the prohibition");
    everything("in a thread that inherited the prohibition");
    return unused;
}

static void run_thread(void *(*body)(void *))
{
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, body, NULL) == 0);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    MUST(argc == 2);
    const char *when = argv[1];
    signal(SIGSEGV, on_fault);
    if (strcmp(when, "first") == 0) {
        set(PR_TSC_SIGSEGV);
        everything("forbidden before the first reading");
        CHECK(faults(), "the counter still works");
    } else if (strcmp(when, "between") == 0) {
        everything("before");
        set(PR_TSC_SIGSEGV);
        CHECK(faults(), "the counter still works");
        everything("forbidden between readings");
        pid_t child = fork();
        if (child == 0) {
            CHECK(faults(), "the child has not inherited the prohibition");
            everything("in a child");
            _exit(finished());
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0, "child: status %#x", status);
    } else if (strcmp(when, "thread") == 0) {
        pthread_t other;
        MUST(pthread_create(&other, NULL, unrestricted, NULL) == 0);
        run_thread(restricted);
        CHECK(!faults(), "the prohibition reached another thread");
        everything("after a thread forbade the counter for itself");
        stop = 1;
        pthread_join(other, NULL);
    } else if (strcmp(when, "inherited") == 0) {
        everything("before");
        set(PR_TSC_SIGSEGV);
        run_thread(inheritor);
        everything("beside a thread that inherited");
    } else if (strcmp(when, "flip") == 0) {
        for (int i = 0; i < 3; i++) {
            set(PR_TSC_SIGSEGV);
            everything("forbidden");
            set(PR_TSC_ENABLE);
            CHECK(!faults(), "the counter is still forbidden");
            everything("allowed again");
        }
    } else if (strcmp(when, "exec") == 0 || strcmp(when, "exec-forbidden") == 0) {
        set(PR_TSC_SIGSEGV);
        everything("before exec");
        if (strcmp(when, "exec") == 0)
            set(PR_TSC_ENABLE);
        execl("/proc/self/exe", argv[0], "after-exec", NULL);
        MUST(!"exec");
    } else if (strcmp(when, "after-exec") == 0) {
        int mode = 0;
        MUST(prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0);
        printf("the new program's counter is %s\n",
               mode == PR_TSC_SIGSEGV ? "forbidden" : "allowed");
        everything("after exec");
        run_thread(mode == PR_TSC_SIGSEGV ? inheritor : restricted);
    }
    return finished();
}
