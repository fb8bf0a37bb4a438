// Objects that are active until they are ended, while the pool is checked. Memory that holds one of
// them must not be freed or reused, and a driver that started one must not be unloaded.
#pragma once

#include <dispatch/support/processor.hpp>

#include <cstdint>
#include <span>

namespace irpverbs::dispatch::detail {

/// Timers that are set, DPCs and work items that are queued, lookaside lists and ERESOURCEs that
/// are not deleted, system threads that have not ended, interrupts that are connected, devices that
/// are registered with WMI.
enum class live_object_kind : std::uint8_t {
    timer,
    dpc,
    work_item,
    lookaside,
    resource,
    thread,
    interrupt,
    wmi_registration,
};

/// Records that the caller makes the object live. There is one table for the process, as memory
/// belongs to the process. `routine`: the code that the object will call, or calls; null: none.
NT_API void add_live_object(processor& self, live_object_kind kind, const void* object,
                            const void* routine = nullptr);
NT_API void remove_live_object(live_object_kind kind, const void* object);

template <class Result, class... Parameters>
const void* routine_address(Result (*routine)(Parameters...)) {
    return reinterpret_cast<const void*>(routine);
}

/// Reports the live objects and the held locks that lie in the memory of a driver which was
/// unloaded, and the live objects whose routine lies there. `image`: the memory of its code and
/// variables.
NT_API void check_unloaded_image(std::span<const std::span<const char>> image);

} // namespace irpverbs::dispatch::detail
