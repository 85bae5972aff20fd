// How late sleeps of the standard library and of Tompion end: medians of a round each.
//
//   c++ -std=c++17 -O2 -o late late.cpp $(pkg-config --cflags --libs tompion)

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iostream>
#include <thread>
#include <tompion.hpp>

namespace {

using microseconds = std::chrono::duration<double, std::micro>;
constexpr std::chrono::milliseconds length{1};

template <class Sleep> microseconds median_late(Sleep sleep) {
    std::array<microseconds, 301> late;
    for (auto &one : late) {
        // The clock is one of std::chrono: arithmetic and comparisons come from there.
        const auto deadline = tompion::clock::now_ordered() + length;
        sleep(deadline);
        one = tompion::clock::now_ordered() - deadline;
    }
    const auto middle = late.begin() + late.size() / 2;
    std::nth_element(late.begin(), middle, late.end());
    return *middle;
}

} // namespace

int main() try {
    tompion::init();
    std::cout << tompion::report_text() << '\n';

    const auto standard = median_late([](auto) { std::this_thread::sleep_for(length); });
    tompion::sleeper sleeper; // hybrid, 10 % at most; frees itself
    const auto hybrid = median_late([&](auto deadline) { sleeper.sleep_until(deadline); });
    std::cout << "std::this_thread::sleep_for: " << standard.count() << " us late\n"
              << "tompion::sleeper: " << hybrid.count() << " us late\n";

    tompion::ticker ticker(std::chrono::microseconds(500));
    std::uint64_t missed = 0;
    for (int i = 0; i < 200; i++) {
        missed += ticker.tick().missed;
    }
    std::cout << "200 ticks of 500 us: " << missed << " periods missed\n";
} catch (const std::exception &error) {
    std::cerr << "late: " << error.what() << '\n';
    return 1;
}
