// The end of the objects that packages registered with support/locals.hpp.
#pragma once

#include <dispatch/machine.hpp>
#include <dispatch/support/processor.hpp>

#include <array>
#include <cstddef>

namespace irpverbs::dispatch::detail {

inline constexpr std::size_t max_machine_records = 8;

void drop_processor_locals(processor& self);

struct machine_drop {
    std::size_t index;
    unsigned rank;
    void (*drop)(void*); // null: no such local
};

/// In the order in which they are to be dropped.
std::array<machine_drop, machine::max_locals> machine_drops();

} // namespace irpverbs::dispatch::detail
