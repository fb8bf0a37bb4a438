/// A memory window that deallocates itself.
#pragma once

#include <ci/detail/object_handle.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_mw(IB_MW* mw, IRP* irp) { return CiDeallocateMw(mw, nullptr, irp); }

} // namespace detail

/// allocate_mw makes it. It is moved, not copied, converts to the IB_MW* that every verb takes, and
/// keeps its protection domain, and the region that it was allocated for. The destructor
/// deallocates the window asynchronously, which unbinds it. IRQL: <= DISPATCH_LEVEL.
class memory_window : public detail::object_handle<IB_MW, detail::close_mw> {
public:
    memory_window() noexcept = default;

    /// The handle is not empty.
    ULONG rkey() const noexcept { return static_cast<IB_MW*>(*this)->RKey; }

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::ci
