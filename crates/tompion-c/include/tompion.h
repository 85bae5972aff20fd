/*
 * tompion.h - Tompion 0.1.0: a clock that reads at the cost of the CPU's counter,
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
#define TOMPION_VERSION "0.1.0"
#define TOMPION_VERSION_MAJOR 0
#define TOMPION_VERSION_MINOR 1
#define TOMPION_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The clock ---- */

/** When the clock reads the CPU's counter instead of the kernel's clock. */
typedef enum tompion_clock_policy {
    /**
     * Where the kernel itself keeps time by the counter, the CPU promises a
     * constant rate, and no emulator computes it. The default.
     */
    TOMPION_CLOCK_POLICY_AUTO = 0,
    /**
     * Also where the kernel lists the counter but prefers another source, or an
     * emulator computes it, if it passes the library's own checks. They start a
     * thread for each CPU and take about a millisecond for each. Say so where
     * you show results: tompion_report.against_advice.
     */
    TOMPION_CLOCK_POLICY_TSC = 1,
    /** Never. */
    TOMPION_CLOCK_POLICY_KERNEL = 2,
} tompion_clock_policy;

/** Where the time comes from at present. */
typedef enum tompion_clock_source {
    /** The CPU's counter, anchored to the kernel's clock. */
    TOMPION_CLOCK_SOURCE_COUNTER = 1,
    /** The kernel's clock; tompion_clock_reason() tells why. */
    TOMPION_CLOCK_SOURCE_KERNEL = 2,
    /**
     * The kernel's clock while the rate of the counter is being measured: for
     * the first 15 ms of a program that reads its clock, and after losses.
     */
    TOMPION_CLOCK_SOURCE_CALIBRATING = 3,
} tompion_clock_source;

/** What the clock does and how well: tompion_clock_report(). May grow at its end. */
typedef struct tompion_report {
    /** A #tompion_clock_policy: the one in force. */
    int32_t policy;
    /** A #tompion_clock_source. */
    int32_t source;
    /**
     * 1 where the counter is in use only because the program asked for it and
     * #TOMPION_CLOCK_POLICY_AUTO would not use it; else 0.
     */
    uint64_t against_advice;
    /**
     * The largest difference from CLOCK_MONOTONIC that the design allows while
     * the kernel slews its clock by up to 500 ppm and the counter behaves.
     */
    uint64_t error_bound_ns;
    /** The largest difference met so far. */
    uint64_t worst_off_ns;
    /** The counter's rate against CLOCK_MONOTONIC; 0 while it is not known. */
    double counter_hz;
    /** The uncertainty of that rate, in parts per million. */
    double rate_uncertainty_ppm;
    /**
     * What one tompion_now_ns() costs in a loop within the library. In ns, as the
     * next two.
     */
    double read_cost_ns;
    /** What one tompion_now_ordered_ns() costs, likewise. */
    double ordered_read_cost_ns;
    /** What one read of the kernel's clock costs, for comparison. */
    double kernel_read_cost_ns;
    /** Comparisons with the kernel's clock so far. */
    uint64_t anchors;
    /** Times that trust in the counter was lost. */
    uint64_t losses;
    /**
     * How long the clock held its last value in all, because it was ahead of the
     * kernel's when trust was lost.
     */
    uint64_t held_ns;
    /** The longest such hold. */
    uint64_t longest_hold_ns;
    /** Times that the kernel changed the rate of its clock against the counter. */
    uint64_t rate_changes;
} tompion_report;

/**
 * Sets the policy and waits until the clock has settled: until the counter is in
 * use, or surely is not (about 20 ms, at most 200 ms).
 *
 * Nobody has to call this: the first read starts the clock with
 * #TOMPION_CLOCK_POLICY_AUTO. But the start opens files and takes memory, so that
 * programs that read the clock in signal handlers must call it before.
 *
 * @param policy a #tompion_clock_policy.
 * @return 0, or -EINVAL where there is no such policy.
 *
 * [thread-safe]
 */
int tompion_clock_init(int policy);

/**
 * Changes the policy while the program runs. Where the counter was in use this
 * takes up to 6 ms; time neither jumps nor stands.
 *
 * @param policy a #tompion_clock_policy.
 * @return 0, or -EINVAL where there is no such policy.
 *
 * [thread-safe]
 */
