#include "tracing.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/support/locals.hpp>

#include <stdexcept>

namespace irpverbs::irp {
namespace verify {

trace_event event_of(const record& irp, trace_step step, int location,
                     std::uint32_t device_number) {
    trace_event what;
    what.step = step;
    what.irp = irp.generation;
    what.location = location;
    what.device_number = device_number;
    return what;
}

void trace(core::processor& self, irp_tracker& tracker, trace_event what) {
    what.processor = self.number;
    what.actor = actor_of(self);
    what.irql = self.irql;
    const std::lock_guard guard(tracker.lock);
    trace_log* log = tracker.recording;
    if (log == nullptr) return;
    if (log->events.size() == log->most) {
        ++log->dropped;
        return;
    }
    what.time = self.owner->interrupt_time();
    log->events.push_back(std::move(what));
}

void traced_step::end() noexcept {
    step_.ends = true;
    trace(self_, tracker_, std::move(step_));
}

} // namespace verify

struct trace_recorder::log : verify::trace_log {
    verify::irp_tracker& tracker;
    explicit log(verify::irp_tracker& its_tracker) : tracker(its_tracker) {}
};

trace_recorder::trace_recorder(dispatch::machine& recorded, std::size_t most)
    : log_(std::make_unique<log>(verify::core::records_of<verify::irp_tracker>(recorded))) {
    log_->most = most;
    {
        const std::lock_guard guard(log_->tracker.lock);
        if (log_->tracker.recording != nullptr)
            throw std::logic_error("the machine's IRPs are being recorded already");
        log_->tracker.recording = log_.get();
    }
    verify::begin_recording();
}

trace_recorder::~trace_recorder() {
    verify::end_recording();
    const std::lock_guard guard(log_->tracker.lock);
    log_->tracker.recording = nullptr;
}

std::vector<trace_event> trace_recorder::events() const {
    const std::lock_guard guard(log_->tracker.lock);
    return log_->events;
}

std::uint64_t trace_recorder::dropped() const {
    const std::lock_guard guard(log_->tracker.lock);
    return log_->dropped;
}

void trace_recorder::write(std::ostream& out, const trace_names& names) const {
    write_trace(out, events(), names, dropped());
}

} // namespace irpverbs::irp
