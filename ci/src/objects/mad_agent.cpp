#include "mad_agent.hpp"

#include "pended_irps.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::ci {

using dispatch::detail::spin_guard;

namespace {

constexpr ULONG mad_tag = 0x6D696349; // "Icim"
constexpr ULONG default_limit = 64;

bool fits(const IB_MAD_RECEIVED& received, const IB_MAD_RECEIVE& into) {
    return received.Length <= into.Size;
}

void copy(const IB_MAD_RECEIVED& received, ULONG lost, IB_MAD_RECEIVE& into) {
    into.Length = received.Length;
    into.Lost = lost;
    into.From = received.From;
    std::copy_n(static_cast<const UCHAR*>(received.Data), received.Length,
                static_cast<UCHAR*>(into.Data));
}

IB_MAD_RECEIVE& buffer_of(IRP* irp) {
    return *static_cast<IB_MAD_RECEIVE*>(parameters_of(IoGetCurrentIrpStackLocation(irp)).buffer);
}

} // namespace

queued_mad* queued_mad::make(const IB_MAD_RECEIVED& received) {
    auto* memory = static_cast<UCHAR*>(
        ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(queued_mad) + received.Length, mad_tag));
    if (memory == nullptr) return nullptr;
    UCHAR* data = memory + sizeof(queued_mad);
    std::copy_n(static_cast<const UCHAR*>(received.Data), received.Length, data);
    return new (memory) queued_mad({received.From, data, received.Length});
}

void queued_mad::free(queued_mad* mad) {
    if (mad != nullptr) ExFreePoolWithTag(mad, mad_tag);
}

/// A datagram on its way to an IRP.
struct incoming_mad {
    const IB_MAD_RECEIVED& received;
    ULONG lost = 0;             // datagrams lost before it
    bool may_queue = false;     // without an IRP it is queued, or lost
    queued_mad* copy = nullptr; // null without memory
};

/// The result for an IRP that is not pended: a datagram, or a status.
struct get_result {
    NTSTATUS otherwise;
    queued_mad* taken = nullptr;
    ULONG lost = 0;
};

namespace {

queued_mad* first_of(receive_queue& queue) {
    return queue.queued.empty() ? nullptr : &queue.queued.front();
}

queued_mad* remove_first(receive_queue& queue) {
    queued_mad* first = first_of(queue);
    if (first == nullptr) return nullptr;
    queue.queued.pop_front();
    --queue.count;
    return first;
}

} // namespace

void mad_agent_object::enqueue(incoming_mad& mad) {
    queue_.lost = std::exchange(mad.lost, 0);
    if (mad.copy == nullptr || queue_.count >= limit()) {
        ++queue_.lost;
        return;
    }
    queue_.queued.push_back(*mad.copy);
    ++queue_.count;
    mad.copy = nullptr;
}

mad_agent_object::mad_agent_object(event_channel* channels) : child_object(channels) {
    InitializeListHead(&queue_.waiting);
}

void mad_agent_object::set_up(const create_parameters& wanted, event_channel*) {
    if (wanted.dispatch != nullptr)
        call_ = static_cast<const IB_MAD_DISPATCH*>(wanted.dispatch)->Received;
    shared.Agent.Attr = *static_cast<const IB_MAD_AGENT_ATTR*>(wanted.attributes);
    shared.Context = wanted.context;
}

void mad_agent_object::tear_down() {
    while (queued_mad* mad = remove_first(queue_))
        queued_mad::free(mad);
}

void mad_agent_object::cancel_waiting() { cancel_all(queue_.waiting); }

ULONG mad_agent_object::limit() const {
    const ULONG wanted = shared.Agent.Attr.ReceiveLimit;
    return wanted != 0 ? wanted : default_limit;
}

// The search for an IRP and the insertion of the datagram are under one lock, or an IRP pended in
// between would miss the datagram.
IRP* mad_agent_object::remove_waiter(incoming_mad& mad) {
    const spin_guard guard(lock_);
    mad.lost += std::exchange(queue_.lost, 0);
    IRP* waiter = remove_pended(queue_.waiting);
    if (waiter == nullptr && mad.may_queue) enqueue(mad);
    return waiter;
}

// Returns true if a waiting IRP took the datagram. IRPs whose buffer is too small complete on the
// way.
bool mad_agent_object::deliver_to_waiter(incoming_mad& mad) {
    while (IRP* irp = remove_waiter(mad)) {
        IB_MAD_RECEIVE& into = buffer_of(irp);
        if (fits(mad.received, into)) {
            copy(mad.received, mad.lost, into);
            complete(irp, STATUS_SUCCESS, mad.received.Length);
            return true;
        }
        into.Length = mad.received.Length;
        complete(irp, STATUS_BUFFER_OVERFLOW, 0);
    }
    return false;
}

void mad_agent_object::receive(const IB_MAD_RECEIVED& received) {
    if (call_ != nullptr) {
        const KIRQL before = KeRaiseIrqlToDpcLevel();
        call_(&shared.Agent, shared.Context, &received);
        KeLowerIrql(before);
        return;
    }
    incoming_mad mad{received};
    if (deliver_to_waiter(mad)) return;
    mad.may_queue = true;
    mad.copy = queued_mad::make(received);
    deliver_to_waiter(mad);
    queued_mad::free(mad.copy);
}

void mad_agent_object::add_lost(ULONG count) {
    const spin_guard guard(lock_);
    queue_.lost += count;
}

NTSTATUS mad_agent_object::get(IB_MAD_RECEIVE& into, IRP* irp, NTSTATUS otherwise) {
    if (call_ != nullptr) return complete(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    get_result result{otherwise};
    const NTSTATUS status = remove_queued_or_pend(into, irp, result);
    if (status == STATUS_PENDING) return status;
    if (result.taken == nullptr) return complete(irp, status, 0);
    copy(result.taken->received, result.lost, into);
    queued_mad::free(result.taken);
    return complete(irp, STATUS_SUCCESS, into.Length);
}

// STATUS_PENDING: the IRP is pended.
NTSTATUS mad_agent_object::remove_queued_or_pend(IB_MAD_RECEIVE& into, IRP* irp,
                                                 get_result& result) {
    const spin_guard guard(lock_);
    if (closing()) return STATUS_CANCELLED;
    if (const queued_mad* first = first_of(queue_)) {
        into.Length = first->received.Length;
        if (!fits(first->received, into)) return STATUS_BUFFER_OVERFLOW;
        result.taken = remove_first(queue_);
        result.lost = std::exchange(queue_.lost, 0);
        return STATUS_SUCCESS;
    }
    if (!NT_SUCCESS(result.otherwise)) return result.otherwise;
    return pend(queue_.waiting, lock_, irp) ? STATUS_PENDING : STATUS_CANCELLED;
}

} // namespace irpverbs::ci
