/* A sandbox that answers clock_nanosleep with EPERM, entered past every library, so
 * that a hybrid sleep is still in force: the sleep fails, at once and without spinning.
 * Needs root, because PR_SET_NO_NEW_PRIVS would be seen. */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

int main(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
        puts("not permitted to try");
        return 0;
    }
    struct timespec two_seconds = {2, 0};
    int64_t began = kernel_ns(CLOCK_PROCESS_CPUTIME_ID);
    errno = 0;
    int nano = nanosleep(&two_seconds, NULL), error = errno;
    int clock = clock_nanosleep(CLOCK_MONOTONIC, 0, &two_seconds, NULL);
    int64_t used = kernel_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
    CHECK(nano == -1 && error == EPERM, "nanosleep: %d, errno %d", nano, error);
    CHECK(clock == EPERM, "clock_nanosleep: %d", clock);
    CHECK(used < SECOND / 2, "%lld ns of CPU time", (long long)used);
    return finished();
}
