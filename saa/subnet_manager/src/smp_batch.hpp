// A batch of SMPs whose common end is known, independent of other SMPs in flight.
#pragma once

#include "smp_channel.hpp"

#include <utility>

namespace irpverbs::subnet_manager {

/// Runs in tasks of the channel's queue. Must live until its end.
class smp_batch {
public:
    explicit smp_batch(smp_channel& smps) : smps_(smps) {}
    smp_batch(const smp_batch&) = delete;
    smp_batch& operator=(const smp_batch&) = delete;

    /// `handler` may send further SMPs.
    template <class Handler>
    void send(smp what, Handler handler) {
        begin_one();
        smps_.send(std::move(what),
                   [this, handler = std::move(handler)](const smp_response& response) {
                       handler(response);
                       end_one();
                   });
    }

    /// Begin and end another operation of the batch.
    void begin_one() { ++outstanding_; }
    void end_one() {
        --outstanding_;
        call_when_done();
    }

    /// Calls `done()` once, after the last response; at once if there is none outstanding. `done`
    /// may destroy the batch.
    void when_done(std::function<void()> done) {
        done_ = std::move(done);
        call_when_done();
    }

private:
    void call_when_done() {
        if (!done_ || outstanding_ != 0) return;
        const std::function<void()> done = std::exchange(done_, nullptr);
        done();
    }

    smp_channel& smps_;
    std::size_t outstanding_ = 0;
    std::function<void()> done_;
};

} // namespace irpverbs::subnet_manager