int tompion_clock_set_policy(int policy);

/**
 * The policy in force.
 *
 * @return a #tompion_clock_policy.
 *
 * [signal-safe]
 */
int tompion_clock_get_policy(void);

/**
 * The time: nanoseconds of CLOCK_MONOTONIC, at about the cost of reading the
 * CPU's counter. The CPU may read it a few nanoseconds before or after
 * neighbouring instructions.
 *
 * Never runs backwards within a thread; between threads where one reads with
 * tompion_now_ordered_ns() after it learned of the other's time.
 *
 * [signal-safe]
 */
uint64_t tompion_now_ns(void);

/**
 * The time as by tompion_now_ns(), read after all earlier instructions have
 * completed. Costs about 10 ns more.
 *
 * [signal-safe]
 */
uint64_t tompion_now_ordered_ns(void);

/**
 * The time of day: nanoseconds of CLOCK_REALTIME, since 1970, at the cost of
 * tompion_now_ordered_ns(). A step of the system's time shows within 5 ms; where the
 * counter is not in use this is the kernel's own reading.
 *
 * [signal-safe]
 */
uint64_t tompion_realtime_ns(void);

/**
 * Where the time comes from at present.
 *
 * @return a #tompion_clock_source.
 *
 * [signal-safe]
 */
int tompion_clock_get_source(void);

/**
 * Compares the clock with the kernel's now instead of at the next anchor, for
 * programs that have reason to doubt.
 *
 * @return a #tompion_clock_source: what is in use afterwards.
 *
 * [signal-safe]
 */
int tompion_clock_check(void);

/**
 * Why the kernel's clock is used, as one line of English without a full stop;
 * empty where the counter is. Written as by snprintf: `text` gets what fits into
 * `size` bytes with the terminating zero. 256 bytes are enough.
 *
 * @param text may be NULL where `size` is 0.
 * @return the length of the whole text without the zero; cut where that is not
 *   less than `size`. -EINVAL where `text` is NULL and `size` is not 0.
 *
 * [thread-safe]
 */
int tompion_clock_reason(char *text, size_t size);

/**
 * Fills a report. Measures the costs of reading, which takes about a quarter of a
 * millisecond.
 *
 * @param report is filled.
 * @param size `sizeof *report`.
 * @return 0; -EINVAL where `report` is NULL or `size` too small, -E2BIG where it
 *   is above 4096.
 *
 * [thread-safe]
 */
int tompion_clock_report(struct tompion_report *report, size_t size);

/**
 * The report as some lines of English for people, the last one without a newline.
 * Measures as tompion_clock_report() does, so that no two need be alike. Written
 * as by snprintf; 2048 bytes are enough.
 *
 * @param text may be NULL where `size` is 0.
 * @return the length of the whole text without the terminating zero; cut where
 *   that is not less than `size`. -EINVAL where `text` is NULL and `size` is not 0.
 *
 * [thread-safe]
 */
int tompion_clock_report_text(char *text, size_t size);

/* ---- Short intervals: the bare counter ---- */

/**
 * The CPU's counter as it stands: one instruction, for short intervals and hot
 * loops. Promises nothing: whether it may be read, runs steadily and agrees
 * between CPUs is what tompion_clock_get_source() tells. Take differences modulo
 * 2^64, of reads less than a second apart and best on one CPU.
 *
 * Always 0 on architectures without a counter. Where prctl(PR_SET_TSC) forbids
 * the counter, this ends the program by SIGSEGV.
 *
 * [signal-safe]
 */
uint64_t tompion_ticks(void);

/**
 * The counter as by tompion_ticks(), read after all earlier instructions have
 * completed.
 *
 * [signal-safe]
 */
uint64_t tompion_ticks_ordered(void);

/**
 * Converts a difference of ticks to nanoseconds by the clock's present rate.
 * Costs some 50 ns; to convert many, ask for tompion_ticks_hz() once.
 *
 * @param ticks up to a day's worth.
 * @param ns gets the nanoseconds, rounded down.
 * @return 0; -EAGAIN while the rate is being measured (tompion_clock_init() waits
 *   for that), -EOPNOTSUPP where the counter is not used, -EINVAL where `ns` is
 *   NULL. `ns` is left alone then.
 *
 * [signal-safe]
 */
