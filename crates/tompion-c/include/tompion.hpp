/*
 * tompion.hpp - the thin C++17 face of tompion.h: a clock for std::chrono, and
 * sleepers and tickers that free themselves. Errors are std::system_error.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef TOMPION_HPP
#define TOMPION_HPP

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>

#include "tompion.h"

namespace tompion {

namespace detail {

inline int checked(int answer, const char *call) {
    if (answer < 0) {
        throw std::system_error(-answer, std::generic_category(), call);
    }
    return answer;
}

template <class T> T *checked(T *object, const char *call) {
    if (object == nullptr) {
        throw std::system_error(errno, std::generic_category(), call);
    }
    return object;
}

/* What lies in the past is not waited for. */
inline std::uint64_t ns(std::chrono::nanoseconds duration) noexcept {
    return duration.count() > 0 ? static_cast<std::uint64_t>(duration.count()) : 0;
}

} // namespace detail

/** CLOCK_MONOTONIC, as a TrivialClock: see tompion_now_ns(). */
struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept { return at(tompion_now_ns()); }
    /** After all earlier instructions: tompion_now_ordered_ns(). */
    static time_point now_ordered() noexcept { return at(tompion_now_ordered_ns()); }

  private:
    static time_point at(std::uint64_t ns) noexcept {
        return time_point(duration(static_cast<rep>(ns)));
    }
};

/** See tompion_clock_init(). */
inline void init(tompion_clock_policy policy = TOMPION_CLOCK_POLICY_AUTO) {
    detail::checked(tompion_clock_init(policy), "tompion_clock_init");
}

/** See tompion_clock_report(). */
inline tompion_report report() {
    tompion_report report;
    detail::checked(tompion_clock_report(&report, sizeof report), "tompion_clock_report");
    return report;
}

/** See tompion_clock_report_text(). */
inline std::string report_text() {
    char text[2048];
    detail::checked(tompion_clock_report_text(text, sizeof text), "tompion_clock_report_text");
    return text;
}

/** See tompion_sleeper_new(). Moves, and does not copy. */
class sleeper {
  public:
    explicit sleeper(tompion_sleep_policy policy = TOMPION_SLEEP_POLICY_HYBRID,
                     double budget = TOMPION_BUDGET_DEFAULT)
        : handle_(detail::checked(tompion_sleeper_new(policy, budget), "tompion_sleeper_new")) {}

    tompion_slept sleep_for(std::chrono::nanoseconds duration) {
        tompion_slept slept;
        detail::checked(
            tompion_sleeper_sleep_ns(handle_.get(), detail::ns(duration), &slept, sizeof slept),
            "tompion_sleeper_sleep_ns");
        return slept;
    }

    tompion_slept sleep_until(clock::time_point deadline) {
        tompion_slept slept;
        detail::checked(
            tompion_sleeper_sleep_until_ns(
                handle_.get(), detail::ns(deadline.time_since_epoch()), &slept, sizeof slept),
            "tompion_sleeper_sleep_until_ns");
        return slept;
    }

  private:
    struct freed {
        void operator()(tompion_sleeper *handle) const noexcept { tompion_sleeper_free(handle); }
    };
    std::unique_ptr<tompion_sleeper, freed> handle_;
};

/** See tompion_ticker_new(). Moves, and does not copy. */
class ticker {
  public:
    explicit ticker(std::chrono::nanoseconds period,
                    tompion_sleep_policy policy = TOMPION_SLEEP_POLICY_HYBRID,
                    double budget = TOMPION_BUDGET_DEFAULT)
        : handle_(detail::checked(tompion_ticker_new(detail::ns(period), policy, budget),
                                  "tompion_ticker_new")) {}

    /** Waits for the next point of the grid: tompion_ticker_tick(). */
    tompion_tick tick() {
        tompion_tick tick;
        detail::checked(tompion_ticker_tick(handle_.get(), &tick, sizeof tick),
                        "tompion_ticker_tick");
        return tick;
    }

  private:
    struct freed {
        void operator()(tompion_ticker *handle) const noexcept { tompion_ticker_free(handle); }
    };
    std::unique_ptr<tompion_ticker, freed> handle_;
};

} // namespace tompion

#endif /* TOMPION_HPP */
