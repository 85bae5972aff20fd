/* Threads read the clock and sleep without end while the main thread makes hundreds
 * of children in every way there is. Each child reads, sleeps and exits; nobody
 * hangs and no clock is wrong. Arguments: the number of children; "fork" for the
 * children of fork alone, where a sanitizer's runtime cannot bear the others. */
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static _Atomic int stop;
static char stack[256 * 1024] __attribute__((aligned(64)));

static void *reader(void *which)
{
    struct timespec brief = {0, 20000};
    for (long n = 0; !stop; n++) {
        check_reading(n & 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, "thread");
        if (which && n % 8 == 0)
            nanosleep(&brief, NULL);
    }
    return NULL;
}

/* What a child of any kind does. It may share our memory, so it leaves nothing. */
static int child(void *unused)
{
    (void)unused;
    alarm(20); /* ends whoever hangs */
    int before = failures;
    struct timespec brief = {0, 50000};
    int64_t began = check_reading(CLOCK_MONOTONIC, "child, first reading");
    check_reading(CLOCK_REALTIME, "child");
    time(NULL);
    nanosleep(&brief, NULL);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL);
    usleep(10);
    int64_t now = check_reading(CLOCK_MONOTONIC, "child, after its sleeps");
    CHECK(now - began >= 110000 - 4 * BOUND_NS, "a child's sleeps took %lld ns",
          (long long)(now - began));
    return failures == before ? 0 : 9;
}

static void expect(pid_t pid, int status, const char *kind)
{
    MUST(pid > 0);
    int got;
    while (waitpid(pid, &got, __WALL) != pid)
        MUST(errno == EINTR);
    CHECK(got == status << 8, "a child by %s ended with status %#x", kind, got);
}

int main(int argc, char **argv)
{
    alarm(25);
    if (argc > 3) { /* spawned: a new program */
        check_reading(CLOCK_MONOTONIC, "spawned");
        return child(NULL) == 0 ? 7 : 1;
    }
    int children = argc > 1 ? atoi(argv[1]) : 100;
    int fork_only = argc > 2;
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        MUST(pthread_create(&threads[i], NULL, reader, (void *)(i % 2)) == 0);
    for (int i = 0; i < children; i++) {
        pid_t pid;
        switch (fork_only ? 0 : i % 8) {
        default:
            pid = fork();
            if (pid == 0)
                _exit(child(NULL));
            expect(pid, 0, "fork");
            break;
        case 1: /* a grandchild, and ordinary exit with its handlers */
            pid = fork();
            if (pid == 0) {
                pid = fork();
                if (pid == 0)
                    _exit(child(NULL));
                expect(pid, 0, "fork in a child");
                exit(child(NULL));
            }
            expect(pid, 0, "fork");
            break;
        case 2: /* without the C library, whose fork handlers do not run */
            pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
            if (pid == 0)
                _exit(child(NULL));
            expect(pid, 0, "the system call clone");
            break;
        case 3: /* shares memory, waits for us */
            pid = vfork();
            if (pid == 0)
                _exit(child(NULL));
            expect(pid, 0, "vfork");
            break;
        case 4: /* shares memory, runs beside us */
            pid = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
            expect(pid, 0, "clone with shared memory");
            break;
        case 5:
            pid = clone(child, stack + sizeof stack, SIGCHLD, NULL);
            expect(pid, 0, "clone");
            break;
        case 6: {
            char *arguments[] = {argv[0], "a", "spawned", "program", NULL};
            MUST(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) == 0);
            expect(pid, 7, "posix_spawn");
            break;
        }
        case 7:
            pid = vfork();
            if (pid == 0) {
                execl("/proc/self/exe", argv[0], "by", "exec", "too", NULL);
                _exit(1);
            }
            expect(pid, 7, "vfork and exec");
        }
    }
    stop = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return finished();
}
