/* What each call answers to each argument, one line a case: its result, errno
 * (set to 77 before), and which outputs it wrote. The lines hold no times; a run
 * under the library must print what a plain one prints. */
#include "check.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#pragma GCC diagnostic ignored "-Wnonnull"

static void *bad; /* an address that may not be touched */
static _Atomic int stop;

static void on_alarm(int unused)
{
    (void)unused;
}

/* SIGALRM to this process while a call sleeps; again and again, because the first
 * may come before the call begins. */
static void soon(void)
{
    struct itimerval t = {{0, 4000}, {0, 2000}};
    setitimer(ITIMER_REAL, &t, NULL);
}

static void never(void)
{
    struct itimerval t = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &t, NULL);
}

#define UNTOUCHED ((struct timespec){-7, -7})

static const char *state(struct timespec t)
{
    return t.tv_sec == -7 && t.tv_nsec == -7 ? "untouched" : "written";
}

/* The expression's value and the errno that it left. */
#define LINE(name, expression)                                                 \
    do {                                                                       \
        errno = 77;                                                            \
        long value = (long)(expression);                                       \
        int left = errno;                                                      \
        printf("%s: %ld, errno %d\n", name, value, left);                      \
    } while (0)

static void clocks(void)
{
    static const clockid_t ids[] = {
        CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
        CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
        CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM, 10, CLOCK_TAI, 12, 13, 15, 16, 31, 63, 64, 99,
        1000, INT_MAX, -1, -2, -3, -4, -5, -6, -7, -8, -100, INT_MIN, INT_MIN + 3,
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct timespec t = UNTOUCHED, raw = UNTOUCHED, after = UNTOUCHED;
        long kernel = syscall(SYS_clock_gettime, ids[i], &raw) == 0 ? 0 : errno;
        errno = 77;
        int got = clock_gettime(ids[i], &t);
        int left = errno;
        syscall(SYS_clock_gettime, ids[i], &after);
        printf("clock_gettime(%d): %d, errno %d, %s\n", ids[i], got, left, state(t));
        CHECK(kernel == (got ? left : 0), "clock %d: kernel says %ld, call says %d (errno %d)",
              ids[i], kernel, got, left);
        if (got == 0)
            CHECK(to_ns(t) >= to_ns(raw) - BOUND_NS && to_ns(t) <= to_ns(after) + BOUND_NS,
                  "clock %d reads another time than the kernel's", ids[i]);
    }
    /* A clock of another process, and one of a device. */
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0)
        for (;;)
            pause();
    clockid_t theirs;
    MUST(clock_getcpuclockid(child, &theirs) == 0);
    struct timespec t = UNTOUCHED;
    LINE("another process's clock", clock_gettime(theirs, &t));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    LINE("the clock of a process that ended", clock_gettime(theirs, &t));
    int device = open("/dev/ptp0", O_RDONLY), file = open("/dev/null", O_RDONLY);
    if (device >= 0)
        LINE("ptp clock", clock_gettime((~(clockid_t)device << 3) | 3, &t));
    LINE("clock of a file that is none", clock_gettime((~(clockid_t)file << 3) | 3, &t));

    /* NULL and bad pointers, where the C library itself does not crash. */
    LINE("clock_gettime(99, NULL)", clock_gettime(99, NULL));
    LINE("clock_gettime(-1, bad)", clock_gettime(-1, bad));
    LINE("clock_gettime(process, NULL)", clock_gettime(CLOCK_PROCESS_CPUTIME_ID, NULL));
    LINE("clock_gettime(thread, bad)", clock_gettime(CLOCK_THREAD_CPUTIME_ID, bad));
    LINE("gettimeofday(NULL, NULL)", gettimeofday(NULL, NULL));
    struct timezone zone = {77, 77};
    LINE("gettimeofday(NULL, &zone)", gettimeofday(NULL, &zone));
    printf("zone %d %d\n", zone.tz_minuteswest, zone.tz_dsttime);
    struct timeval day = {-7, -7};
    LINE("gettimeofday(&t, NULL)", gettimeofday(&day, NULL));
    LINE("time(NULL) is positive", time(NULL) > 0);
    time_t stored = -7;
    LINE("time(&t) is t", time(&stored) == stored);
}

static const clockid_t sleeping_clocks[] = {
    CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
    CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
    CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM, 10, CLOCK_TAI, 12, 99, -1, -2, -6, -100,
};

