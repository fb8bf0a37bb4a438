/// Descriptors of the outside world, watched by a machine.
#pragma once

#include <dispatch/detail/platform.hpp>

#include <memory>

namespace irpverbs::dispatch {

class machine;

/// A descriptor that is being watched.
class NT_API descriptor_watch {
public:
    /// Lets the descriptor go: no call is made any more, and one that runs is waited for, unless
    /// this is inside it. IRQL: PASSIVE_LEVEL.
    virtual ~descriptor_watch();
    descriptor_watch(const descriptor_watch&) = delete;
    descriptor_watch& operator=(const descriptor_watch&) = delete;

protected:
    descriptor_watch() = default;
};

/// Has `readable(context)` called while the descriptor can be read, was hung up or is in error: on
/// the machine's context(), one call at a time, at PASSIVE_LEVEL, until it gives back false.
/// Ownership: the descriptor stays the caller's, open as long as the watch; it is made
/// non-blocking. IRQL: PASSIVE_LEVEL.
/// Null: a simulated machine, which has no outside world; not an open descriptor.
NT_API std::unique_ptr<descriptor_watch>
watch_readable(machine& on, int descriptor, bool (*readable)(void* context), void* context);

} // namespace irpverbs::dispatch
