// Live objects: timers that are set, queued DPCs and work items, and lookaside lists that are not
// deleted. Memory that holds one must not be freed or reused. There is one table for the process,
// as memory belongs to the process; objects are recorded while the pool is watched.
#pragma once

#include "processor_checks.hpp"

namespace irpverbs::dispatch::detail {

enum class live_object_kind : std::uint8_t { timer, dpc, work_item, lookaside };

/// Records that the caller makes the object live.
void add_live_object(processor& self, live_object_kind kind, const void* object);
void remove_live_object(live_object_kind kind, const void* object);

/// Reports a live object that its initialisation is about to overwrite.
void check_reinitialised(processor& self, live_object_kind kind, const void* object);

/// Reports the live objects in memory that is about to be freed.
void check_live_objects(processor& self, const void* memory, std::size_t size);

/// Forgets the objects in this memory: memory that was just allocated, or that of a machine that
/// has ended, holds no live object.
void clear_live_objects(const void* memory, std::size_t size);
void clear_live_objects(const machine& gone);

} // namespace irpverbs::dispatch::detail
