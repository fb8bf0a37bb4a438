#include "mad_agent.hpp"

#include "object_memory.hpp"
#include "parked_irps.hpp"

#include <dispatch/detail/checks.hpp>
#include <dispatch/detail/spin_lock.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::ci {

using dispatch::detail::spin_guard;

namespace {

constexpr ULONG kept_tag = 0x6D696349; // "Icim"
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

/// A datagram that arrived when no IRP waited, followed by its bytes.
struct kept_mad {
    LIST_ENTRY entry;
    IB_MAD_RECEIVED received;

    static kept_mad* make(const IB_MAD_RECEIVED& received) {
        auto* memory = static_cast<UCHAR*>(
            ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(kept_mad) + received.Length, kept_tag));
        if (memory == nullptr) return nullptr;
        UCHAR* data = memory + sizeof(kept_mad);
        std::copy_n(static_cast<const UCHAR*>(received.Data), received.Length, data);
        return new (memory) kept_mad{{}, {received.From, data, received.Length}};
    }
    static void free(kept_mad* mad) {
        if (mad != nullptr) ExFreePoolWithTag(mad, kept_tag);
    }
};

/// A datagram on its way to an IRP.
struct arrival {
    const IB_MAD_RECEIVED& received;
    ULONG lost = 0;           // datagrams lost before it
    bool stays = false;       // without an IRP it is queued, or lost
    kept_mad* copy = nullptr; // null without memory
};

/// The result for an IRP that is not pended: a datagram, or a status.
struct answer {
    NTSTATUS otherwise;
    kept_mad* taken = nullptr;
    ULONG lost = 0;
};

namespace {

kept_mad* first_of(const mad_line& line) {
    if (IsListEmpty(&line.kept)) return nullptr;
    return CONTAINING_RECORD(line.kept.Flink, kept_mad, entry);
}

kept_mad* take_first(mad_line& line) {
    kept_mad* first = first_of(line);
    if (first == nullptr) return nullptr;
    RemoveEntryList(&first->entry);
    --line.count;
    return first;
}

} // namespace

void mad_agent_object::keep(arrival& mad) {
    line_.lost = std::exchange(mad.lost, 0);
    if (mad.copy == nullptr || line_.count >= limit()) {
        ++line_.lost;
        return;
    }
    InsertTailList(&line_.kept, &mad.copy->entry);
    ++line_.count;
    mad.copy = nullptr;
}

mad_agent_object::mad_agent_object() : object(own_lock_, nullptr, 0) {
    InitializeListHead(&line_.waiting);
    InitializeListHead(&line_.kept);
}

mad_agent_object* mad_agent_object::make(ca_object& ca, const create_parameters& wanted) {
    const HCA_DEVICE& description = ca.device().description;
    const object_memory<mad_agent_object> memory(0, description.MadAgentExtensionSize);
    if (memory.place == nullptr) return nullptr;
    auto* agent = new (memory.place) mad_agent_object;
    if (wanted.dispatch != nullptr)
        agent->call_ = static_cast<const IB_MAD_DISPATCH*>(wanted.dispatch)->Received;
    agent->shared.Agent.Attr = *static_cast<const IB_MAD_AGENT_ATTR*>(wanted.attributes);
    agent->shared.Ca = &ca.shared;
    agent->shared.Context = wanted.context;
    agent->shared.Extension = memory.extension;
    agent->shared.Reserved = static_cast<object*>(agent);
    dispatch::detail::introduce(agent, "mad agent");
    return agent;
}

void mad_agent_object::destroy(mad_agent_object* agent) {
    while (kept_mad* mad = take_first(agent->line_))
        kept_mad::free(mad);
    free_object(agent);
}

void mad_agent_object::cancel_waiting() { cancel_all(line_.waiting); }

ULONG mad_agent_object::limit() const {
    const ULONG wanted = shared.Agent.Attr.ReceiveLimit;
    return wanted != 0 ? wanted : default_limit;
}

// The search for an IRP and the insertion of the datagram are under one lock, or an IRP pended in
// between would miss the datagram.
IRP* mad_agent_object::take_waiter(arrival& mad) {
    const spin_guard guard(lock_);
    mad.lost += std::exchange(line_.lost, 0);
    IRP* waiter = take_parked(line_.waiting);
    if (waiter == nullptr && mad.stays) keep(mad);
    return waiter;
}

// Returns true if a waiting IRP took the datagram. IRPs whose buffer is too small complete on the
// way.
bool mad_agent_object::give_to_waiter(arrival& mad) {
    while (IRP* irp = take_waiter(mad)) {
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
    arrival mad{received};
    if (give_to_waiter(mad)) return;
    mad.stays = true;
    mad.copy = kept_mad::make(received);
    give_to_waiter(mad);
    kept_mad::free(mad.copy);
}

NTSTATUS mad_agent_object::get(IB_MAD_RECEIVE& into, IRP* irp, NTSTATUS otherwise) {
    if (call_ != nullptr) return complete(irp, STATUS_INVALID_DEVICE_REQUEST, 0);
    answer told{otherwise};
    const NTSTATUS status = take_kept_or_park(into, irp, told);
    if (status == STATUS_PENDING) return status;
    if (told.taken == nullptr) return complete(irp, status, 0);
    copy(told.taken->received, told.lost, into);
    kept_mad::free(told.taken);
    return complete(irp, STATUS_SUCCESS, into.Length);
}

// STATUS_PENDING: the IRP is pended.
NTSTATUS mad_agent_object::take_kept_or_park(IB_MAD_RECEIVE& into, IRP* irp, answer& told) {
    const spin_guard guard(lock_);
    if (closing()) return STATUS_CANCELLED;
    if (const kept_mad* first = first_of(line_)) {
        into.Length = first->received.Length;
        if (!fits(first->received, into)) return STATUS_BUFFER_OVERFLOW;
        told.taken = take_first(line_);
        told.lost = std::exchange(line_.lost, 0);
        return STATUS_SUCCESS;
    }
    if (!NT_SUCCESS(told.otherwise)) return told.otherwise;
    return park(line_.waiting, lock_, irp) ? STATUS_PENDING : STATUS_CANCELLED;
}

} // namespace irpverbs::ci
