// Management transactions as a user would write them with Asio: a pended operation with a handler,
// a steady_timer for each, and an unordered_map from id to both.
#include "asio_pended.hpp"
#include "measurements.hpp"
#include "transaction_load.hpp"

#include <unordered_map>
#include <vector>

namespace irpverbs::bench {
namespace {

class asio_transactions {
public:
    explicit asio_transactions(std::size_t count) : ids_(count) {
        waiting_.reserve(count);
        timers_.reserve(count);
        for (std::size_t i = 0; i < count; ++i)
            timers_.emplace_back(context_);
    }
    void begin(std::size_t index) {
        const std::uint64_t id = ++last_id_;
        ids_[index] = id;
        async_pend(context_, pended_, [this](error_code, std::size_t) { ++responses_; });
        asio::steady_timer& timer = timers_[index];
        timer.expires_after(std::chrono::seconds(4000));
        timer.async_wait([](error_code) {});
        waiting_.emplace(id, &timer);
    }
    // The oldest one is answered, which is the first of the list.
    void respond(std::size_t index) {
        const auto found = waiting_.find(ids_[index]);
        found->second->cancel();
        waiting_.erase(found);
        pended_.pop()->complete({}, 42);
    }
    void turn() { context_.poll(); }
    std::uint64_t responses() const { return responses_; }

private:
    asio::io_context context_;
    asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
    pended_list pended_;
    std::vector<std::uint64_t> ids_;
    std::vector<asio::steady_timer> timers_;
    std::unordered_map<std::uint64_t, asio::steady_timer*> waiting_;
    std::uint64_t last_id_ = 0;
    std::uint64_t responses_ = 0;
};

} // namespace

void add_asio_transactions(catalog& all) { add_transaction_load<asio_transactions>(all, "asio"); }

} // namespace irpverbs::bench
