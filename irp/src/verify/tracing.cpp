#include "tracing.hpp"

#include <dispatch/machine.hpp>

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

void trace(core::processor& self, ledger& book, trace_event what) {
    what.processor = self.number;
    what.actor = actor_of(self);
    what.irql = self.irql;
    const std::lock_guard guard(book.lock);
    trace_log* log = book.recording;
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
    trace(self_, book_, std::move(step_));
}

} // namespace verify

struct trace_recorder::log : verify::trace_log {
    verify::ledger& book;
    explicit log(verify::ledger& its_book) : book(its_book) {}
};

trace_recorder::trace_recorder(dispatch::machine& recorded, std::size_t most)
    : log_(std::make_unique<log>(
          verify::core::ledger_of<verify::ledger>(recorded, verify::core::ledger_slot::irp))) {
    log_->most = most;
    {
        const std::lock_guard guard(log_->book.lock);
        if (log_->book.recording != nullptr)
            throw std::logic_error("the machine's IRPs are being recorded already");
        log_->book.recording = log_.get();
    }
    verify::begin_recording();
}

trace_recorder::~trace_recorder() {
    verify::end_recording();
    const std::lock_guard guard(log_->book.lock);
    log_->book.recording = nullptr;
}

std::vector<trace_event> trace_recorder::events() const {
    const std::lock_guard guard(log_->book.lock);
    return log_->events;
}

std::uint64_t trace_recorder::dropped() const {
    const std::lock_guard guard(log_->book.lock);
    return log_->dropped;
}

void trace_recorder::write(std::ostream& out, const trace_names& names) const {
    write_trace(out, events(), names, dropped());
}

} // namespace irpverbs::irp
