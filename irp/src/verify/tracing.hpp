// The events for a trace_recorder.
#pragma once

#include "ledger.hpp"

#include <irp/trace.hpp>

namespace irpverbs::irp::verify {

/// The events of a recorder, in the order in which they happened.
struct trace_log {
    std::size_t most = 0;
    std::vector<trace_event> events; // guarded by the ledger's lock
    std::uint64_t dropped = 0;       // likewise
};

trace_event event_of(const record& irp, trace_step step, int location, std::uint32_t device_number);

/// Records that a step of an IRP begins, or an instantaneous event. Not under the ledger's lock.
void trace(core::processor& self, ledger& book, trace_event what);

/// A step that takes time: its lifetime is that of this object.
class traced_step {
public:
    traced_step(core::processor& self, ledger& book, trace_event begins)
        : self_(self), book_(book), step_(std::move(begins)), told_(watching(watch::recording)) {
        if (told_) trace(self_, book_, step_);
    }
    ~traced_step() {
        if (told_) end();
    }
    traced_step(const traced_step&) = delete;
    traced_step& operator=(const traced_step&) = delete;

    void returned(NTSTATUS status) { step_.status = status; }

private:
    void end() noexcept;

    core::processor& self_;
    ledger& book_;
    trace_event step_;
    bool told_;
};

} // namespace irpverbs::irp::verify
