// From a verb's IRP to the driver's operation.
#include "device.hpp"
#include "driver_checks.hpp"
#include "mad_agent.hpp"
#include "request.hpp"

namespace {

using namespace irpverbs::ci;

constexpr NTSTATUS hole = STATUS_NOT_SUPPORTED;

// There is no operation to tell the user anything.
NTSTATUS untold(CI_UDATA* user, NTSTATUS status) {
    HcaReturnUserData(user, nullptr, 0);
    return status;
}

NTSTATUS call_for_ca(const HCA_OPERATIONS& calls, HCA_MINOR_FUNCTION minor, const parameters& with,
                     IRP* irp) {
    auto* ca = static_cast<HCA_CA*>(with.object);
    const auto flags = static_cast<ULONG>(with.number);
    const auto port = static_cast<UCHAR>(with.port);
    auto* user_data = static_cast<CI_UDATA*>(with.buffer);
    switch (minor) {
    case HCA_MN_OPEN_CA:
        return calls.OpenCa ? calls.OpenCa(ca, user_data, irp) : untold(user_data, STATUS_SUCCESS);
    case HCA_MN_CLOSE_CA:
        return calls.CloseCa ? calls.CloseCa(ca, user_data, irp)
                             : untold(user_data, STATUS_SUCCESS);
    case HCA_MN_QUERY_CA:
        if (!calls.QueryCa) return hole;
        return calls.QueryCa(ca, static_cast<IB_CA_ATTR*>(with.buffer), with.number, irp);
    case HCA_MN_QUERY_PORT:
        if (!calls.QueryPort) return hole;
        return calls.QueryPort(ca, port, static_cast<IB_PORT_ATTR*>(with.buffer), with.number, irp);
    case HCA_MN_MODIFY_CA:
        if (!calls.ModifyCa) return hole;
        return calls.ModifyCa(ca, flags, static_cast<const IB_MODIFY_CA*>(with.buffer), irp);
    case HCA_MN_MODIFY_PORT:
        if (!calls.ModifyPort) return hole;
        return calls.ModifyPort(ca, port, flags, static_cast<const IB_MODIFY_PORT*>(with.buffer),
                                irp);
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

NTSTATUS poll_cq(const HCA_OPERATIONS& calls, HCA_CQ* cq, ULONG count, void* entries, IRP* irp) {
    if (!calls.PollCq) return hole;
    ULONG taken = 0;
    const NTSTATUS status = calls.PollCq(cq, count, static_cast<IB_WC*>(entries), &taken);
    irp->IoStatus.Information = taken;
    return status;
}

NTSTATUS call_for_cq(const HCA_OPERATIONS& calls, HCA_MINOR_FUNCTION minor, const parameters& with,
                     IRP* irp) {
    auto* cq = static_cast<HCA_CQ*>(with.object);
    const auto number = static_cast<ULONG>(with.number);
    auto* user_data = static_cast<CI_UDATA*>(with.buffer);
    switch (minor) {
    case HCA_MN_CREATE_CQ:
        return calls.CreateCq ? calls.CreateCq(cq, user_data, irp) : untold(user_data, hole);
    case HCA_MN_DESTROY_CQ:
        return calls.DestroyCq ? calls.DestroyCq(cq, user_data, irp)
                               : untold(user_data, STATUS_SUCCESS);
    case HCA_MN_QUERY_CQ:
        if (!calls.QueryCq) return hole;
        return calls.QueryCq(cq, static_cast<IB_CQ_ATTR*>(with.buffer), with.number, irp);
    case HCA_MN_RESIZE_CQ:
        return calls.ResizeCq ? calls.ResizeCq(cq, number, user_data, irp)
                              : untold(user_data, hole);
    case HCA_MN_POLL_CQ:
        return poll_cq(calls, cq, number, with.buffer, irp);
    case HCA_MN_ARM_CQ:
        return calls.ArmCq ? calls.ArmCq(cq, number, irp) : hole;
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

// Shown before it goes: the answer may be here before the driver is back. Apart, so that verbs
// don't pay for its registers.
[[gnu::noinline]] NTSTATUS send_mad(const HCA_OPERATIONS& calls, HCA_MAD_AGENT& by,
                                    const IB_MAD_SEND& what, IRP* irp) {
    device_of(by.Ca->Device).tap.show(&mad_tap::sent, by.Agent, what);
    return calls.SendMad(&by, &what, irp);
}

NTSTATUS call_for_agent(const HCA_OPERATIONS& calls, HCA_MINOR_FUNCTION minor,
                        const parameters& with, IRP* irp) {
    auto* agent = static_cast<HCA_MAD_AGENT*>(with.object);
    switch (minor) {
    case HCA_MN_REGISTER_MAD_AGENT:
        if (has_own_qp(agent->Agent.Attr) && !calls.ModifyMadAgent) return hole;
        return calls.RegisterMadAgent ? calls.RegisterMadAgent(agent, irp) : hole;
    case HCA_MN_DEREGISTER_MAD_AGENT:
        return calls.DeregisterMadAgent ? calls.DeregisterMadAgent(agent, irp) : STATUS_SUCCESS;
    case HCA_MN_SEND_MAD:
        if (!calls.SendMad) return hole;
        return send_mad(calls, *agent, *static_cast<const IB_MAD_SEND*>(with.buffer), irp);
    case HCA_MN_MODIFY_MAD_AGENT:
        if (!calls.ModifyMadAgent) return hole;
        return calls.ModifyMadAgent(agent, static_cast<const IB_MAD_KEYS*>(with.buffer), irp);
    default:
        return STATUS_INVALID_DEVICE_REQUEST;
    }
}

NTSTATUS call(const HCA_OPERATIONS& calls, HCA_MINOR_FUNCTION minor, const parameters& with,
              IRP* irp) {
    if (minor < HCA_MN_CREATE_CQ) return call_for_ca(calls, minor, with, irp);
    if (minor < HCA_MN_REGISTER_MAD_AGENT) return call_for_cq(calls, minor, with, irp);
    return call_for_agent(calls, minor, with, irp);
}

} // namespace

extern "C" {

NTSTATUS HcaExecute(PIRP Irp) {
    IO_STACK_LOCATION* location = IoGetCurrentIrpStackLocation(Irp);
    const hca_device& device = device_of(location->DeviceObject);
    const auto minor = static_cast<HCA_MINOR_FUNCTION>(location->MinorFunction);
    const parameters& with = parameters_of(location);
    NTSTATUS status = STATUS_FILE_FORCED_CLOSED;
    if (!device.dead.load() || ends_an_object(minor))
        status = call(device.operations, minor, with, Irp);
    if (status == STATUS_PENDING) return status;
    return complete_executed(Irp, location, status, Irp->IoStatus.Information);
}

void HcaComplete(PIRP Irp, NTSTATUS Status, ULONG_PTR Information) {
    complete_executed(Irp, IoGetCurrentIrpStackLocation(Irp), Status, Information);
}

void HcaReportPortEvent(PDEVICE_OBJECT Device, UCHAR PortNumber, IB_ASYNC_EVENT Event) {
    hca_device& device = device_of(Device);
    check_reported_port(device, "HcaReportPortEvent", PortNumber);
    check_reported_event(device, "HcaReportPortEvent", Event, IB_AE_PORT_ACTIVE,
                         IB_AE_CLIENT_REREGISTER);
    device.signal(PortNumber, Event);
}

void HcaReportFatal(PDEVICE_OBJECT Device) { device_of(Device).die(); }

void HcaReportCqCompletion(HCA_CQ* Cq) {
    cq_object& cq = cq_object::of(Cq);
    if (!cq.enter()) return;
    cq.signal(cq_object::completion_channel, IB_AE_NONE);
    cq.leave();
}

void HcaReportCqEvent(HCA_CQ* Cq, IB_ASYNC_EVENT Event) {
    check_reported_event(device_of(Cq->Ca->Device), "HcaReportCqEvent", Event, IB_AE_CQ_ERROR,
                         IB_AE_CQ_ERROR);
    cq_object& cq = cq_object::of(Cq);
    if (!cq.enter()) return;
    cq.signal(cq_object::async_channel, Event);
    cq.leave();
}

void HcaReportMad(HCA_MAD_AGENT* Agent, const IB_MAD_RECEIVED* Received) {
    mad_agent_object& agent = mad_agent_object::of(Agent);
    if (!agent.enter()) return;
    device_of(Agent->Ca->Device).tap.show(&mad_tap::received, Agent->Agent, *Received);
    agent.receive(*Received);
    agent.leave();
}

BOOLEAN HcaIsDead(PDEVICE_OBJECT Device) NT_NOEXCEPT { return device_of(Device).dead.load(); }

VOID* HcaDeviceExtension(PDEVICE_OBJECT Device) NT_NOEXCEPT {
    return static_cast<char*>(Device->DeviceExtension) + device_size;
}

const HCA_OPERATIONS* HcaDeviceOperations(const DEVICE_OBJECT* Device) NT_NOEXCEPT {
    return static_cast<const hca_device*>(Device->DeviceExtension)->description.Operations;
}

NTSTATUS HcaRefuseOpen(PDEVICE_OBJECT Device) {
    return device_of(Device).refuse(true) ? STATUS_SUCCESS : STATUS_DEVICE_BUSY;
}

void HcaAllowOpen(PDEVICE_OBJECT Device) { device_of(Device).refuse(false); }

} // extern "C"
