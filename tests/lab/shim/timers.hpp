// Timers on the monotonic clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace shim {

class timers {
public:
    using ticket = std::pair<std::int64_t, std::uint64_t>;

    ticket set(std::int64_t in_ms, std::function<void()> what) {
        const ticket place{now_ms() + in_ms, ++count_};
        waiting_.emplace(place, std::move(what));
        return place;
    }
    void cancel(const ticket& which) { waiting_.erase(which); }

    /// Runs the callbacks that are due, which may set and cancel timers.
    void run() {
        const std::int64_t now = now_ms();
        while (!waiting_.empty() && waiting_.begin()->first.first <= now) {
            const auto what = std::move(waiting_.begin()->second);
            waiting_.erase(waiting_.begin());
            what();
        }
    }
    /// The time of the next one.
    std::int64_t next() const { return waiting_.empty() ? never : waiting_.begin()->first.first; }
    /// Milliseconds until the next one; -1 if there is none.
    int next_in() const {
        if (waiting_.empty()) return -1;
        return static_cast<int>(std::max<std::int64_t>(next() - now_ms(), 0));
    }
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

private:
    static std::int64_t now_ms() {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
    }

    std::map<ticket, std::function<void()>> waiting_;
    std::uint64_t count_ = 0;
};

} // namespace shim
