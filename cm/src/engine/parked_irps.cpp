#include "parked_irps.hpp"

#include "port.hpp"

namespace irpverbs::cm::engine {

namespace {

LIST_ENTRY& entry_of(IRP* irp) { return irp->Tail.Overlay.ListEntry; }
IRP* irp_of(const LIST_ENTRY* entry) {
    return CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry);
}

/// What DriverContext holds.
cm_port* port_of(IRP* irp) { return static_cast<cm_port*>(irp->Tail.Overlay.DriverContext[0]); }
port_object* target_of(IRP* irp) {
    return static_cast<port_object*>(irp->Tail.Overlay.DriverContext[1]);
}
verb verb_of(IRP* irp) {
    return static_cast<verb>(reinterpret_cast<ULONG_PTR>(irp->Tail.Overlay.DriverContext[2]));
}

} // namespace

// A canceller that runs after the routine is set waits for the lock, and finds the IRP in the list;
// an earlier canceller has set Cancel and found no routine.
bool parked_irps::park(IRP* irp, cm_port& at, verb which, port_object* target) {
    auto& context = irp->Tail.Overlay.DriverContext;
    context[0] = &at;
    context[1] = target;
    context[2] = reinterpret_cast<void*>(static_cast<ULONG_PTR>(which));
    IoSetCancelRoutine(irp, cancel);
    const bool late = __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) != 0;
    if (late && IoSetCancelRoutine(irp, nullptr) != nullptr) return false;
    IoMarkIrpPending(irp);
    intrusive_ptr_add_ref(&at);
    if (target != nullptr) intrusive_ptr_add_ref(target);
    InsertTailList(&list_, &entry_of(irp));
    return true;
}

// The caller holds references of its own to the port and to the target.
IRP* parked_irps::take() {
    for (LIST_ENTRY* each = list_.Flink; each != &list_; each = each->Flink) {
        IRP* const irp = irp_of(each);
        if (IoSetCancelRoutine(irp, nullptr) == nullptr) continue;
        RemoveEntryList(each);
        intrusive_ptr_release(port_of(irp));
        if (port_object* const target = target_of(irp)) intrusive_ptr_release(target);
        return irp;
    }
    return nullptr;
}

bool parked_irps::holds(verb which) const {
    for (const LIST_ENTRY* each = list_.Flink; each != &list_; each = each->Flink)
        if (verb_of(irp_of(each)) == which) return true;
    return false;
}

// A canceller unlinks its IRP, which must then be linked to itself.
void parked_irps::leave_to_cancellers() {
    while (!IsListEmpty(&list_))
        InitializeListHead(RemoveHeadList(&list_));
}

void parked_irps::cancel(DEVICE_OBJECT*, IRP* irp) {
    IoReleaseCancelSpinLock(irp->CancelIrql);
    const boost::intrusive_ptr<cm_port> at(port_of(irp), false);
    const boost::intrusive_ptr<port_object> target(target_of(irp), false);
    cm_port::guard locked(*at);
    RemoveEntryList(&entry_of(irp));
    if (target != nullptr)
        target->cancelled(irp, verb_of(irp), locked.fx);
    else
        locked.fx.complete(irp, STATUS_CANCELLED);
}

} // namespace irpverbs::cm::engine
