/* A new time namespace whose CLOCK_MONOTONIC is shifted by 100000 s. Argument: fork
 * (a child enters it by being born), clone (without the C library), exec (a child
 * that becomes a program), or setns (this process enters it at once). */
#include "check.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define SHIFT_S 100000LL

/* The length of one of the library's anchor intervals, twice. */
#define RENEWAL_NS (10 * MS)

static void shifted(int64_t parent, const char *where)
{
    int64_t now = check_reading(CLOCK_MONOTONIC, where);
    CHECK(now >= parent + SHIFT_S * SECOND && now < parent + SHIFT_S * SECOND + 100 * SECOND,
          "%s: %lld s beside the parent's clock", where, (long long)(now - parent) / SECOND);
    check_readings(50 * MS, where);
    for (int i = 0; i < 3; i++) {
        int64_t until = clock_ns(CLOCK_MONOTONIC) + MS, end;
        struct timespec deadline = to_timespec(until), brief = to_timespec(MS / 2);
        CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == 0,
              "%s: absolute sleep failed", where);
        end = kernel_ns(CLOCK_MONOTONIC);
        CHECK(end >= until - BOUND_NS && end < until + 10 * SECOND,
              "%s: absolute sleep ended %lld ns late", where, (long long)(end - until));
        CHECK(nanosleep(&brief, NULL) == 0, "%s: nanosleep failed", where);
    }
}

static void expect(pid_t child)
{
    int status = -1;
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(status == 0, "child: status %#x", status);
}

int main(int argc, char **argv)
{
    MUST(argc >= 2);
    if (argc == 3) { /* what exec starts */
        shifted(atoll(argv[2]), "after exec");
        return finished();
    }
    /* Readings before, so that there is something old to be kept by mistake. */
    check_readings(7 * MS, "before");
    if (unshare(CLONE_NEWTIME) != 0) {
        printf("no time namespace: %s\n", strerror(errno));
        return 77;
    }
    char offset[64];
    int length = snprintf(offset, sizeof offset, "monotonic %lld 0\n", SHIFT_S);
    int file = open("/proc/self/timens_offsets", O_WRONLY);
    MUST(file >= 0 && write(file, offset, length) == length && close(file) == 0);
    /* The caller itself stays where it was. */
    int64_t parent = check_reading(CLOCK_MONOTONIC, "parent, after unshare");
    if (strcmp(argv[1], "fork") == 0) {
        for (int i = 0; i < 3; i++) {
            pid_t child = fork();
            if (child == 0) {
                shifted(parent, "child");
                _exit(failures != 0);
            }
            expect(child);
        }
    } else if (strcmp(argv[1], "clone") == 0) {
        pid_t child = syscall(SYS_clone, 17 /* SIGCHLD */, NULL, NULL, NULL, NULL);
        if (child == 0) {
            shifted(parent, "child by the system call");
            _exit(failures != 0);
        }
        expect(child);
    } else if (strcmp(argv[1], "exec") == 0) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)parent);
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", argv[0], argv[1], text, NULL);
            _exit(5);
        }
        expect(child);
    } else {
        file = open("/proc/self/ns/time_for_children", O_RDONLY);
        MUST(file >= 0);
        if (setns(file, CLONE_NEWTIME) != 0) {
            printf("setns not permitted: %s\n", strerror(errno));
            return 77;
        }
        /* Nothing but a reading can tell the library of it. Until its next renewal
         * the clock may go on as before, but nowhere in between. */
        int64_t end = kernel_ns(CLOCK_MONOTONIC) + RENEWAL_NS, shift = SHIFT_S * SECOND;
        do {
            int64_t least = kernel_ns(CLOCK_MONOTONIC) - BOUND_NS;
            int64_t now = clock_ns(CLOCK_MONOTONIC);
            int64_t most = kernel_ns(CLOCK_MONOTONIC) + BOUND_NS;
            CHECK((now >= least && now <= most) || (now >= least - shift && now <= most - shift),
                  "after setns: neither the old clock nor the new one");
        } while (kernel_ns(CLOCK_MONOTONIC) < end);
        shifted(parent, "after setns");
    }
    check_readings(7 * MS, "at the end");
    return finished();
}
