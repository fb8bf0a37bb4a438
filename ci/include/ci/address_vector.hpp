/// An address vector that destroys itself.
#pragma once

#include <ci/detail/object_handle.hpp>

namespace irpverbs::ci {

namespace detail {

inline NTSTATUS close_av(IB_AV* av, IRP* irp) { return CiDestroyAv(av, nullptr, irp); }

} // namespace detail

/// create_av makes it. It is moved, not copied, converts to the IB_AV* that every verb takes, and
/// keeps its protection domain. IRQL: <= DISPATCH_LEVEL.
class address_vector : public detail::object_handle<IB_AV, detail::close_av> {
public:
    address_vector() noexcept = default;

private:
    friend struct detail::access;
    using object_handle::object_handle;
};

} // namespace irpverbs::ci
