/*
 * tompion.h - Tompion @VERSION@: a clock that reads at the cost of the CPU's counter,
 * and a sleep that does not miss.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 * Made from the sources of the crate tompion-c; not to be edited.
 *
 * Times are nanoseconds on the scale of CLOCK_MONOTONIC, in uint64_t, which holds 584
 * years. Where a name ends in _ns, _hz or _ppm, that is the unit.
 *
 * Errors. Functions that return int answer with 0 or a positive value, or with a
 * negative error number: strerror(-answer) tells it. Functions that return an object
 * answer with NULL and set errno. A defect of the library that it notices itself is
 * told on standard error and answered with ENOTRECOVERABLE.
 *
 * Threads and signals. The last line of each comment tells who may call a function:
 *   [signal-safe]  any thread, and any signal handler once tompion_clock_init() has
 *                  returned. Like other functions of C it may change errno.
 *   [thread-safe]  any thread at any time, but no signal handler.
 *   [one thread]   one thread at a time for the same object; no signal handler.
 * All may be called in the child of a fork. Before an exec there, where the parent had
 * threads: the signal-safe ones, sleeps and ticks.
 *
 * Structs may grow at their end in later versions. A function that fills one takes its
 * size, fills what both sides know, and zeroes what only the caller knows. Objects are
 * opaque. So programs built with an older header run with a newer library.
 */
#ifndef TOMPION_H
#define TOMPION_H

#include <stddef.h>
#include <stdint.h>

/** The version of this header. */
#define TOMPION_VERSION "@VERSION@"
#define TOMPION_VERSION_MAJOR @MAJOR@
#define TOMPION_VERSION_MINOR @MINOR@
#define TOMPION_VERSION_PATCH @PATCH@

#ifdef __cplusplus
extern "C" {
#endif