int tompion_ticks_to_ns(uint64_t ticks, uint64_t *ns);

/**
 * The clock's present rate: ticks a second of CLOCK_MONOTONIC.
 *
 * @param hz gets the rate.
 * @return as of tompion_ticks_to_ns().
 *
 * [signal-safe]
 */
int tompion_ticks_hz(double *hz);

/* ---- Sleeping ---- */

/** The budget to take unless there is a reason for another one: 10 % of wall time. */
#define TOMPION_BUDGET_DEFAULT 0.1

/** How sleepers and tickers wait. */
typedef enum tompion_sleep_policy {
    /**
     * Sleeps in the kernel with 1 ns of timer slack; never spins. Late by the
     * wake-up latency, some 5 to 25 us.
     */
    TOMPION_SLEEP_POLICY_KERNEL = 0,
    /**
     * Sleeps in the kernel until a learned margin before the deadline, then
     * spins, within a budget.
     */
    TOMPION_SLEEP_POLICY_HYBRID = 1,
    /** Reads the clock until the deadline: a whole CPU. */
    TOMPION_SLEEP_POLICY_SPIN = 2,
    /**
     * The published rule of the HighPerTimer library (Kirova et al. 2019), for
     * comparison: a kernel sleep that ends one scheduler tick early, then
     * spinning.
     */
    TOMPION_SLEEP_POLICY_HIGHPERTIMER = 3,
    /** A kernel sleep with the thread's default timer slack, as nanosleep(). */
    TOMPION_SLEEP_POLICY_SYSTEM = 4,
} tompion_sleep_policy;

/**
 * Sleeps by a policy, for one thread, whose wake-up latency it learns. Another
 * thread may take it over; it then learns anew within some dozens of sleeps.
 */
typedef struct tompion_sleeper tompion_sleeper;

/** What one sleep did. May grow at its end. */
typedef struct tompion_slept {
    /** Wall time spent spinning before the deadline. */
    uint64_t spun_ns;
    /** How long after the deadline the sleep ended, by CLOCK_MONOTONIC. */
    uint64_t late_ns;
    /**
     * How long before the deadline the kernel's sleep was to end; 0 where the
     * policy has no margin.
     */
    uint64_t margin_ns;
    /** 1 where the budget cut the spin, at the price of a later wake-up; else 0. */
    uint64_t limited;
} tompion_slept;

/**
 * Sleeps in the kernel for so long, with 1 ns of timer slack; goes on after
 * signals; never spins, never returns early.
 *
 * The first sleep of a thread sets its timer slack, which its later sleeps of
 * other kinds and the threads it starts then have too:
 * tompion_restore_timer_slack() takes it back.
 *
 * @param duration_ns nanoseconds of CLOCK_MONOTONIC.
 * @return 0.
 *
 * [thread-safe]
 */
int tompion_sleep_ns(uint64_t duration_ns);

/**
 * As tompion_sleep_ns(), until CLOCK_MONOTONIC reads `deadline_ns`; returns at
 * once where that has passed.
 *
 * @param deadline_ns on the scale of tompion_now_ns().
 * @return 0.
 *
 * [thread-safe]
 */
int tompion_sleep_until_ns(uint64_t deadline_ns);

/**
 * Gives the calling thread its default timer slack back, where a sleep of this
 * library took it. The next such sleep takes it again.
 *
 * @return 0.
 *
 * [thread-safe]
 */
int tompion_restore_timer_slack(void);

/**
 * A sleeper.
 *
 * @param policy a #tompion_sleep_policy.
 * @param budget the largest share of wall time, over any second, that
 *   #TOMPION_SLEEP_POLICY_HYBRID may spin: 0 to 1, #TOMPION_BUDGET_DEFAULT for
 *   want of a reason. Other policies ignore it, but it must be valid.
 * @return for tompion_sleeper_free(); NULL with `errno` set to EINVAL where an
 *   argument is out of range, or to ENOMEM.
 *
 * [thread-safe]
 */
struct tompion_sleeper *tompion_sleeper_new(int policy, double budget);

