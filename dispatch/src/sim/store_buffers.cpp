#include <dispatch/testing/store_buffers.hpp>

#include <dispatch/support/shared_word.hpp>

#include <deque>
#include <utility>
#include <vector>

namespace irpverbs::dispatch {

namespace {

using word = std::atomic<std::uint64_t>;

struct pending_store {
    word* to;
    std::uint64_t value;
};

struct buffer {
    const detail::processor* of;
    std::deque<pending_store> stores;

    void drain_one() {
        stores.front().to->store(stores.front().value, std::memory_order_release);
        stores.pop_front();
    }
    void drain() {
        while (!stores.empty())
            drain_one();
    }
};

} // namespace

struct testing::store_buffers::contents {
    sim_machine& run;
    std::function<void()> before_access;
    std::vector<buffer> buffers; // in the order of their actors' first stores

    buffer& own() {
        for (buffer& each : buffers)
            if (each.of == detail::current) return each;
        return buffers.emplace_back(buffer{detail::current, {}});
    }
    void drain_some() {
        for (buffer& each : buffers)
            while (!each.stores.empty() && run.random() % 2 == 0)
                each.drain_one();
    }
};

namespace {

thread_local testing::store_buffers::contents* active = nullptr;

// Returns the buffers of the run, or null.
testing::store_buffers::contents* before_access(const void* object) {
    if (active != nullptr && active->before_access) active->before_access();
    detail::sched_point(detail::point::interlocked, object);
    if (active != nullptr) active->drain_some();
    return active;
}

} // namespace

testing::store_buffers::store_buffers(sim_machine& run, std::function<void()> before_access)
    : contents_(new contents{run, std::move(before_access), {}}) {
    active = contents_.get();
}

testing::store_buffers::~store_buffers() {
    for (buffer& each : contents_->buffers)
        each.drain();
    active = nullptr;
}

std::uint64_t detail::shared_word::load_slow(std::memory_order order) const {
    if (auto* const late = before_access(this)) {
        const auto& own = late->own().stores;
        for (auto each = own.rbegin(); each != own.rend(); ++each)
            if (each->to == &value_) return each->value;
    }
    return value_.load(order);
}

void detail::shared_word::store_slow(std::uint64_t value, std::memory_order order) {
    if (auto* const late = before_access(this))
        late->own().stores.push_back({&value_, value});
    else
        value_.store(value, order);
}

void detail::shared_fence_slow() {
    if (auto* const late = before_access(nullptr)) late->own().drain();
}

} // namespace irpverbs::dispatch
