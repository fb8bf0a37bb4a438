// Which call sites a sweep of forced pending has been to.
#pragma once

#include <compare>

namespace irpverbs::irp::verify {

/// Who calls IoCallDriver, and what answers there.
struct call_site {
    const void* caller;
    const void* dispatch;
    auto operator<=>(const call_site&) const = default;
};

/// Notes that the site was reached; true: it is its turn to pend.
bool sweep_wants(const call_site& where);

} // namespace irpverbs::irp::verify
