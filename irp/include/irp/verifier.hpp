/// The verifier in C++: options for a scope, and the sweep of forced pending.
#pragma once

#include <irp/verifier.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace irpverbs::irp {

/// Configures the verifier (VerifierConfigure) for its lifetime; the destructor turns all checks
/// off. Throws std::invalid_argument, with VerifierMessage(), for wrong options.
class verifier_scope {
public:
    explicit verifier_scope(const std::string& options) {
        if (!NT_SUCCESS(VerifierConfigure(options.c_str())))
            throw std::invalid_argument(VerifierMessage());
    }
    ~verifier_scope() { VerifierConfigure(""); }
    verifier_scope(const verifier_scope&) = delete;
    verifier_scope& operator=(const verifier_scope&) = delete;
};

struct force_pending_summary {
    std::uint64_t runs = 0;  // including the run without a forced pend
    std::uint64_t sites = 0; // distinct pairs: call site of IoCallDriver, dispatch routine
};

namespace detail {

/// At most one sweep runs in the process.
class NT_API force_pending_runs {
public:
    force_pending_runs();
    ~force_pending_runs();
    force_pending_runs(const force_pending_runs&) = delete;
    force_pending_runs& operator=(const force_pending_runs&) = delete;

    /// Prepares the next run. False: every site was forced once.
    bool next();
    force_pending_summary summary() const;

private:
    std::uint64_t runs_ = 1;
};

} // namespace detail

/// Calls `body()` until each call site of IoCallDriver that it reaches completed inline once and
/// pended once. For a forced pend, the IRP that the driver below completed at once reaches the
/// caller later, from a DPC on another processor, and IoCallDriver returns STATUS_PENDING. The body
/// checks its own invariants in both cases. It may run explorations of its own
/// (dispatch/testing/explore.hpp).
template <class Body>
force_pending_summary force_pending_sweep(Body&& body) {
    detail::force_pending_runs turns;
    do
        body();
    while (turns.next());
    return turns.summary();
}

} // namespace irpverbs::irp
