/// The verifier in C++: options for a scope, and the sweep of forced pending.
#pragma once

#include <irp/verifier.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace irpverbs::irp {

/// Verifies so (VerifierConfigure) while it lives, afterwards not at all. Throws
/// std::invalid_argument with what is wrong with the options.
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
    std::uint64_t runs = 0;  // the one without anything forced included
    std::uint64_t sites = 0; // distinct: who calls IoCallDriver, and which dispatch routine answers
};

namespace detail {

/// One sweep in the process at a time.
class NT_API force_pending_turns {
public:
    force_pending_turns();
    ~force_pending_turns();
    force_pending_turns(const force_pending_turns&) = delete;
    force_pending_turns& operator=(const force_pending_turns&) = delete;

    /// False: every site had its turn.
    bool next();
    force_pending_summary summary() const;

private:
    std::uint64_t runs_ = 1;
};

} // namespace detail

/// Calls `body()` until each call site of IoCallDriver that it reaches was inline once, and pended
/// once: its IRP, though completed at once by the driver below, then comes back later from a DPC on
/// another processor, and IoCallDriver returns STATUS_PENDING. What the body must keep to in either
/// case is for the body to check. It may run campaigns of its own (dispatch/explore.hpp).
template <class Body>
force_pending_summary force_pending_sweep(Body&& body) {
    detail::force_pending_turns turns;
    do
        body();
    while (turns.next());
    return turns.summary();
}

} // namespace irpverbs::irp
