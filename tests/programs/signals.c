/* Sleeps that signals interrupt: each call's own way to say so, the remainder right
 * to within the time that passed, errno kept on success, nothing early. The handler
 * reads clocks and sleeps itself. Argument: restart (SA_RESTART) or process (the
 * signals come from a child); else they come from a timer. */
#include "check.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* What the kernel's remainder may add: its slack, twice the clock's bound. */
#define TOLERANCE (SLACK_NS + 2 * BOUND_NS)

static volatile sig_atomic_t handled;
static volatile int64_t handler_began;
static volatile int busy_handler;

static void handler(int unused)
{
    int kept = errno;
    (void)unused;
    handler_began = kernel_ns(CLOCK_MONOTONIC);
    handled++;
    if (busy_handler) {
        struct timespec brief = {0, 1000};
        check_reading(CLOCK_MONOTONIC, "handler");
        check_reading(CLOCK_REALTIME, "handler");
        errno = 91;
        int got = nanosleep(&brief, NULL);
        CHECK(got == 0 && errno == 91, "nanosleep in a handler: %d, errno %d", got, errno);
        got = clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL);
        CHECK(got == 0 && errno == 91, "clock_nanosleep in a handler: %d, errno %d", got, errno);
    }
    errno = kept;
}

enum call { NANOSLEEP, RELATIVE_MONOTONIC, RELATIVE_REALTIME, ABSOLUTE_MONOTONIC,
            ABSOLUTE_REALTIME, USLEEP, SLEEP, CALLS };
static const char *const names[] = {"nanosleep", "clock_nanosleep(MONOTONIC)",
    "clock_nanosleep(REALTIME)", "clock_nanosleep(MONOTONIC, ABSTIME)",
    "clock_nanosleep(REALTIME, ABSTIME)", "usleep", "sleep"};

struct outcome {
    int interrupted;
    int64_t before, after; /* the kernel's clock around the call, that of the call */
    struct timespec rest;
};

static clockid_t clock_of(enum call call)
{
    return call == RELATIVE_REALTIME || call == ABSOLUTE_REALTIME ? CLOCK_REALTIME
                                                                  : CLOCK_MONOTONIC;
}

/* One call that wants to sleep for `ns` (`until`, the absolute ones). Checks its
 * convention: what it returns, what is in errno, whether it wrote the remainder. */
static struct outcome sleep_once(enum call call, int64_t ns, int64_t until)
{
    struct outcome o = {.rest = {-7, -7}};
    struct timespec length = to_timespec(ns), deadline = to_timespec(until);
    clockid_t clock = clock_of(call);
    int left = 0;
    long got = 0;
    o.before = kernel_ns(clock);
    errno = 77;
    switch (call) {
    case NANOSLEEP: got = nanosleep(&length, &o.rest); break;
    case RELATIVE_MONOTONIC:
    case RELATIVE_REALTIME: got = clock_nanosleep(clock, 0, &length, &o.rest); break;
    case ABSOLUTE_MONOTONIC:
    case ABSOLUTE_REALTIME: got = clock_nanosleep(clock, TIMER_ABSTIME, &deadline, &o.rest); break;
    case USLEEP: got = usleep(ns / 1000); break;
    case SLEEP: got = sleep(ns / SECOND); break;
    default: break;
    }
    left = errno;
    o.after = kernel_ns(clock);
    switch (call) {
    case NANOSLEEP:
    case USLEEP:
        o.interrupted = got == -1 && left == EINTR;
        CHECK(o.interrupted || (got == 0 && left == 77), "%s: %ld, errno %d", names[call], got, left);
        break;
    case SLEEP:
        /* The C library gives whole seconds, rounded down, and then errno is EINTR. */
        o.interrupted = left == EINTR;
        CHECK(o.interrupted || (got == 0 && left == 77), "sleep: %ld, errno %d", got, left);
        o.rest.tv_sec = got;
        break;
    default:
        o.interrupted = got == EINTR;
        CHECK((got == 0 || got == EINTR) && left == 77, "%s: %ld, errno %d", names[call], got, left);
    }
    int writes = call == NANOSLEEP || call == RELATIVE_MONOTONIC || call == RELATIVE_REALTIME;
    int wrote = o.rest.tv_nsec != -7;
    CHECK(wrote == (writes && o.interrupted), "%s wrote its remainder: %d, interrupted: %d",
          names[call], wrote, o.interrupted);
    if (wrote)
        CHECK(o.rest.tv_sec >= 0 && o.rest.tv_nsec >= 0 && o.rest.tv_nsec < SECOND,
              "%s: remainder %ld s %ld ns", names[call], (long)o.rest.tv_sec, o.rest.tv_nsec);
    if (!o.interrupted && call >= ABSOLUTE_MONOTONIC && call <= ABSOLUTE_REALTIME)
        CHECK(o.after >= until - BOUND_NS, "%s: %lld ns early", names[call],
              (long long)(until - o.after));
    else if (!o.interrupted)
        CHECK(o.after - o.before >= ns - 2 * BOUND_NS, "%s: %lld ns too short", names[call],
              (long long)(ns - (o.after - o.before)));
    return o;
}

