#include "queue_handles.hpp"

#include "processor_checks.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/locals.hpp>

#include <mutex>

namespace irpverbs::dispatch::detail {

queue_handles& queue_handles::of(processor& self) { return records_of<queue_handles>(*self.owner); }

// A use of an earlier epoch does not count: it may have ended while no check was enabled.
std::optional<lock_holder> queue_handles::begin(const void* handle, const lock_holder& by) {
    const std::lock_guard guard(guard_);
    const auto [place, is_new] = in_use_.try_emplace(handle, by);
    if (is_new) return std::nullopt;
    if (place->second.epoch == by.epoch) return place->second;
    place->second = by;
    return std::nullopt;
}

void queue_handles::end(const void* handle) {
    const std::lock_guard guard(guard_);
    in_use_.erase(handle);
}

} // namespace irpverbs::dispatch::detail
