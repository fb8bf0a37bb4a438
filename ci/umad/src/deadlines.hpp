// Callbacks at times in milliseconds, of any clock.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <utility>

namespace irpverbs::umad {

/// The owner serialises the calls, and calls run() when the first deadline has come.
class deadlines {
public:
    using ticket = std::pair<std::int64_t, std::uint64_t>;
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    ticket set(std::int64_t at, std::function<void()> what) {
        const ticket place{at, ++count_};
        waiting_.emplace(place, std::move(what));
        return place;
    }
    void cancel(const ticket& which) { waiting_.erase(which); }

    /// Runs the callbacks that are due, which may set and cancel deadlines.
    void run(std::int64_t now) {
        while (next() <= now && next() != never) {
            const auto what = std::move(waiting_.begin()->second);
            waiting_.erase(waiting_.begin());
            what();
        }
    }
    /// The time of the first one.
    std::int64_t next() const { return waiting_.empty() ? never : waiting_.begin()->first.first; }

private:
    std::map<ticket, std::function<void()>> waiting_;
    std::uint64_t count_ = 0;
};

} // namespace irpverbs::umad
