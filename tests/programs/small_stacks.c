/* Clocks read on stacks with little room: a signal handler's own stack of the least
 * size and 2 KiB, and threads with the least stack. Below each lies a page that may
 * not be touched. Lasts for many renewals of the clock. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#ifndef _SC_MINSIGSTKSZ
#define _SC_MINSIGSTKSZ 249
#endif
#define ROOM 2048
#define PATTERN 0xa5

static volatile sig_atomic_t handled;

static void handler(int unused)
{
    struct timespec t, brief = {0, 1000};
    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &t);
    clock_gettime(CLOCK_REALTIME, &t);
    gettimeofday(&(struct timeval){0}, NULL);
    time(NULL);
    nanosleep(&brief, NULL);
    clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL);
    handled++;
}

/* Memory of at least `size` that ends with a page boundary and begins after a page
 * that faults. Returns its lowest address, so that `size` is what can be used. */
static unsigned char *guarded(size_t *size)
{
    size_t page = sysconf(_SC_PAGESIZE), whole = (*size + page - 1) / page * page;
    unsigned char *memory = mmap(NULL, whole + page, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED && mprotect(memory, page, PROT_NONE) == 0);
    return memory + page;
}

static void *thread(void *unused)
{
    struct timespec brief = {0, 50000};
    for (int i = 0; i < 10; i++) {
        int64_t end = kernel_ns(CLOCK_MONOTONIC) + 3 * MS, last = 0;
        do {
            struct timespec t;
            clock_gettime(CLOCK_MONOTONIC, &t);
            CHECK(to_ns(t) >= last, "backwards");
            last = to_ns(t);
        } while (last < end);
        nanosleep(&brief, NULL);
        usleep(20);
        clock_nanosleep(CLOCK_REALTIME, 0, &brief, NULL);
    }
    return unused;
}

int main(void)
{
    size_t size = sysconf(_SC_MINSIGSTKSZ) + ROOM, unused = 0;
    unsigned char *memory = guarded(&size);
    memset(memory, PATTERN, size);
    stack_t alternate = {.ss_sp = memory, .ss_size = size};
    MUST(sigaltstack(&alternate, NULL) == 0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval every = {{0, 900}, {0, 900}}, off = {{0, 0}, {0, 0}};

    /* The handler is the only reader at first, so that the renewals are its work;
     * it begins with the very first reading of the program. */
    MUST(setitimer(ITIMER_REAL, &every, NULL) == 0);
    int64_t end = kernel_ns(CLOCK_MONOTONIC) + 60 * MS;
    while (kernel_ns(CLOCK_MONOTONIC) < end || handled < 10)
        MUST(kernel_ns(CLOCK_MONOTONIC) < end + 20 * SECOND);
    check_readings(20 * MS, "interrupted");
    MUST(setitimer(ITIMER_REAL, &off, NULL) == 0);
    while (unused < size && memory[unused] == PATTERN)
        unused++;
    fprintf(stderr, "signal stack: %zu of %zu bytes used, %zu of them to spare for the handler\n",
            size - unused, size, (size_t)ROOM);

    pthread_attr_t attributes;
    pthread_t threads[3];
    size_t least = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_init(&attributes);
    MUST(pthread_attr_setstacksize(&attributes, least) == 0);
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], &attributes, thread, NULL) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return finished();
}
