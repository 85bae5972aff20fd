/* Allocates and reads the clock, in threads. With an argument it must be found among
 * the mapped files: the allocator that the test is about. */
#include "check.h"

#include <pthread.h>

static void *work(void *unused)
{
    char *kept[64] = {0};
    unsigned seed = 1;
    int64_t end = kernel_ns(CLOCK_MONOTONIC) + 60 * MS;
    while (kernel_ns(CLOCK_MONOTONIC) < end) {
        for (int i = 0; i < 50; i++) {
            unsigned at = (seed = seed * 1103515245 + 12345) / 65536 % 64;
            free(kept[at]);
            size_t size = 16 + seed / 7 % 3000;
            MUST((kept[at] = malloc(size)));
            kept[at][0] = kept[at][size - 1] = 1;
        }
        check_readings(0, "allocating thread");
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    check_readings(0, "main");
    if (argc > 1) {
        char line[1024];
        int found = 0;
        FILE *maps = fopen("/proc/self/maps", "r");
        MUST(maps);
        while (fgets(line, sizeof line, maps))
            found |= strstr(line, argv[1]) != NULL;
        fclose(maps);
        CHECK(found, "%s is not loaded", argv[1]);
    }
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    struct timespec brief = to_timespec(MS);
    CHECK(nanosleep(&brief, NULL) == 0, "nanosleep failed");
    return finished();
}
