// The call sites that a sweep of forced pending has reached.
#pragma once

#include <compare>

namespace irpverbs::irp::verify {

/// The call site of IoCallDriver, and the dispatch routine that it calls.
struct call_site {
    const void* caller;
    const void* dispatch;
    auto operator<=>(const call_site&) const = default;
};

/// Records that the site was reached; true: it pends in this run.
bool sweep_forces(const call_site& where);

} // namespace irpverbs::irp::verify
