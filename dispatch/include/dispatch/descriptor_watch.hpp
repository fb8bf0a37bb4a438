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
/// the routine returns false. The calls run on the machine's context(), one at a time, at
/// PASSIVE_LEVEL.
/// Ownership: the descriptor stays the caller's and must be open as long as the watch exists; it
/// becomes non-blocking. IRQL: PASSIVE_LEVEL.
/// Null: the machine is simulated and has no descriptors, or the descriptor is not open.
NT_API std::unique_ptr<descriptor_watch>
watch_readable(machine& on, int descriptor, bool (*readable)(void* context), void* context);

} // namespace irpverbs::dispatch