static void *burn(void *unused)
{
    while (!stop)
        ;
    return unused;
}

static void sleeps(void)
{
    static const struct { const char *name; struct timespec t; } requests[] = {
        {"0", {0, 0}},
        {"1 ns", {0, 1}},
        {"200 us", {0, 200000}},
        {"negative seconds", {-1, 0}},
        {"negative ns", {0, -1}},
        {"both negative", {-1, -1}},
        {"1e9 ns", {0, 1000000000}},
        {"huge ns", {0, LONG_MAX}},
        {"least seconds", {LONG_MIN, 0}},
        {"most seconds, bad ns", {LONG_MAX, 1000000000}},
    };
    static const int flags[] = {0, TIMER_ABSTIME, 2, 3, -1, 1 << 30};
    char name[160];
    /* The process's CPU clock only moves while somebody works. */
    pthread_t worker;
    MUST(pthread_create(&worker, NULL, burn, NULL) == 0);
    for (size_t c = 0; c < sizeof sleeping_clocks / sizeof *sleeping_clocks; c++)
        for (size_t f = 0; f < sizeof flags / sizeof *flags; f++)
            for (size_t r = 0; r < sizeof requests / sizeof *requests; r++) {
                struct timespec request = requests[r].t, rest = UNTOUCHED;
                snprintf(name, sizeof name, "clock_nanosleep(%d, %d, %s)", sleeping_clocks[c],
                         flags[f], requests[r].name);
                LINE(name, clock_nanosleep(sleeping_clocks[c], flags[f], &request, &rest));
                printf("  remainder %s\n", state(rest));
                if (memcmp(&request, &requests[r].t, sizeof request))
                    FAIL("%s wrote to its request", name);
            }
    stop = 1;
    pthread_join(worker, NULL);
    for (size_t c = 0; c < sizeof sleeping_clocks / sizeof *sleeping_clocks; c++) {
        snprintf(name, sizeof name, "clock_nanosleep(%d, 0, NULL)", sleeping_clocks[c]);
        LINE(name, clock_nanosleep(sleeping_clocks[c], 0, NULL, NULL));
        snprintf(name, sizeof name, "clock_nanosleep(%d, 1, bad)", sleeping_clocks[c]);
        LINE(name, clock_nanosleep(sleeping_clocks[c], TIMER_ABSTIME, bad, bad));
    }
    for (size_t r = 0; r < sizeof requests / sizeof *requests; r++) {
        struct timespec request = requests[r].t, rest = UNTOUCHED;
        snprintf(name, sizeof name, "nanosleep(%s)", requests[r].name);
        LINE(name, nanosleep(&request, &rest));
        printf("  remainder %s\n", state(rest));
        LINE(name, nanosleep(&request, &request)); /* the same memory twice */
    }
    LINE("nanosleep(NULL)", nanosleep(NULL, NULL));
    LINE("nanosleep(bad)", nanosleep(bad, NULL));
    struct timespec brief = {0, 1000};
    LINE("nanosleep(1 us, bad)", nanosleep(&brief, bad));
    LINE("usleep(0)", usleep(0));
    LINE("usleep(1)", usleep(1));
    LINE("sleep(0)", sleep(0));
}

/* What is left of half a minute, or of the longest sleep: the 292 years that the
 * kernel can count since boot. */
static const char *size_of(struct timespec rest)
{
    if (rest.tv_sec >= 10 && rest.tv_sec < 30 && rest.tv_nsec < SECOND)
        return "of half a minute";
    return rest.tv_sec > 9000000000 && rest.tv_sec <= 9223372036 ? "of centuries" : "of wrong size";
}