/**
 * Sleeps for so long, counted from the call; goes on after signals, never returns
 * early. The timer slack is as of tompion_sleep_ns(), but for
 * #TOMPION_SLEEP_POLICY_SYSTEM and #TOMPION_SLEEP_POLICY_HIGHPERTIMER, which give
 * the thread its default back, and #TOMPION_SLEEP_POLICY_SPIN, which leaves it.
 *
 * @param duration_ns nanoseconds of CLOCK_MONOTONIC.
 * @param slept is filled; may be NULL.
 * @param size `sizeof *slept`.
 * @return 0; -EINVAL where `sleeper` is NULL or `size` too small, -E2BIG where
 *   `size` is above 4096, both without sleeping.
 *
 * [one thread]
 */
int tompion_sleeper_sleep_ns(struct tompion_sleeper *sleeper,
                             uint64_t duration_ns,
                             struct tompion_slept *slept,
                             size_t size);

/**
 * As tompion_sleeper_sleep_ns(), until CLOCK_MONOTONIC reads `deadline_ns`;
 * returns at once where that has passed.
 *
 * [one thread]
 */
int tompion_sleeper_sleep_until_ns(struct tompion_sleeper *sleeper,
                                   uint64_t deadline_ns,
                                   struct tompion_slept *slept,
                                   size_t size);

/**
 * Frees a sleeper; NULL is allowed.
 *
 * [one thread]
 */
void tompion_sleeper_free(struct tompion_sleeper *sleeper);

/* ---- Periodic waking ---- */

/**
 * Wakes at every point of the grid `start + number * period`, which never moves,
 * however late a tick comes or however long the caller works between two.
 */
typedef struct tompion_ticker tompion_ticker;

/** One waking of a ticker. May grow at its end. */
typedef struct tompion_tick {
    /** Which point of the grid it is, from 0 on; missed ones are counted. */
    uint64_t number;
    /** When it was due, on the scale of tompion_now_ns(). */
    uint64_t scheduled_ns;
    /** How long after that it came. */
    uint64_t late_ns;
    /**
     * Missed periods: points of the grid after this one that had passed when it
     * came. They are not made up for: the next tick's number is
     * `number + missed + 1`.
     */
    uint64_t missed;
    /** Wall time spent spinning for it. */
    uint64_t spun_ns;
    /** 1 where the budget cut the spin; else 0. */
    uint64_t limited;
} tompion_tick;

/**
 * A ticker whose first tick is due one period from now.
 *
 * @param period_ns above 0.
 * @param policy a #tompion_sleep_policy.
 * @param budget as of tompion_sleeper_new().
 * @return for tompion_ticker_free(); NULL with `errno` set to EINVAL where an
 *   argument is out of range, or to ENOMEM.
 *
 * [thread-safe]
 */
struct tompion_ticker *tompion_ticker_new(uint64_t period_ns,
                                          int policy,
                                          double budget);

/**
 * As tompion_ticker_new(), on the grid that `start_ns` is a point of: the first
 * tick, number 0, is due then or, where that has passed, at the first point ahead.
 * So several threads or programs keep in phase.
 *
 * @param start_ns on the scale of tompion_now_ns().
 *
 * [thread-safe]
 */
struct tompion_ticker *tompion_ticker_new_at(uint64_t start_ns,
                                             uint64_t period_ns,
                                             int policy,
                                             double budget);

/**
 * Waits for the next point of the grid; goes on after signals, never returns
 * early. Where that has passed already, the tick is late and comes at once. Timer
 * slack as of tompion_sleeper_sleep_ns().
 *
 * @param tick is filled; may be NULL.
 * @param size `sizeof *tick`.
 * @return 0; -EINVAL where `ticker` is NULL or `size` too small, -E2BIG where
 *   `size` is above 4096, both without waiting.
 *
 * [one thread]
 */
int tompion_ticker_tick(struct tompion_ticker *ticker,
                        struct tompion_tick *tick,
                        size_t size);

/**
 * Frees a ticker; NULL is allowed.
 *
 * [one thread]
 */
void tompion_ticker_free(struct tompion_ticker *ticker);

/* ---- The library ---- */

/**
 * The version of the library that is in use, which a newer shared library may
 * raise above the header's #TOMPION_VERSION: "0.1.0". A constant.
 *
 * [signal-safe]
 */
const char *tompion_version(void);

#ifdef __cplusplus
}
#endif

#endif /* TOMPION_H */
