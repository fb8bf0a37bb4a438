#include "multicast_attachments.hpp"

#include "adapter.hpp"
#include "queue_pair.hpp"

#include "roce/ethernet_port.hpp"

#include <memory>
#include <new>

namespace irpverbs::hca_software {

namespace {

qp_traffic& traffic_of(const attachment& of) { return of.qp.hca.traffic(); }

roce::ethernet_port& ethernet_of(const attachment& of) {
    return *of.qp.hca.own_node().ports[1].ethernet;
}

NTSTATUS add(attachment& made) {
    if (traffic_of(made).attach(made)) return STATUS_SUCCESS;
    std::destroy_at(&made);
    return STATUS_INSUFFICIENT_RESOURCES;
}

void remove(attachment& ended) {
    traffic_of(ended).detach(ended);
    std::destroy_at(&ended);
}

// ---- on Ethernet: the port joins and leaves the group at PASSIVE_LEVEL

NTSTATUS pend(attachment& changed, IRP* irp, PWORKER_THREAD_ROUTINE routine) {
    changed.pending = irp;
    IoMarkIrpPending(irp);
    ExInitializeWorkItem(&changed.work, routine, &changed);
    ExQueueWorkItem(&changed.work, DelayedWorkQueue);
    return STATUS_PENDING;
}

void join_and_add(void* context) {
    auto& made = *static_cast<attachment*>(context);
    roce::ethernet_port& at = ethernet_of(made);
    IRP* const irp = made.pending;
    const ib_gid_t group = made.gid;
    NTSTATUS status = at.join(group);
    if (NT_SUCCESS(status)) {
        status = add(made);
        if (!NT_SUCCESS(status)) at.leave(group);
    } else {
        std::destroy_at(&made);
    }
    HcaComplete(irp, status, 0);
}

void remove_and_leave(void* context) {
    auto& ended = *static_cast<attachment*>(context);
    IRP* const irp = ended.pending;
    ethernet_of(ended).leave(ended.gid);
    remove(ended);
    HcaComplete(irp, STATUS_SUCCESS, 0);
}

} // namespace

NTSTATUS attach_mcast(HCA_MCAST* mcast, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    queue_pair& qp = queue_pair::of(mcast->Qp);
    const bool on_ethernet = qp.hca.is_on_ethernet();
    const ib_lid_t lid = on_ethernet ? roce::group_lid : mcast->Mcast.Lid;
    auto& made = *new (mcast->Extension) attachment(qp, mcast->Mcast.Gid, lid);
    return on_ethernet ? pend(made, irp, join_and_add) : add(made);
}

NTSTATUS detach_mcast(HCA_MCAST* mcast, CI_UDATA* user, PIRP irp) {
    HcaCopyUserData(user, nullptr, 0);
    auto& ended = *static_cast<attachment*>(mcast->Extension);
    if (ended.qp.hca.is_on_ethernet()) return pend(ended, irp, remove_and_leave);
    remove(ended);
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_software
