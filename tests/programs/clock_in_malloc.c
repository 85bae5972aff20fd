/* An allocator that reads the clock and sleeps in every call, its first included,
 * and holds a lock meanwhile that is not recursive: a clock that allocated, or that
 * asked the dynamic loader (which allocates), would hang. As a library to preload. */
#include "check.h"

#include <sys/mman.h>

static _Atomic int locked;
static _Atomic long calls;
static char arena[64 << 20] __attribute__((aligned(64)));
static size_t used;

struct header {
    size_t size;
    char pad[56];
};

/* While the lock is held nothing here may be entered again by this thread. */
static void enter(const char *what)
{
    static _Thread_local int inside __attribute__((tls_model("initial-exec")));
    if (inside)
        _exit((dprintf(2, "FAIL %s was called by a clock call inside the allocator\n", what), 6));
    inside = 1;
    while (atomic_exchange(&locked, 1))
        ;
    struct timespec t = {0, 0}, brief = {0, 1};
    int64_t before = kernel_ns(CLOCK_MONOTONIC);
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (to_ns(t) < before - BOUND_NS || to_ns(t) > kernel_ns(CLOCK_MONOTONIC) + BOUND_NS)
        _exit((dprintf(2, "FAIL the clock is wrong in %s\n", what), 6));
    clock_gettime(CLOCK_REALTIME, &t);
    gettimeofday(&(struct timeval){0}, NULL);
    time(NULL);
    if (calls++ % 64 == 0)
        nanosleep(&brief, NULL);
    inside = 0;
}

static void *take(const char *what, size_t align, size_t size)
{
    enter(what);
    size_t at = (used + sizeof(struct header) + align - 1) / align * align;
    void *memory = NULL;
    if (at + size <= sizeof arena) {
        memory = arena + at;
        ((struct header *)memory - 1)->size = size;
        used = (at + size + 63) / 64 * 64;
    }
    locked = 0;
    return memory;
}

void *malloc(size_t size)
{
    return take("malloc", 64, size);
}

void *calloc(size_t n, size_t size)
{
    return take("calloc", 64, n * size); /* the arena is fresh memory, hence zero */
}

void *memalign(size_t align, size_t size)
{
    return take("memalign", align < 64 ? 64 : align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **memory, size_t align, size_t size)
{
    *memory = memalign(align, size);
    return *memory ? 0 : ENOMEM;
}

void free(void *memory)
{
    if (memory) {
        enter("free");
        locked = 0;
    }
}

void *realloc(void *old, size_t size)
{
    void *memory = take("realloc", 64, size);
    if (old && memory) {
        size_t had = ((struct header *)old - 1)->size;
        memcpy(memory, old, had < size ? had : size);
    }
    return memory;
}

__attribute__((destructor)) static void report(void)
{
    dprintf(2, "the allocator was called %ld times\n", (long)calls);
}
