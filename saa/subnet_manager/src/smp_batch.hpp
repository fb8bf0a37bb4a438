// SMPs that belong together: their common end is known, whatever else is in flight.
#pragma once

#include "smp_channel.hpp"

#include <utility>

namespace irpverbs::subnet_manager {

/// For tasks of the channel's queue. Must live until it is done.
class smp_batch {
public:
    explicit smp_batch(smp_channel& smps) : smps_(smps) {}
    smp_batch(const smp_batch&) = delete;
    smp_batch& operator=(const smp_batch&) = delete;

    /// `told` may ask for more.
    template <class Told>
    void ask(smp what, Told told) {
        begin_one();
        smps_.ask(std::move(what), [this, told = std::move(told)](const smp_answer& answer) {
            told(answer);
            end_one();
        });
    }

    /// Something else that belongs to it begins and ends.
    void begin_one() { ++missing_; }
    void end_one() {
        --missing_;
        call_when_done();
    }

    /// Calls `done()` once, when all has its answer; at once if all has. `done` may end the batch.
    void when_done(std::function<void()> done) {
        done_ = std::move(done);
        call_when_done();
    }

private:
    void call_when_done() {
        if (!done_ || missing_ != 0) return;
        const std::function<void()> done = std::exchange(done_, nullptr);
        done();
    }

    smp_channel& smps_;
    std::size_t missing_ = 0;
    std::function<void()> done_;
};

} // namespace irpverbs::subnet_manager
