// Boost.Asio's steady_timer: a binary heap in the context.
#include "measurements.hpp"
#include "timer_load.hpp"

#include <boost/asio.hpp>
#include <deque>
#include <random>
#include <vector>

namespace irpverbs::bench {
namespace {

namespace asio = boost::asio;
using std::chrono::hours;
using std::chrono::nanoseconds;

// The load's time begins far in the future, so no timer expires.
class asio_timers {
public:
    explicit asio_timers(std::size_t count) {
        timers_.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            timers_.emplace_back(context_);
    }
    void arm(std::size_t index, std::uint64_t deadline) {
        timers_[index].expires_at(beginning_ + nanoseconds(deadline));
        timers_[index].async_wait([](boost::system::error_code) {});
    }
    void cancel(std::size_t index) { timers_[index].cancel(); }
    void turn() { // delivers the aborted handlers sixty-four at a time
        if ((++turns_ & 63) == 0) context_.poll();
    }

private:
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    std::vector<asio::steady_timer> timers_;
    asio::steady_timer::time_point beginning_ = std::chrono::steady_clock::now() + hours(10000);
    unsigned turns_ = 0;
};

// Arms all timers with random times in the past, and times the delivery of their handlers.
template <std::size_t Count>
void expiry(run& sample) {
    const std::size_t count = sample.population(Count);
    std::mt19937_64 random(7);
    std::uint64_t total = 0;
    while (total < sample.operations()) {
        asio::io_context context(1);
        std::vector<asio::steady_timer> timers;
        timers.reserve(count);
        std::size_t fired = 0;
        const auto past = std::chrono::steady_clock::now() - hours(1);
        for (std::size_t i = 0; i < count; ++i) {
            timers.emplace_back(context, past + nanoseconds(random() % 1'000'000'000));
            timers.back().async_wait([&fired](boost::system::error_code) { ++fired; });
        }
        sample.start();
        while (fired < count)
            context.poll();
        sample.stop();
        total += count;
    }
    sample.did(total);
}

} // namespace

void add_asio_timers(catalog& all) {
    add_timer_load<asio_timers>(all, "asio");
    all.add("asio/timer_expiry_1e3", "one of 1e3 timers expires, its handler runs", expiry<1'000>);
    all.add("asio/timer_expiry_1e6", "one of 1e6 timers expires, its handler runs",
            expiry<1'000'000>);
}

} // namespace irpverbs::bench
