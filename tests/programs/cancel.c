/* The sleeping calls are cancellation points, the clock calls are none; both with
 * the deferred and the asynchronous type. Threads that go on still sleep right. */
#include "check.h"

#include <pthread.h>
#include <sched.h>

enum call { NANOSLEEP, RELATIVE, ABSOLUTE, REALTIME, USLEEP, SLEEP, CALLS };
static const char *const names[] = {"nanosleep", "clock_nanosleep",
    "clock_nanosleep(ABSTIME)", "clock_nanosleep(REALTIME)", "usleep", "sleep"};

/* `ns` or until `ns` from now; sleep() takes whole seconds, at least one. */
static void sleep_by(enum call call, int64_t ns)
{
    struct timespec length = to_timespec(ns);
    struct timespec deadline = to_timespec(kernel_ns(CLOCK_MONOTONIC) + ns);
    switch (call) {
    case NANOSLEEP: nanosleep(&length, NULL); break;
    case RELATIVE: clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL); break;
    case ABSOLUTE: clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL); break;
    case REALTIME: clock_nanosleep(CLOCK_REALTIME, 0, &length, NULL); break;
    case USLEEP: usleep(ns / 1000); break;
    default: sleep((ns + SECOND - 1) / SECOND);
    }
}

struct task {
    enum call call;
    int type;      /* PTHREAD_CANCEL_DEFERRED or _ASYNCHRONOUS */
    int64_t ns;    /* of each sleep */
    int forever;   /* sleep again and again */
    _Atomic int begun, cleaned, overslept;
};

static void clean(void *arg)
{
    struct task *task = arg;
    /* A handler of the program, while the sleep is being unwound. */
    check_reading(CLOCK_MONOTONIC, "cleanup handler");
    task->cleaned++;
}

static void *sleeper(void *arg)
{
    struct task *task = arg;
    int unused;
    MUST(pthread_setcanceltype(task->type, &unused) == 0);
    pthread_cleanup_push(clean, task);
    task->begun = 1;
    do
        sleep_by(task->call, task->ns);
    while (task->forever);
    task->overslept = 1;
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancel_one(struct task *task, int64_t delay_ns, const char *where)
{
    pthread_t thread;
    void *result = NULL;
    int64_t began = kernel_ns(CLOCK_MONOTONIC);
    MUST(pthread_create(&thread, NULL, sleeper, task) == 0);
    while (!task->begun)
        sched_yield();
    struct timespec delay = to_timespec(delay_ns);
    syscall(SYS_nanosleep, &delay, NULL);
    MUST(pthread_cancel(thread) == 0);
    MUST(pthread_join(thread, &result) == 0);
    int64_t took = kernel_ns(CLOCK_MONOTONIC) - began;
    CHECK(result == PTHREAD_CANCELED && !task->overslept, "%s, %s: not cancelled", where,
          names[task->call]);
    CHECK(task->cleaned == 1, "%s, %s: %d cleanups", where, names[task->call], task->cleaned);
    CHECK(took < 10 * SECOND, "%s, %s: took %lld ns", where, names[task->call], (long long)took);
}

/* A cancellation that was asked for before the call acts in it, even in one that
 * would not sleep; the clock calls do not act on it. */
static void *pending(void *arg)
{
    struct task *task = arg;
    struct timeval t;
    pthread_cleanup_push(clean, task);
    pthread_cancel(pthread_self());
    for (int i = 0; i < 100; i++) {
        check_reading(CLOCK_MONOTONIC, "cancellation pending");
        check_reading(CLOCK_REALTIME, "cancellation pending");
        gettimeofday(&t, NULL);
        time(NULL);
    }
    task->begun = 1;
    sleep_by(task->call, task->ns);
    task->overslept = 1;
    pthread_cleanup_pop(0);
    return NULL;
}

static void *disabled(void *arg)
{
    struct task *task = arg;
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    pthread_cancel(pthread_self());
    int64_t began = kernel_ns(CLOCK_MONOTONIC);
    sleep_by(task->call, 2 * MS);
    CHECK(kernel_ns(CLOCK_MONOTONIC) - began >= 2 * MS - 2 * BOUND_NS, "%s: short while disabled",
          names[task->call]);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_testcancel();
    task->overslept = 1;
    return NULL;
}

static void *clock_reader(void *arg)
{
    struct task *task = arg;
    int unused;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &unused);
    task->begun = 1;
    struct timespec t;
    while (!task->overslept) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        clock_gettime(CLOCK_REALTIME, &t);
    }
    return NULL;
}

static void expect_cancelled(void *(*body)(void *), struct task *task, const char *where)
{
    pthread_t thread;
    void *result = NULL;
    MUST(pthread_create(&thread, NULL, body, task) == 0);
    MUST(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED && !task->overslept, "%s, %s: not cancelled", where,
          names[task->call]);
}

int main(void)
{
    static const int types[] = {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS};
    for (enum call call = 0; call < CALLS; call++) {
        for (int t = 0; t < 2; t++) {
            struct task lengthy = {.call = call, .type = types[t], .ns = 30 * SECOND};
            cancel_one(&lengthy, 2 * MS, t ? "long, asynchronous" : "long, deferred");
            /* Short sleeps, cancelled anywhere: asleep, spinning, between two. */
            for (int i = 0; call != SLEEP && i < 10; i++) {
                struct task brief = {
                    .call = call, .type = types[t], .ns = 60000, .forever = 1};
                cancel_one(&brief, 200000 + i * 23000, t ? "short, asynchronous" : "short, deferred");
            }
        }
        struct task asked = {.call = call, .ns = call == SLEEP ? SECOND : 0};
        expect_cancelled(pending, &asked, "pending");
        CHECK(asked.begun && asked.cleaned == 1, "%s: a clock call was a cancellation point",
              names[call]);
        struct task late = {.call = call};
        if (call != SLEEP)
            expect_cancelled(disabled, &late, "disabled");
    }
    /* A thread may be torn out of a clock reading without harm to the others. */
    for (int i = 0; i < 40; i++) {
        struct task task = {.call = NANOSLEEP};
        pthread_t thread;
        void *result;
        MUST(pthread_create(&thread, NULL, clock_reader, &task) == 0);
        while (!task.begun)
            sched_yield();
        check_readings(MS / 4, "beside a thread that will be cancelled");
        pthread_cancel(thread);
        MUST(pthread_join(thread, &result) == 0);
        CHECK(result == PTHREAD_CANCELED, "the reading thread was not cancelled");
    }
    check_readings(10 * MS, "afterwards");
    for (enum call call = 0; call < SLEEP; call++) {
        int64_t began = kernel_ns(CLOCK_MONOTONIC);
        sleep_by(call, MS);
        int64_t took = kernel_ns(CLOCK_MONOTONIC) - began;
        CHECK(took >= MS - 2 * BOUND_NS && took < 2 * SECOND, "%s took %lld ns afterwards",
              names[call], (long long)took);
    }
    return finished();
}
