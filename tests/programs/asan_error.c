/* Reads memory that it has given back, between clock calls; a sanitizer has to tell. */
#include <stdlib.h>
#include <time.h>

int main(void)
{
    struct timespec t, brief = {0, 1000};
    volatile char *memory = malloc(10);
    clock_gettime(CLOCK_MONOTONIC, &t);
    free((void *)memory);
    nanosleep(&brief, NULL);
    return memory[t.tv_nsec % 10];
}
