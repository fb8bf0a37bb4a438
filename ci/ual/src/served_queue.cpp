#include "served_queue.hpp"

#include "served_connection.hpp"

#include <ci/data_path.h>
#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <span>

namespace irpverbs::ual {

using ci::crossing::completion_ring;
using ci::detail::descriptors;
using ci::wire::cq_descriptor;
using dispatch::detail::spin_guard;

namespace {

// Completions that one call of the HCA returns.
constexpr ULONG batch = 16;

auto& place_of(descriptors& passed, cq_descriptor which) {
    return passed[static_cast<std::size_t>(which)];
}

} // namespace

const IB_CQ_DISPATCH served_queue::up_calls = {.CompEvent = on_completion, .AsyncEvent = nullptr};

served_queue::served_queue(served_connection& owner, ring_quota& memory, ring_memory client_part,
                           ring first)
    : owner_(owner), memory_(memory), client_part_(std::move(client_part)), now_(std::move(first)),
      producer_(now_.part(), now_.slots, client_part_.as<completion_ring::client_part>()) {}

served_queue::ring served_queue::make_ring(ring_quota& memory, ULONG entries, descriptors& passed) {
    ring made;
    if (!can_have(entries)) return made;
    made.slots = std::bit_ceil(entries);
    made.memory = ring_memory(memory, completion_ring::size_of(made.slots),
                              ring_memory::others::may_read, place_of(passed, cq_descriptor::ring));
    return made;
}

std::unique_ptr<served_queue> served_queue::make(served_connection& owner, ring_quota& memory,
                                                 ULONG entries, descriptors& passed) {
    ring first = make_ring(memory, entries, passed);
    if (!first.memory) return nullptr;
    ring_memory words(memory, sizeof(completion_ring::client_part), ring_memory::others::may_write,
                      place_of(passed, cq_descriptor::client_part));
    if (!words) return nullptr;
    return std::unique_ptr<served_queue>(
        new (std::nothrow) served_queue(owner, memory, std::move(words), std::move(first)));
}

bool served_queue::begin(IB_CQ* queue) {
    queue_ = queue;
    grant();
    begun_ = NT_SUCCESS(CiArmCqNow(queue, IB_CQ_ARM_NEXT));
    return begun_;
}

// A driver may grant more entries than the ring has; the client must not count on them.
void served_queue::grant() { capacity_ = queue_->NumCqes = std::min(queue_->NumCqes, now_.slots); }

NTSTATUS served_queue::prepare_resize(ULONG entries, descriptors& passed) {
    if (filled() > entries) return STATUS_INVALID_PARAMETER;
    ring made = make_ring(memory_, entries, passed);
    if (!made.memory) return STATUS_INSUFFICIENT_RESOURCES;
    const spin_guard guard(lock_);
    if (next_.memory) return STATUS_DEVICE_BUSY;
    next_ = std::move(made);
    return STATUS_SUCCESS;
}

void served_queue::finish_resize(bool done) {
    ring unused;
    const spin_guard guard(lock_);
    if (done) {
        producer_.continue_in(next_.part(), next_.slots);
        std::swap(now_, next_);
        grant();
    }
    std::swap(unused, next_);
}

ULONG served_queue::filled() {
    const spin_guard guard(lock_);
    return static_cast<ULONG>(std::min<std::uint64_t>(producer_.filled(), now_.slots));
}

// An entry that arrives between the last poll and the arming makes another up-call with some HCAs,
// and none with others.
void served_queue::on_completion(VOID* context) {
    auto& self = *static_cast<served_queue*>(context);
    bool overrun = self.move();
    CiArmCqNow(self.queue_, IB_CQ_ARM_NEXT);
    overrun = self.move() || overrun;
    if (overrun) HcaReportCqEvent(reinterpret_cast<HCA_CQ*>(self.queue_), IB_AE_CQ_ERROR);
}

// Up-calls of a queue are made one at a time, so this polls alone. Returns true if the client has
// let the queue overrun.
bool served_queue::move() {
    std::array<IB_WC, batch> entries;
    bool overrun = false;
    bool any = false;
    bool any_solicited = false;
    for (ULONG taken = batch; taken == batch;) {
        if (!NT_SUCCESS(CiGetCqResults(queue_, batch, entries.data(), &taken)) || taken == 0) break;
        any = true;
        overrun = !append(entries.data(), taken, any_solicited) || overrun;
    }
    if (any && must_notify(any_solicited)) owner_.send_event();
    return overrun;
}

// False: the queue begins to be overrun.
bool served_queue::append(const IB_WC* entries, ULONG count, bool& any_solicited) {
    const std::uint64_t stores = owner_.stores(); // those of the entries were passed before
    const spin_guard guard(lock_);
    for (const IB_WC& each : std::span(entries, count)) {
        if (overrun_) break;
        if (!producer_.append(each, capacity_, stores)) {
            overrun_ = true;
            return false;
        }
        any_solicited = any_solicited || ci::crossing::is_solicited(each);
    }
    return true;
}

bool served_queue::must_notify(bool any_solicited) {
    const spin_guard guard(lock_);
    return producer_.must_notify(any_solicited);
}

} // namespace irpverbs::ual
