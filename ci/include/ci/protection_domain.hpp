/// A protection domain that deallocates itself.
#pragma once

#include <ci/detail/object_handle.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_pd(IB_PD* pd, IRP* irp) { return CiDeallocatePd(pd, nullptr, irp); }

} // namespace detail

/// allocate_pd makes it. It is moved, not copied, converts to the IB_PD* that every verb takes, and
/// keeps its channel adapter open. The destructor deallocates the domain asynchronously, after its
/// regions and queue pairs have ended. IRQL: <= DISPATCH_LEVEL.
class protection_domain : public detail::object_handle<IB_PD, detail::close_pd> {
public:
    protection_domain() noexcept = default;

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::ci
