// The clocks, sleeps and timed waits of the C++ library: none early, none lost.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>

using namespace std::chrono;
using namespace std::chrono_literals;

static int failures = 0;

// By how much a wait may end early: the bound of two readings.
static constexpr auto bound = 20us;

template <class Clock, class Wait> static void never_early(const char *name, Wait wait)
{
    for (int i = 1; i <= 4; i++) {
        auto length = i * 500us;
        auto began = Clock::now();
        bool right = wait(began + length, length);
        auto took = Clock::now() - began;
        if (!right || took < length - bound || took > 10s) {
            failures++;
            std::fprintf(stderr, "FAIL %s: %s, took %lld ns of %lld\n", name,
                         right ? "no wrong result" : "wrong result",
                         (long long)duration_cast<nanoseconds>(took).count(),
                         (long long)duration_cast<nanoseconds>(length).count());
        }
    }
}

template <class Clock> static void all(const char *name)
{
    std::printf("%s\n", name);
    auto last = Clock::now();
    for (int i = 0; i < 100000; i++) {
        auto now = Clock::now();
        if (now < last && Clock::is_steady) {
            failures++;
            std::fprintf(stderr, "FAIL %s went backwards\n", name);
        }
        last = now;
    }
    never_early<Clock>("sleep_for", [](auto, auto length) {
        std::this_thread::sleep_for(length);
        return true;
    });
    never_early<Clock>("sleep_until", [](auto until, auto) {
        std::this_thread::sleep_until(until);
        return true;
    });
    std::mutex mutex;
    std::unique_lock<std::mutex> lock(mutex);
    std::condition_variable condition;
    never_early<Clock>("wait_until", [&](auto until, auto) {
        while (condition.wait_until(lock, until) == std::cv_status::no_timeout)
            ;
        return true;
    });
    never_early<Clock>("wait_for", [&](auto, auto length) {
        return !condition.wait_for(lock, length, [] { return false; });
    });
    std::timed_mutex timed;
    std::thread holder([&] { timed.lock(); });
    holder.join();
    never_early<Clock>("try_lock_until", [&](auto until, auto) {
        return !timed.try_lock_until(until);
    });
    std::promise<void> promise;
    auto future = promise.get_future();
    never_early<Clock>("future::wait_until", [&](auto until, auto) {
        return future.wait_until(until) == std::future_status::timeout;
    });
}

int main()
{
    all<steady_clock>("steady_clock");
    all<system_clock>("system_clock");
    return failures != 0;
}
