// Hooks by which the packages above observe machines and waits. dispatch calls the hooks, and does
// not depend on those packages.
#pragma once

#include <dispatch/bugcheck.h>

namespace irpverbs::dispatch {
class machine;
}

namespace irpverbs::dispatch::detail {

/// The callbacks of a package above. The structure lives for ever; a callback that is not wanted is
/// null.
struct machine_hooks {
    /// Called before the first machine of the process is made.
    void (*on_first_machine)() = nullptr;
    /// Called on a thread attached to the machine when it ends, its threads are done and no code
    /// runs on it any more. Only while the verifier is on. May report.
    void (*on_quiesced)(machine& ending) = nullptr;
    /// Called when the calling thread is about to wait for that object, and for no other, without a
    /// time-out. Null: the wait is over. Only while the verifier is on.
    void (*on_wait)(const void* object) = nullptr;
    /// Called when the calling thread sets that event. Only while the verifier is on.
    void (*on_event_set)(const void* event) = nullptr;
    /// Called while the pool is checked, when a caller frees memory that is no block of the checked
    /// pool as pool memory. True: the callback has reported it, and the memory must not be freed.
    bool (*on_pool_free)(const void* memory) = nullptr;
    /// Called when driver code that reports its loads and stores makes one elsewhere than on its
    /// stack. Only while the verifier is on.
    void (*on_access)(const void* address) = nullptr;
    machine_hooks* next = nullptr;
};

/// Registers the callbacks. Only before main, from a static object.
NT_API void add_machine_hooks(machine_hooks& hooks) noexcept;

void notify_first_machine();
void notify_quiesced(machine& ending);
void notify_wait(const void* object);
void notify_event_set(const void* event);
bool notify_pool_free(const void* memory);
void notify_access(const void* address);

/// Receives the report of each broken rule before the bug-check handler does. True: the report is
/// handled. Null: no filter.
using finding_filter = bool (*)(const BUG_CHECK_REPORT& report);
NT_API void set_finding_filter(finding_filter filter) noexcept;

} // namespace irpverbs::dispatch::detail
