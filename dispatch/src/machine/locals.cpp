#include "locals.hpp"

#include <dispatch/support/locals.hpp>
#include <dispatch/support/spin.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <mutex>

namespace irpverbs::dispatch::detail {

namespace {

constexpr std::size_t max_processor_locals = 8;

struct processor_entry {
    std::size_t offset;
    void (*drop)(void*);
};

struct machine_entry {
    unsigned rank;
    void (*drop)(void*);
};

constinit raw_spin_lock registering;
constinit std::array<processor_entry, max_processor_locals> of_processors{};
constinit machine_entry of_machines[machine::max_locals] = {};
constinit std::size_t processor_entries = 0;
constinit std::size_t bytes_used = 0;
constinit std::size_t machine_entries = 0;
constinit std::size_t record_entries = 0;

// No machine may exist yet, so there is nothing to report it by.
void require_room(bool is_there) {
    if (is_there) return;
    std::fputs("irpverbs: no room is left for the objects of a processor or machine\n", stderr);
    std::abort();
}

} // namespace

std::size_t register_processor_local(std::size_t size, void (*drop)(void*)) {
    const std::lock_guard guard(registering);
    const std::size_t offset = bytes_used;
    bytes_used += (size + alignof(void*) - 1) / alignof(void*) * alignof(void*);
    require_room(bytes_used <= sizeof(processor::locals) &&
                 processor_entries < std::size(of_processors));
    of_processors[processor_entries++] = {offset, drop};
    return offset;
}

std::size_t register_machine_local(unsigned rank, void (*drop)(void*)) {
    const std::lock_guard guard(registering);
    require_room(machine_entries < std::size(of_machines));
    of_machines[machine_entries] = {rank, drop};
    return machine_entries++;
}

std::size_t register_machine_records() {
    const std::lock_guard guard(registering);
    require_room(record_entries < max_machine_records);
    return record_entries++;
}

void drop_processor_locals(processor& self) {
    std::array<processor_entry, max_processor_locals> entries;
    {
        const std::lock_guard guard(registering);
        entries = of_processors;
    }
    for (const processor_entry& each : entries)
        if (each.drop != nullptr) each.drop(self.locals + each.offset);
}

std::array<machine_drop, machine::max_locals> machine_drops() {
    std::array<machine_drop, machine::max_locals> drops{};
    const std::lock_guard guard(registering);
    for (std::size_t i = 0; i < machine_entries; ++i)
        drops[i] = {i, of_machines[i].rank, of_machines[i].drop};
    std::ranges::sort(drops, std::ranges::greater(), &machine_drop::rank);
    return drops;
}

} // namespace irpverbs::dispatch::detail
