#include <dispatch/descriptor_watch.hpp>

#include "watch_set.hpp"

#include <dispatch/support/locals.hpp>
#include <dispatch/support/spin_lock.hpp>

namespace irpverbs::dispatch {

namespace {

/// The watches of a machine, which exist from the first watch on.
class machine_watches {
public:
    std::shared_ptr<watch_set> made_for(boost::asio::io_context& where) {
        const detail::spin_guard guard(lock_);
        if (set_ == nullptr) set_ = watch_set::make(where);
        return set_;
    }
    std::shared_ptr<watch_set> existing() {
        const detail::spin_guard guard(lock_);
        return set_;
    }

private:
    KSPIN_LOCK lock_ = 0;
    std::shared_ptr<watch_set> set_; // guarded by lock_
};

IRPVERBS_REGISTERED_EARLY const detail::machine_local<machine_watches> watches(0);

std::shared_ptr<watch_set> watches_of(machine& on) {
    if (on.simulated()) return nullptr;
    const machine::scope inside(on);
    return watches.current().existing();
}

class asio_watch final : public descriptor_watch {
public:
    asio_watch(std::shared_ptr<watch_set> all, int descriptor, bool (*readable)(void*),
               void* context)
        : all_(std::move(all)), one_{descriptor, readable, context} {}
    ~asio_watch() override { all_->remove(one_); }

    bool begin() { return all_->add(one_); }

private:
    std::shared_ptr<watch_set> all_;
    watched one_;
};

} // namespace

descriptor_watch::~descriptor_watch() = default;

std::unique_ptr<descriptor_watch> watch_readable(machine& on, int descriptor,
                                                 bool (*readable)(void* context), void* context) {
    if (on.simulated()) return nullptr;
    boost::asio::io_context& where = on.context();
    const machine::scope inside(on);
    std::shared_ptr<watch_set> all = watches.current().made_for(where);
    if (all == nullptr) return nullptr;
    auto made = std::make_unique<asio_watch>(std::move(all), descriptor, readable, context);
    return made->begin() ? std::move(made) : nullptr;
}

int begin_serving(machine& on) {
    const std::shared_ptr<watch_set> all = watches_of(on);
    return all != nullptr ? all->begin_serving() : -1;
}

bool serve_watches(machine& on) {
    const std::shared_ptr<watch_set> all = watches_of(on);
    return all != nullptr && all->serve();
}

void end_serving(machine& on) {
    if (const std::shared_ptr<watch_set> all = watches_of(on)) all->end_serving();
}

void leave_watches(machine& on) {
    if (const std::shared_ptr<watch_set> all = watches_of(on)) all->leave();
}

} // namespace irpverbs::dispatch
