/* What the test programs share. */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int failures;

/* Tells what was wrong, with evidence in the manner of printf. */
#define CHECK(holds, ...)                                                                  \
    do {                                                                                   \
        if (!(holds)) {                                                                    \
            failures++;                                                                    \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #holds);                    \
            fprintf(stderr, __VA_ARGS__);                                                  \
            fputc('\n', stderr);                                                           \
        }                                                                                  \
    } while (0)

/* The truth: the kernel's clock. */
static inline uint64_t kernel_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
