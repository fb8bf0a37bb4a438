// The timer load of this library: N outstanding requests, each with a response timer that its
// answer nearly always cancels. One operation cancels the answered request's timer and arms the
// next one's, while time advances. A deadline lies eight mean response times ahead.
#pragma once

#include "harness.hpp"

#include <memory>
#include <string>

namespace irpverbs::bench {

enum class completions { in_order, at_random };

// Timers has Timers(count), arm(index, nanoseconds from the beginning), cancel(index), turn().
template <class Timers>
class timer_load {
public:
    timer_load(std::size_t count, completions order)
        : timers_(count), count_(count), order_(order) {
        for (std::size_t i = 0; i < count; ++i)
            timers_.arm(i, deadline());
        for (std::size_t i = 0; i < 2 * count; ++i)
            step(); // reaches the steady state, which is measured
    }
    void step() {
        const std::size_t completed = order_ == completions::in_order ? next() : random();
        timers_.cancel(completed);
        timers_.arm(completed, deadline());
        timers_.turn();
    }

private:
    static constexpr std::uint64_t time_out = 1'000'000'000;

    std::uint64_t deadline() { return (now_ += time_out / 8 / count_) + time_out; }
    std::size_t next() { return next_ = next_ + 1 == count_ ? 0 : next_ + 1; }
    std::size_t random() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return ((state_ * 2685821657736338717ull) >> 32) * count_ >> 32;
    }

    Timers timers_;
    std::size_t count_, next_ = 0;
    completions order_;
    std::uint64_t now_ = 0, state_ = 0x9E3779B97F4A7C15ull;
};

// Populations live until the program ends, since building a million for each sample would take
// longer than all measurements together.
template <class Timers>
void add_timer_load(catalog& all, const std::string& owner) {
    struct kind {
        const char* name;
        std::size_t count;
        completions order;
    };
    for (const kind& each : {kind{"timer_in_order_1e3", 1'000, completions::in_order},
                             kind{"timer_random_1e3", 1'000, completions::at_random},
                             kind{"timer_in_order_1e6", 1'000'000, completions::in_order},
                             kind{"timer_random_1e6", 1'000'000, completions::at_random}}) {
        auto load = std::make_shared<std::unique_ptr<timer_load<Timers>>>();
        all.add(owner + "/" + each.name, "cancel one timer and arm the next among as many",
                [load, each](run& sample) {
                    if (!*load)
                        *load = std::make_unique<timer_load<Timers>>(sample.population(each.count),
                                                                     each.order);
                    timer_load<Timers>& steady = **load;
                    const std::uint64_t operations = sample.operations();
                    sample.start();
                    for (std::uint64_t i = 0; i < operations; ++i)
                        steady.step();
                    sample.stop();
                });
    }
}

} // namespace irpverbs::bench