/* Sleeps far longer than the test, ended by a signal. */
static void interrupted(int restart)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = restart};
    sigaction(SIGALRM, &action, NULL);
    static const struct timespec lengths[] = {{30, 0}, {LONG_MAX, 0}, {LONG_MAX, 999999999}};
    static const clockid_t ids[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME};
    for (int l = 0; l < 3; l++) {
        struct timespec request = lengths[l], rest = UNTOUCHED;
        printf("%ld seconds\n", (long)request.tv_sec);
        soon();
        LINE("nanosleep, signal", nanosleep(&request, &rest));
        printf("  remainder %s\n", size_of(rest));
        soon();
        LINE("the same, no remainder wanted", nanosleep(&request, NULL));
        soon();
        LINE("the same, remainder in place", nanosleep(&request, &request));
        printf("  request %s\n", memcmp(&request, &lengths[l], sizeof request) ? "changed" : "kept");
        for (int c = 0; c < 3; c++) {
            request = lengths[l];
            rest = UNTOUCHED;
            soon();
            LINE("clock_nanosleep relative, signal", clock_nanosleep(ids[c], 0, &request, &rest));
            printf("  remainder %s\n", size_of(rest));
            rest = UNTOUCHED;
            if (l == 0)
                request.tv_sec += kernel_ns(ids[c]) / SECOND;
            soon();
            LINE("clock_nanosleep absolute, signal",
                 clock_nanosleep(ids[c], TIMER_ABSTIME, &request, &rest));
            printf("  remainder %s\n", state(rest));
            soon();
            LINE("clock_nanosleep absolute, signal, bad remainder",
                 clock_nanosleep(ids[c], TIMER_ABSTIME, &request, bad));
        }
    }
    struct timespec request = {30, 0};
    soon();
    LINE("nanosleep, signal, bad remainder", nanosleep(&request, bad));
    soon();
    LINE("clock_nanosleep, signal, bad remainder",
         clock_nanosleep(CLOCK_MONOTONIC, 0, &request, bad));
    /* One that may be read and not written to, and one that lies beside its boundary. */
    struct timespec *constant = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    soon();
    LINE("nanosleep, signal, constant remainder", nanosleep(&request, constant));
    soon();
    LINE("clock_nanosleep, signal, constant remainder",
         clock_nanosleep(CLOCK_MONOTONIC, 0, &request, constant));
    soon();
    LINE("the same until a time",
         clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){LONG_MAX, 0}, constant));
    munmap(constant, 4096);
    char bytes[1 + 2 * sizeof request] = {0};
    struct timespec *packed = (struct timespec *)(void *)(bytes + 1), rest;
    memcpy(packed, &request, sizeof request);
    soon();
    LINE("nanosleep, signal, packed", nanosleep(packed, packed + 1));
    memcpy(&rest, packed + 1, sizeof rest);
    printf("  remainder %s\n", size_of(rest));
    soon();
    LINE("usleep, signal", usleep(UINT_MAX));
    soon();
    LINE("usleep below a second, signal", usleep(900000));
    soon();
    LINE("sleep(1), signal", sleep(1));
    soon();
    LINE("sleep(30), signal", sleep(30));
    soon();
    LINE("sleep(most), signal", (long)sleep(UINT_MAX) / 100);
    never();
}

/* prctl has five arguments; all of them arrive, and its answers come back. */
static void controls(void)
{
    char name[16] = "";
    int got = -1;
    LINE("PR_SET_NAME", prctl(PR_SET_NAME, "escapement"));
    LINE("PR_GET_NAME", prctl(PR_GET_NAME, name, 0, 0, 0));
    printf("  %s\n", name);
    LINE("PR_SET_TIMERSLACK", prctl(PR_SET_TIMERSLACK, 12345, 0, 0, 0));
    LINE("PR_GET_TIMERSLACK", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
    LINE("PR_SET_TIMERSLACK default", prctl(PR_SET_TIMERSLACK, 0));
    LINE("PR_GET_TIMERSLACK", prctl(PR_GET_TIMERSLACK));
    LINE("PR_GET_TSC", prctl(PR_GET_TSC, &got));
    printf("  %d\n", got);
    LINE("PR_GET_TSC bad", prctl(PR_GET_TSC, bad));
    LINE("PR_SET_TSC 99", prctl(PR_SET_TSC, 99));
    LINE("PR_SET_TSC 0", prctl(PR_SET_TSC, 0));
    LINE("PR_SET_TSC enable", prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0));
    LINE("PR_SET_NO_NEW_PRIVS, arguments not 0", prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 1, 1));
    LINE("PR_GET_NO_NEW_PRIVS", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    LINE("PR_CAP_AMBIENT", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 0));
    LINE("PR_CAP_AMBIENT with a fifth", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 9));
    LINE("unknown", prctl(9999, 1, 2, 3, 4));
}

int main(void)
{
    bad = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(bad != MAP_FAILED);
    clocks();
    sleeps();
    puts("interrupted, without SA_RESTART");
    interrupted(0);
    puts("interrupted, with SA_RESTART");
    interrupted(SA_RESTART);
    controls();
    return finished();
}