/* One signal out of a timer, at a known time. The remainder is at least what is left
 * when the handler begins. What was left when the signal came it exceeds only where
 * the machine held up the call, so one of several tries must be exact. */
static void one_signal(enum call call)
{
    const int64_t length = 2 * SECOND;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec off = {{0, 0}, {0, 0}};
    timer_t timer;
    int64_t nearest = INT64_MAX;
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    for (int attempt = 0; attempt < 20 && nearest > 4 * TOLERANCE; attempt++) {
        handled = 0;
        int64_t began = kernel_ns(CLOCK_MONOTONIC), at = began + 3 * MS;
        struct itimerspec when = {{0, 500 * MS}, to_timespec(at)};
        MUST(timer_settime(timer, TIMER_ABSTIME, &when, NULL) == 0);
        struct outcome o = sleep_once(call, length, kernel_ns(clock_of(call)) + length);
        MUST(timer_settime(timer, 0, &off, NULL) == 0);
        CHECK(handled >= 1 && o.interrupted, "%s: %d signals, interrupted: %d", names[call],
              (int)handled, o.interrupted);
        if (handled != 1)
            continue; /* the first came too early, on a machine that held us up */
        int64_t least = length - (handler_began - began);
        if (call == SLEEP) {
            CHECK(o.rest.tv_sec == 1 || least < SECOND, "sleep(2) after 3 ms: %ld left",
                  (long)o.rest.tv_sec);
            break;
        }
        if (call > RELATIVE_REALTIME)
            break;
        int64_t left = to_ns(o.rest);
        CHECK(left >= least - TOLERANCE && left <= length + TOLERANCE,
              "%s: %lld ns left, %lld to %lld expected", names[call], (long long)left,
              (long long)least, (long long)length);
        int64_t beyond = left - (length - (at - began));
        if (beyond < nearest)
            nearest = beyond;
    }
    if (call <= RELATIVE_REALTIME)
        CHECK(nearest <= 4 * TOLERANCE, "%s: remainder %lld ns too long at best", names[call],
              (long long)nearest);
    timer_delete(timer);
}

/* Storms that may pass without a signal, when a busy machine leaves no CPU to whoever
 * sends them. */
#define CALM_STORMS 1000

/* Signals come all the time; the call is repeated with what is left. Whether one came. */
static int storm(enum call call)
{
    const int64_t length = call == SLEEP ? SECOND : 12 * MS;
    clockid_t clock = clock_of(call);
    int64_t began = kernel_ns(clock), until = began + length, left = length;
    int interruptions = 0, before = handled;
    struct outcome o;
    do {
        o = sleep_once(call, left, until);
        if (!o.interrupted)
            break;
        interruptions++;
        int64_t passed = o.after - o.before;
        switch (call) {
        case USLEEP: left = until - o.after; break;
        case SLEEP: left = 0; break;
        case ABSOLUTE_MONOTONIC:
        case ABSOLUTE_REALTIME: break;
        default: {
            int64_t rest = to_ns(o.rest);
            CHECK(rest <= left + TOLERANCE && rest >= left - passed - TOLERANCE,
                  "%s: %lld ns left of %lld, %lld passed", names[call], (long long)rest,
                  (long long)left, (long long)passed);
            left = rest;
        }
        }
    } while (left > 0);
    int64_t took = kernel_ns(clock) - began;
    if (call != SLEEP) {
        /* Remainders add up: what was asked for has passed, up to one bound a call. */
        int64_t least = length - (interruptions + 1) * 2 * BOUND_NS;
        CHECK(took >= least, "%s: %lld ns of %lld, %d interruptions", names[call], (long long)took,
              (long long)length, interruptions);
    }
    return handled > before;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int process = strcmp(mode, "process") == 0;
    struct sigaction action = {.sa_handler = handler};
    if (strcmp(mode, "restart") == 0)
        action.sa_flags = SA_RESTART;
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    MUST(sigaction(SIGALRM, &action, NULL) == 0);

    for (enum call call = 0; call < CALLS; call++)
        one_signal(call);

    busy_handler = 1;
    pid_t child = -1;
    if (process) {
        child = fork();
        MUST(child >= 0);
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) {
                struct timespec pause = {0, 400000};
                nanosleep(&pause, NULL);
                if (kill(getppid(), SIGUSR1) != 0)
                    _exit(0);
            }
        }
    } else {
        struct itimerval every = {{0, 700}, {0, 700}};
        MUST(setitimer(ITIMER_REAL, &every, NULL) == 0);
    }
    for (enum call call = 0; call < CALLS; call++)
        for (int calm = 0; !storm(call); calm++)
            MUST(calm < (call == SLEEP ? 10 : CALM_STORMS));
    if (process) {
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) != child)
            ;
    }
    struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &off, NULL);
    busy_handler = 0;
    /* Without signals everything is as before. */
    for (enum call call = 0; call < CALLS; call++)
        if (call != SLEEP)
            CHECK(!sleep_once(call, MS, kernel_ns(clock_of(call)) + MS).interrupted,
                  "%s: interrupted by nothing", names[call]);
    return finished();
}
