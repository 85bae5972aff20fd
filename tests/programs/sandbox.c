/* Clock readings in a sandbox that kills at a system call. Arguments: how it is
 * entered, and what is done inside.
 *   filter    prctl(PR_SET_SECCOMP) with a filter that allows read, write, exit,
 *             exit_group and rt_sigreturn, and kills on everything else
 *   seccomp   the same filter by the system call seccomp, past every library
 *   eperm     the same, but with EPERM for everything else
 *   strict    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)
 * then: read (clocks, for 50 ms), read-first (the same, without any reading before),
 * or nothing. Where a plain run survives, a run under the library has to. */
#include "check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define ALLOW(number)                                                          \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1),                   \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void enter(const char *how)
{
    unsigned otherwise = strcmp(how, "eperm") == 0 ? SECCOMP_RET_ERRNO | EPERM
                                                   : SECCOMP_RET_KILL_PROCESS;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(read),
        ALLOW(write),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(rt_sigreturn),
        BPF_STMT(BPF_RET | BPF_K, otherwise),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (strcmp(how, "strict") == 0) {
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
        return;
    }
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (strcmp(how, "filter") == 0)
        MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    else
        MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

static void say(const char *words)
{
    (void)!write(1, words, strlen(words));
}

int main(int argc, char **argv)
{
    MUST(argc == 3);
    int reads = strncmp(argv[2], "read", 4) == 0;
    int wrong = 0;
    if (strcmp(argv[2], "read") == 0)
        check_readings(12 * MS, "before");
    enter(argv[1]);
    say("inside\n");
    if (reads) {
        struct timespec monotonic = {0, 0}, realtime = {0, 0};
        struct timeval day;
        int64_t began = 0, last = 0;
        do {
            wrong |= clock_gettime(CLOCK_MONOTONIC, &monotonic) != 0;
            wrong |= clock_gettime(CLOCK_REALTIME, &realtime) != 0;
            wrong |= gettimeofday(&day, NULL) != 0 || time(NULL) <= 0;
            int64_t now = to_ns(monotonic);
            if (began == 0)
                began = last = now;
            wrong |= now < last;
            last = now;
        } while (last - began < 50 * MS);
    }
    say(wrong ? "a clock was wrong\n" : "read\n");
    if (strcmp(argv[1], "strict") == 0) /* exit() ends all threads: not allowed here */
        syscall(SYS_exit, wrong);
    return wrong || failures; /* through the exit handlers, the library's too */
}
