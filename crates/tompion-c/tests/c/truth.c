/* The library against the kernel's clock. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <tompion.h>

#include "check.h"

static uint64_t max(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t bound_ns(void)
{
    struct tompion_report report;
    CHECK(tompion_clock_report(&report, sizeof report) == 0, "no report");
    CHECK(report.worst_off_ns <= report.error_bound_ns || report.losses > 0,
          "off by %" PRIu64, report.worst_off_ns);
    return report.error_bound_ns;
}

/* Every reading lies between two of the kernel's, give or take the stated bound. The
 * bound may grow meanwhile; it is asked before and after. */
static void now_lies_within_its_bound(int policy)
{
    CHECK(tompion_clock_init(policy) == 0, "policy %d", policy);
    CHECK(tompion_clock_get_policy() == policy, "policy %d", policy);
    uint64_t bound = bound_ns();
    uint64_t end = kernel_ns() + 300000000, early = 0, late = 0, reads = 0, last = 0;
    for (;; reads++) {
        uint64_t before = kernel_ns();
        uint64_t now = tompion_now_ordered_ns();
        uint64_t after = kernel_ns();
        early = max(early, before > now ? before - now : 0);
        late = max(late, now > after ? now - after : 0);
        CHECK(now >= last, "%" PRIu64 " after %" PRIu64, now, last);
        last = tompion_now_ns();
        CHECK(last >= now, "%" PRIu64 " after %" PRIu64, last, now);
        if (after > end)
            break;
    }
    bound = max(bound, bound_ns());
    CHECK(early <= bound && late <= bound,
          "%" PRIu64 " early, %" PRIu64 " late, bound %" PRIu64 " ns", early, late, bound);
    CHECK(policy != TOMPION_CLOCK_POLICY_KERNEL || early + late == 0, "the kernel's own clock");
    printf("policy %d, source %d: %" PRIu64 " reads, bound %" PRIu64 " ns, off by %" PRIu64
           " and %" PRIu64 " ns\n",
           policy, tompion_clock_get_source(), reads, bound, early, late);
}

static uint64_t kernel_realtime_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time of day likewise; measured between two reads of the kernel's clock, its
 * distance from the monotonic clock is as exact as these are close. */
static void realtime_is_the_kernels(void)
{
    uint64_t bound = bound_ns() + 20000, early = 0, late = 0;
    for (int i = 0; i < 1000000; i++) {
        uint64_t before = kernel_realtime_ns();
        uint64_t now = tompion_realtime_ns();
        uint64_t after = kernel_realtime_ns();
        early = max(early, before > now ? before - now : 0);
        late = max(late, now > after ? now - after : 0);
    }
    CHECK(early <= bound && late <= bound, "%" PRIu64 " early, %" PRIu64 " late", early, late);
    printf("realtime: off by %" PRIu64 " and %" PRIu64 " ns\n", early, late);
}

/* The counter's rate, from outside, against what the library says of it. */
static void ticks_convert_to_time(void)
{
    double hz;
    uint64_t ns;
    if (tompion_clock_get_source() != TOMPION_CLOCK_SOURCE_COUNTER) {
        CHECK(tompion_ticks_hz(&hz) < 0, "a rate without a counter");
        return;
    }
    uint64_t a = kernel_ns(), ticks = tompion_ticks_ordered(), b = kernel_ns();
    tompion_sleep_ns(100000000);
    uint64_t c = kernel_ns();
    ticks = tompion_ticks_ordered() - ticks;
    uint64_t d = kernel_ns();
    CHECK(tompion_ticks_to_ns(ticks, &ns) == 0, "no rate");
    CHECK(tompion_ticks_hz(&hz) == 0, "no rate");
    /* 1000 ppm: more than the kernel slews, less than any mistake. */
    CHECK((double)ns >= 0.999 * (double)(c - b) && (double)ns <= 1.001 * (double)(d - a),
          "%" PRIu64 " ns, by the kernel %" PRIu64 " to %" PRIu64, ns, c - b, d - a);
    double by_hz = (double)ticks / hz * 1e9;
    CHECK(by_hz - (double)ns < 10 && (double)ns - by_hz < 10, "%f and %" PRIu64, by_hz, ns);
}

static void ignore(int signal) { (void)signal; }

