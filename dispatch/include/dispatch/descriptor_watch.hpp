/// Watches of descriptors: a machine calls a routine while a descriptor of the operating system is
/// readable.
#pragma once

#include <dispatch/detail/platform.hpp>

#include <memory>

namespace irpverbs::dispatch {

class machine;

/// A watch of one descriptor.
class NT_API descriptor_watch {
public:
    /// Ends the watch: no later call is made. Waits for a call that runs, unless the destructor
    /// runs inside that call. IRQL: PASSIVE_LEVEL.
    virtual ~descriptor_watch();
    descriptor_watch(const descriptor_watch&) = delete;
    descriptor_watch& operator=(const descriptor_watch&) = delete;

protected:
    descriptor_watch() = default;
};

/// Calls `readable(context)` while the descriptor can be read, was hung up or is in error, until
/// the routine returns false. The calls of all watches of a machine run one at a time, at
/// PASSIVE_LEVEL, on its context() or on a thread that serves the watches.
/// Ownership: the descriptor stays the caller's and must be open as long as the watch exists; it
/// becomes non-blocking. IRQL: PASSIVE_LEVEL.
/// Null: the machine is simulated and has no descriptors, or the descriptor is not open.
NT_API std::unique_ptr<descriptor_watch>
watch_readable(machine& on, int descriptor, bool (*readable)(void* context), void* context);

/// Lets the calling thread make the calls in place of context(), until it calls end_serving(): a
/// thread that waits for something that they report needs no other thread then. It waits until the
/// returned descriptor is readable, too, and calls serve_watches(), and then begins again: a thread
/// that leaves calls undone for some time does not serve any longer.
/// Ownership: the descriptor is the machine's. IRQL: PASSIVE_LEVEL.
/// -1: the machine has no watches, or another thread makes the calls.
NT_API int begin_serving(machine& on);
/// Makes a call that is due. False: there was none, or the thread does not serve. IRQL:
/// PASSIVE_LEVEL.
NT_API bool serve_watches(machine& on);
/// Leaves the calls to context(), which makes them from some milliseconds later on, unless a thread
/// serves again. No effect on a thread that does not serve. IRQL: PASSIVE_LEVEL.
NT_API void end_serving(machine& on);
/// Like end_serving(), for a thread that waits for a call now without serving: context() makes the
/// calls at once, unless another thread serves. IRQL: PASSIVE_LEVEL.
NT_API void leave_watches(machine& on);

} // namespace irpverbs::dispatch
