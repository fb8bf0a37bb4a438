#include "interrupt_controller.hpp"

#include <dispatch/support/locals.hpp>

#include <algorithm>
#include <mutex>

namespace irpverbs::irp {
namespace {

IRPVERBS_REGISTERED_EARLY const dispatch::detail::machine_local<interrupt_controller>
    controllers(0);

// On x64 the level of a vector is a sixteenth of it.
constexpr ULONG vectors_of_a_level = 16;
constexpr ULONG first_vector = 0x50;
constexpr ULONG vectors = 0x60; // up to level 10

} // namespace

interrupt_controller& interrupt_controller::current() { return controllers.current(); }

bool interrupt_controller::connect(reference made) {
    const std::lock_guard guard(lock_);
    const bool refused =
        std::any_of(connected_.begin(), connected_.end(), [&](const reference& each) {
            return each->vector == made->vector && !(each->shared && made->shared);
        });
    if (!refused) connected_.push_back(std::move(made));
    return !refused;
}

interrupt_controller::reference interrupt_controller::disconnect(const KINTERRUPT* interrupt) {
    const std::lock_guard guard(lock_);
    const auto found =
        std::find_if(connected_.begin(), connected_.end(),
                     [interrupt](const reference& each) { return each.get() == interrupt; });
    if (found == connected_.end()) return nullptr;
    reference removed = std::move(*found);
    connected_.erase(found);
    return removed;
}

std::vector<interrupt_controller::reference> interrupt_controller::connected_to(ULONG vector) {
    std::vector<reference> found;
    const std::lock_guard guard(lock_);
    std::copy_if(connected_.begin(), connected_.end(), std::back_inserter(found),
                 [vector](const reference& each) { return each->vector == vector; });
    return found;
}

interrupt_line line_of(unsigned device) {
    const ULONG vector = first_vector + device % vectors;
    return {vector, static_cast<KIRQL>(vector / vectors_of_a_level)};
}

} // namespace irpverbs::irp
