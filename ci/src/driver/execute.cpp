// Calls between a driver and the common half.
#include "driver_checks.hpp"
#include "objects/mad_agent.hpp"
#include "objects/qp_object.hpp"
#include "objects/srq_object.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

#include <bit>

using namespace irpverbs::ci;

namespace {

// An object that is being closed has no events.
void report(object& of, unsigned channel, IB_ASYNC_EVENT event) {
    if (!of.try_reference()) return;
    of.signal(channel, event);
    of.dereference();
}

struct event_range {
    IB_ASYNC_EVENT first;
    IB_ASYNC_EVENT last;
};

// Events of shared receive queues lie between those of queue pairs.
event_range qp_events_around(ULONG code) {
    if (code <= ULONG{IB_AE_SQ_DRAINED}) return {IB_AE_PATH_MIGRATED, IB_AE_SQ_DRAINED};
    if (code >= ULONG{IB_AE_XRC_DOMAIN_FATAL})
        return {IB_AE_XRC_DOMAIN_FATAL, IB_AE_INVALID_XRCETH};
    return {IB_AE_LAST_WQE_REACHED, IB_AE_PATH_MIGRATION_ERROR};
}

} // namespace

std::atomic<ULONG> irpverbs::ci::captured_devices{0};

extern "C" {

NTSTATUS HcaExecute(PIRP Irp) {
    IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(Irp);
    hca_device& device = device_of(location->DeviceObject);
    const verb& row = verb_of(location);
    NTSTATUS status = STATUS_FILE_FORCED_CLOSED;
    if (!device.failed.load() || row.does == action::ends)
        status = row.call(device, parameters_of(location), Irp);
    if (status == STATUS_PENDING) return status;
    return complete_executed(Irp, location, row, status, Irp->IoStatus.Information);
}

void HcaComplete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information) {
    IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(Irp);
    complete_executed(Irp, location, verb_of(location), Status, Information);
}

void HcaReportPortEvent(PDEVICE_OBJECT Device, UCHAR PortNumber, IB_ASYNC_EVENT Event) {
    hca_device& device = device_of(Device);
    check_reported_port(device, "HcaReportPortEvent", PortNumber);
    check_reported_event(device, "HcaReportPortEvent", std::bit_cast<ULONG>(Event),
                         IB_AE_PORT_ACTIVE, IB_AE_CLIENT_REREGISTER);
    device.signal(PortNumber, Event);
}

void HcaReportFatal(PDEVICE_OBJECT Device) { device_of(Device).fail(); }

void HcaReportCaPortEvent(HCA_CA* Ca, UCHAR PortNumber, IB_ASYNC_EVENT Event) {
    hca_device& device = device_of(Ca->Device);
    check_reported_port(device, "HcaReportCaPortEvent", PortNumber);
    check_reported_event(device, "HcaReportCaPortEvent", std::bit_cast<ULONG>(Event),
                         IB_AE_PORT_ACTIVE, IB_AE_CLIENT_REREGISTER);
    report(ca_object::of(Ca), PortNumber, Event);
}

void HcaReportCqCompletion(HCA_CQ* Cq) {
    report(cq_object::of(Cq), cq_object::completion_channel, IB_AE_NONE);
}

void HcaReportCqEvent(HCA_CQ* Cq, IB_ASYNC_EVENT Event) {
    check_reported_event(device_of(Cq->Ca->Device), "HcaReportCqEvent", std::bit_cast<ULONG>(Event),
                         IB_AE_CQ_ERROR, IB_AE_CQ_ERROR);
    report(cq_object::of(Cq), cq_object::async_channel, Event);
}

void HcaReportQpEvent(HCA_QP* Qp, IB_ASYNC_EVENT Event) {
    const ULONG code = std::bit_cast<ULONG>(Event);
    const event_range known = qp_events_around(code);
    check_reported_event(device_of(Qp->Pd->Ca->Device), "HcaReportQpEvent", code, known.first,
                         known.last);
    report(qp_object::of(Qp), qp_object::async_channel, Event);
}

void HcaSetQpPosts(HCA_QP* Qp, PFN_HCA_POST_SEND PostSend, PFN_HCA_POST_RECV PostRecv) {
    if (Qp->Create.h_sq_cq == nullptr) PostSend = refuse_sends;
    if (!has_receive_queue(Qp->Create)) PostRecv = refuse_receives;
    qp_object::of(Qp).posts.set(PostSend, PostRecv, device_of(Qp->Pd->Ca->Device).failed);
}

void HcaReportSrqEvent(HCA_SRQ* Srq, IB_ASYNC_EVENT Event) {
    const bool is_limit = Event == IB_AE_SRQ_LIMIT_REACHED;
    const IB_ASYNC_EVENT known = is_limit ? IB_AE_SRQ_LIMIT_REACHED : IB_AE_SRQ_FATAL;
    check_reported_event(device_of(Srq->Pd->Ca->Device), "HcaReportSrqEvent",
                         std::bit_cast<ULONG>(Event), known, known);
    report(srq_object::of(Srq), srq_object::async_channel, Event);
}

void HcaSetSrqPost(HCA_SRQ* Srq, PFN_HCA_POST_RECV PostRecv) {
    srq_object::of(Srq).post.set(PostRecv, device_of(Srq->Pd->Ca->Device).failed);
}

void HcaReportMad(HCA_MAD_AGENT* Agent, const IB_MAD_RECEIVED* Received) {
    mad_agent_object& agent = mad_agent_object::of(Agent);
    if (!agent.try_reference()) return;
    device_of(Agent->Ca->Device)
        .observer.notify(&traffic_observer::received, Agent->Agent, *Received);
    agent.receive(*Received);
    agent.dereference();
}

void HcaReportMadsLost(HCA_MAD_AGENT* Agent, ULONG Count) {
    mad_agent_object& agent = mad_agent_object::of(Agent);
    if (!agent.try_reference()) return;
    agent.add_lost(Count);
    agent.dereference();
}

BOOLEAN HcaIsCaptured(PDEVICE_OBJECT Device) NT_NOEXCEPT {
    return device_of(Device).observer.exists();
}

void HcaReportPacket(PDEVICE_OBJECT Device, UCHAR PortNumber, const VOID* Packet, SIZE_T Length) {
    const std::span packet(static_cast<const std::uint8_t*>(Packet), Length);
    device_of(Device).observer.notify(&traffic_observer::passed, PortNumber, packet);
}

BOOLEAN HcaIsFailed(PDEVICE_OBJECT Device) NT_NOEXCEPT { return device_of(Device).failed.load(); }

VOID* HcaDeviceExtension(PDEVICE_OBJECT Device) NT_NOEXCEPT {
    return static_cast<char*>(Device->DeviceExtension) + device_size;
}

const HCA_OPERATIONS* HcaDeviceOperations(const DEVICE_OBJECT* Device) NT_NOEXCEPT {
    return static_cast<const hca_device*>(Device->DeviceExtension)->description.Operations;
}

NTSTATUS HcaRefuseOpen(PDEVICE_OBJECT Device) {
    return device_of(Device).refuse_opens() ? STATUS_SUCCESS : STATUS_DEVICE_BUSY;
}

void HcaAllowOpen(PDEVICE_OBJECT Device) { device_of(Device).allow_opens(); }

} // extern "C"
