#include "mad_agent.hpp"

#include "object_memory.hpp"

#include <dispatch/detail/checks.hpp>

#include <algorithm>
#include <utility>

namespace irpverbs::ci {

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

/// A datagram that nobody waited for, followed by its bytes.
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

/// A datagram that looks for an IRP.
struct arrival {
    const IB_MAD_RECEIVED& received;
    ULONG lost = 0;           // before it
    bool stays = false;       // when there is no IRP: kept, or lost
    kept_mad* copy = nullptr; // when there was memory
};

namespace {

// What an IRP that came for a datagram is told in place of being parked.
struct answer {
    NTSTATUS otherwise;
    kept_mad* taken = nullptr;
    ULONG lost = 0;
};

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

mad_agent_object::mad_agent_object() : object(nullptr, 0) {
    line_.waiting.prepare(*this, insert, peek);
    InitializeListHead(&line_.kept);
}

mad_agent_object* mad_agent_object::make(HCA_CA& ca, const creation& wanted) {
    const HCA_DEVICE& description = device_of(ca.Device).description;
    const object_memory<mad_agent_object> memory(0, description.MadAgentExtensionSize);
    if (memory.place == nullptr) return nullptr;
    auto* agent = new (memory.place) mad_agent_object;
    if (wanted.dispatch != nullptr)
        agent->call_ = static_cast<const IB_MAD_DISPATCH*>(wanted.dispatch)->Received;
    agent->shared.Agent.Attr = *wanted.agent;
    agent->shared.Ca = &ca;
    agent->shared.Context = wanted.context;
    agent->shared.Extension = memory.extension;
    agent->shared.Reserved = agent;
    dispatch::detail::introduce(agent, "mad agent");
    return agent;
}

void mad_agent_object::destroy(mad_agent_object* agent) {
    while (kept_mad* mad = take_first(agent->line_))
        kept_mad::free(mad);
    free_object(agent);
}

void mad_agent_object::cancel_waiting() { line_.waiting.cancel_all(); }

ULONG mad_agent_object::limit() const {
    const ULONG wanted = shared.Agent.Attr.ReceiveLimit;
    return wanted != 0 ? wanted : default_limit;
}

// True: a waiting IRP took it. IRPs whose buffer is too small for it complete on the way.
bool mad_agent_object::give_to_waiter(arrival& mad) {
    while (IRP* irp = IoCsqRemoveNextIrp(&line_.waiting.csq, &mad)) {
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
    const NTSTATUS status = IoCsqInsertIrpEx(&line_.waiting.csq, irp, nullptr, &told);
    if (NT_SUCCESS(status)) return STATUS_PENDING;
    if (told.taken == nullptr) return complete(irp, status, 0);
    copy(told.taken->received, told.lost, into);
    kept_mad::free(told.taken);
    return complete(irp, STATUS_SUCCESS, into.Length);
}

NTSTATUS mad_agent_object::insert(IO_CSQ* csq, IRP* irp, void* context) {
    mad_agent_object& self = of(csq);
    mad_line& line = self.line_;
    auto& told = *static_cast<answer*>(context);
    if (self.closing()) return STATUS_CANCELLED;
    if (const kept_mad* first = first_of(line)) {
        IB_MAD_RECEIVE& into = buffer_of(irp);
        into.Length = first->received.Length;
        if (!fits(first->received, into)) return STATUS_BUFFER_OVERFLOW;
        told.taken = take_first(line);
        told.lost = std::exchange(line.lost, 0);
        return STATUS_UNSUCCESSFUL;
    }
    if (!NT_SUCCESS(told.otherwise)) return told.otherwise;
    line.waiting.park(irp);
    return STATUS_SUCCESS;
}

// A datagram that nobody takes is kept under the same lock as the look for an IRP, or one parked in
// between would wait for the next.
IRP* mad_agent_object::peek(IO_CSQ* csq, IRP* irp, void* context) {
    mad_agent_object& self = of(csq);
    mad_line& line = self.line_;
    auto* mad = static_cast<arrival*>(context);
    if (mad != nullptr) mad->lost += std::exchange(line.lost, 0);
    if (IRP* next = line.waiting.after(irp)) return next;
    if (mad != nullptr && mad->stays) self.keep(*mad);
    return nullptr;
}

} // namespace irpverbs::ci
