// Timers that are set, DPCs and work items that are queued, lookaside lists that are not deleted:
// what must not lie in memory that is freed or made something else. For the whole process, since
// memory is; noted while the pool is watched.
#pragma once

#include "processor_checks.hpp"

namespace irpverbs::dispatch::detail {

enum class live_kind : std::uint8_t { timer, dpc, work_item, lookaside };

/// The object becomes live now, by the caller.
void note_live(processor& self, live_kind kind, const void* object);
void forget_live(live_kind kind, const void* object);

/// Its initialisation is about to overwrite it.
void check_reinitialised(processor& self, live_kind kind, const void* object);

/// The memory is about to be given back: reports what is alive in it.
void check_live_objects(processor& self, const void* memory, std::size_t size);

/// Memory that was just allocated holds nothing, and a machine that is gone runs nothing.
void forget_live_objects(const void* memory, std::size_t size);
void forget_live_objects(const machine& gone);

} // namespace irpverbs::dispatch::detail
