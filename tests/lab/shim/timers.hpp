// Timers on the monotonic clock.
#pragma once

#include <deadlines.hpp>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <utility>

namespace shim {

class timers {
public:
    using ticket = irpverbs::umad::deadlines::ticket;

    ticket set(std::int64_t in_ms, std::function<void()> what) {
        return all_.set(now_ms() + in_ms, std::move(what));
    }
    void cancel(const ticket& which) { all_.cancel(which); }
    /// Runs the callbacks that are due, which may set and cancel timers.
    void run() { all_.run(now_ms()); }
    /// The time of the next one.
    std::int64_t next() const { return all_.next(); }
    /// Milliseconds until the next one; -1 if there is none.
    int next_in() const {
        if (next() == irpverbs::umad::deadlines::never) return -1;
        return static_cast<int>(std::max<std::int64_t>(next() - now_ms(), 0));
    }

private:
    static std::int64_t now_ms() {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
    }

    irpverbs::umad::deadlines all_;
};

} // namespace shim
