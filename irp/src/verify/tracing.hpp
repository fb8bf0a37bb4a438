// The events for a trace_recorder.
#pragma once

#include "irp_tracker.hpp"

#include <irp/trace.hpp>

namespace irpverbs::irp::verify {

/// The events of a recorder, in the order in which they happened.
struct trace_log {
    std::size_t most = 0;
    std::vector<trace_event> events; // guarded by the tracker's lock
    std::uint64_t dropped = 0;       // likewise
};

trace_event event_of(const record& irp, trace_step step, int location, std::uint32_t device_number);

/// Records that a step of an IRP begins, or an instantaneous event. Not under the tracker's lock.
void trace(core::processor& self, irp_tracker& tracker, trace_event what);

/// A step that takes time: its lifetime is that of this object.
class traced_step {
public:
    traced_step(core::processor& self, irp_tracker& tracker, trace_event begins)
        : self_(self), tracker_(tracker), step_(std::move(begins)),
          recorded_(enabled(check::recording)) {
        if (recorded_) trace(self_, tracker_, step_);
    }
    ~traced_step() {
        if (recorded_) end();
    }
    traced_step(const traced_step&) = delete;
    traced_step& operator=(const traced_step&) = delete;

    void returned(NTSTATUS status) { step_.status = status; }

private:
    void end() noexcept;

    core::processor& self_;
    irp_tracker& tracker_;
    trace_event step_;
    bool recorded_;
};

} // namespace irpverbs::irp::verify