/* Storms of signals or not. */
static void no_sleep_is_early(void)
{
    static const uint64_t lengths[] = {1, 10000, 300000, 3000000};
    for (int policy = TOMPION_SLEEP_POLICY_KERNEL; policy <= TOMPION_SLEEP_POLICY_SYSTEM;
         policy++) {
        tompion_sleeper *sleeper = tompion_sleeper_new(policy, TOMPION_BUDGET_DEFAULT);
        CHECK(sleeper != NULL, "policy %d", policy);
        for (int i = 0; i < 200; i++) {
            uint64_t length = lengths[i % 4];
            struct tompion_slept slept;
            uint64_t start = kernel_ns(), deadline = start + length;
            int answer = i % 8 < 4
                ? tompion_sleeper_sleep_until_ns(sleeper, deadline, &slept, sizeof slept)
                : tompion_sleeper_sleep_ns(sleeper, length, &slept, sizeof slept);
            uint64_t end = kernel_ns();
            CHECK(answer == 0 && end >= deadline, "policy %d, %" PRIu64 " ns: %d, early by %" PRIu64,
                  policy, length, answer, deadline - end);
            CHECK(slept.late_ns <= end - deadline, "%" PRIu64 " of %" PRIu64, slept.late_ns,
                  end - deadline);
            CHECK(slept.spun_ns <= length, "%" PRIu64 " of %" PRIu64, slept.spun_ns, length);
            int spins = policy != TOMPION_SLEEP_POLICY_KERNEL && policy != TOMPION_SLEEP_POLICY_SYSTEM;
            CHECK(spins || slept.spun_ns == 0, "policy %d spun", policy);
            CHECK(policy != TOMPION_SLEEP_POLICY_SPIN || slept.spun_ns > 0 || slept.late_ns >= 1,
                  "no spin");
        }
        tompion_sleeper_free(sleeper);
    }
    for (int i = 0; i < 20; i++) {
        uint64_t start = kernel_ns();
        CHECK(tompion_sleep_ns(500000) == 0 && kernel_ns() >= start + 500000, "early");
        CHECK(tompion_sleep_until_ns(start + 1000000) == 0, "no sleep");
        CHECK(kernel_ns() >= start + 1000000, "early");
    }
}

static void budgets_hold(double budget)
{
    tompion_sleeper *sleeper = tompion_sleeper_new(TOMPION_SLEEP_POLICY_HYBRID, budget);
    uint64_t spun = 0, limited = 0, end = kernel_ns() + 900000000;
    while (kernel_ns() < end) {
        struct tompion_slept slept;
        tompion_sleeper_sleep_ns(sleeper, 60000, &slept, sizeof slept);
        spun += slept.spun_ns;
        limited += slept.limited;
    }
    tompion_sleeper_free(sleeper);
    CHECK((double)spun <= budget * 1e9, "%" PRIu64 " ns of %f", spun, budget);
    /* Sleeps so short spin for some 5 us each, 5 % and more of the time. */
    CHECK(limited > 0, "nothing was limited to %f; spun %" PRIu64 " ns", budget, spun);
}

/* The caller is busy for so many periods and a half; the tick that follows is late by one
 * less, and knows of each. */
static void ticks_count_what_a_busy_caller_missed(void)
{
    const uint64_t period = 20000000;
    tompion_ticker *ticker = tompion_ticker_new(period, TOMPION_SLEEP_POLICY_KERNEL, 0);
    struct tompion_tick tick, first;
    CHECK(tompion_ticker_tick(ticker, &first, sizeof first) == 0 && first.number == 0, "first");
    uint64_t next = first.number + first.missed + 1;
    for (uint64_t busy = 0; busy < 8; busy++) {
        uint64_t until = first.scheduled_ns + (next + busy) * period + period / 2;
        while (kernel_ns() < until)
            continue;
        uint64_t before = kernel_ns();
        CHECK(tompion_ticker_tick(ticker, &tick, sizeof tick) == 0, "no tick");
        uint64_t after = kernel_ns();
        CHECK(tick.number == next, "%" PRIu64 " of %" PRIu64, tick.number, next);
        CHECK(tick.scheduled_ns == first.scheduled_ns + next * period, "the grid moved");
        /* The same count by the kernel's clock, around the call. */
        uint64_t least = (before - tick.scheduled_ns) / period;
        uint64_t most = (after - tick.scheduled_ns) / period;
        CHECK(least >= busy, "the test was busy for %" PRIu64 " of %" PRIu64, least, busy);
        CHECK(tick.missed >= least && tick.missed <= most,
              "%" PRIu64 " missed, not %" PRIu64 " to %" PRIu64, tick.missed, least, most);
        printf("busy over %" PRIu64 " points of the grid: %" PRIu64 " missed\n", busy, tick.missed);
        next = tick.number + tick.missed + 1;
    }
    tompion_ticker_free(ticker);
}

static void tickers_of_one_grid_keep_in_phase(void)
{
    const uint64_t period = 3000000, start = tompion_now_ns() - 1000 * period - 7;
    for (int i = 0; i < 5; i++) {
        tompion_ticker *ticker =
            tompion_ticker_new_at(start, period, TOMPION_SLEEP_POLICY_HYBRID, 0.5);
        struct tompion_tick tick;
        tompion_ticker_tick(ticker, &tick, sizeof tick);
        CHECK((tick.scheduled_ns - start) % period == 0, "off the grid");
        tompion_ticker_free(ticker);
    }
}

int main(void)
{
    now_lies_within_its_bound(TOMPION_CLOCK_POLICY_KERNEL);
    now_lies_within_its_bound(TOMPION_CLOCK_POLICY_AUTO);
    realtime_is_the_kernels();
    ticks_convert_to_time();
    no_sleep_is_early();

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignore;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    no_sleep_is_early();
    setitimer(ITIMER_REAL, &never, NULL);

    budgets_hold(0.0);
    budgets_hold(0.01);
    ticks_count_what_a_busy_caller_missed();
    tickers_of_one_grid_keep_in_phase();
    return failures > 0;
}
