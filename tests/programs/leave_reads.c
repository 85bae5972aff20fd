/* Readings left by siglongjmp in the middle of a renewal, again and again: later
 * readings neither hang nor lie. x86-64: the place is chosen by single steps. */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#if defined(__x86_64__)
#define TRAP_FLAG 0x100L

static sigjmp_buf out;
static volatile long steps, leave_after;
static volatile sig_atomic_t stepping;

static void step(int number, siginfo_t *info, void *context)
{
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    (void)number;
    (void)info;
    if (!stepping || ++steps == leave_after) {
        *flags &= ~TRAP_FLAG;
        if (stepping) {
            stepping = 0;
            siglongjmp(out, 1);
        }
    }
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    MUST(sigaction(SIGTRAP, &action, NULL) == 0);
    check_readings(40 * MS, "before");
    for (long place = 40; place < 400; place += 20)
        for (int again = 0; again < 12; again++) {
            struct timespec t, piece = {0, 5500000};
            syscall(SYS_nanosleep, &piece, NULL);
            if (sigsetjmp(out, 1) == 0) {
                steps = 0;
                leave_after = place;
                stepping = 1;
                __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
                clock_gettime(CLOCK_MONOTONIC, &t);
                stepping = 0;
            }
        }
    check_readings(40 * MS, "after");
    return finished();
}
#else
int main(void)
{
    return finished();
}
#endif
