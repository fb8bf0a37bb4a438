/// A memory region that deregisters itself.
#pragma once

#include <ci/detail/object_handle.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_mr(IB_MR* mr, IRP* irp) { return CiDeregisterMr(mr, nullptr, irp); }

} // namespace detail

/// register_mr, register_pmr, register_smr and allocate_frmr make it. It is moved, not copied,
/// converts to the IB_MR* that every verb takes, and keeps its protection domain, and the region
/// whose pages it shares. The destructor deregisters the region
/// asynchronously: the memory must outlive that, so a program that frees the memory awaits
/// async_close before. IRQL: <= DISPATCH_LEVEL.
class memory_region : public detail::object_handle<IB_MR, detail::close_mr> {
public:
    memory_region() noexcept = default;

    /// The handle is not empty.
    ULONG lkey() const noexcept { return static_cast<IB_MR*>(*this)->LKey; }
    ULONG rkey() const noexcept { return static_cast<IB_MR*>(*this)->RKey; }

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::ci
