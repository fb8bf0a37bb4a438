// The verbs: each fills the next stack location and sends it to the FDO.
#include "request.hpp"

namespace {

using namespace irpverbs::ci;

NTSTATUS send(DEVICE_OBJECT* device, IRP* irp, HCA_MINOR_FUNCTION minor, const parameters& with) {
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->MinorFunction = static_cast<UCHAR>(minor);
    next->Flags = 0;
    parameters_of(next) = with;
    return IoCallDriver(device, irp);
}

// The device of objects that do not exist: every IRP goes to one, and is completed there.
NTSTATUS refuse(DEVICE_OBJECT*, IRP* irp) {
    irp->IoStatus.Status = STATUS_INVALID_PARAMETER;
    irp->IoStatus.Information = 0;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_INVALID_PARAMETER;
}

constexpr DRIVER_OBJECT refusing_driver() {
    DRIVER_OBJECT made{};
    made.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = refuse;
    return made;
}
constinit DRIVER_OBJECT nobody = refusing_driver();

constexpr DEVICE_OBJECT refusing_device() {
    DEVICE_OBJECT made{};
    made.StackSize = 1;
    made.Header.ReferenceCount = 1;
    made.DriverObject = &nobody;
    return made;
}
constinit DEVICE_OBJECT nowhere = refusing_device();

NTSTATUS send(IB_CA* ca, IRP* irp, HCA_MINOR_FUNCTION minor, const void* buffer = nullptr,
              ULONG_PTR number = 0, ULONG_PTR port = 0) {
    DEVICE_OBJECT* device = ca != nullptr ? reinterpret_cast<HCA_CA*>(ca)->Device : &nowhere;
    return send(device, irp, minor, {ca, const_cast<void*>(buffer), number, port});
}

NTSTATUS send(IB_CQ* cq, IRP* irp, HCA_MINOR_FUNCTION minor, const void* buffer = nullptr,
              ULONG_PTR number = 0) {
    DEVICE_OBJECT* device = cq != nullptr ? reinterpret_cast<HCA_CQ*>(cq)->Ca->Device : &nowhere;
    return send(device, irp, minor, {cq, const_cast<void*>(buffer), number, 0});
}

NTSTATUS send(IB_MAD_AGENT* agent, IRP* irp, HCA_MINOR_FUNCTION minor,
              const void* buffer = nullptr) {
    DEVICE_OBJECT* device =
        agent != nullptr ? reinterpret_cast<HCA_MAD_AGENT*>(agent)->Ca->Device : &nowhere;
    return send(device, irp, minor, {agent, const_cast<void*>(buffer), 0, 0});
}

} // namespace

extern "C" {

NTSTATUS CiOpenCa(DEVICE_OBJECT* pHcaFdo, VOID* Context, const IB_CA_DISPATCH* Dispatch,
                  CI_UDATA* pUserData, IRP* pIrp) {
    creation wanted{Context, Dispatch, pUserData};
    return send(pHcaFdo != nullptr ? pHcaFdo : &nowhere, pIrp, HCA_MN_OPEN_CA,
                {nullptr, &wanted, 0, 0});
}

NTSTATUS CiCloseCa(IB_CA* pCa, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pCa, pIrp, HCA_MN_CLOSE_CA, pUserData);
}

NTSTATUS CiGetCaFatalEvent(IB_CA* pCa, IRP* pIrp) {
    return send(pCa, pIrp, HCA_MN_GET_CA_FATAL_EVENT);
}

NTSTATUS CiGetCaPortEvent(IB_CA* pCa, UCHAR PortNumber, IRP* pIrp) {
    return send(pCa, pIrp, HCA_MN_GET_CA_PORT_EVENT, nullptr, 0, PortNumber);
}

NTSTATUS CiQueryCa(IB_CA* pCa, SIZE_T AttrSize, IB_CA_ATTR* pAttr, IRP* pIrp) {
    return send(pCa, pIrp, HCA_MN_QUERY_CA, pAttr, AttrSize);
}

NTSTATUS CiQueryPort(IB_CA* pCa, UCHAR PortNumber, SIZE_T AttrSize, IB_PORT_ATTR* pAttr,
                     IRP* pIrp) {
    return send(pCa, pIrp, HCA_MN_QUERY_PORT, pAttr, AttrSize, PortNumber);
}

NTSTATUS CiModifyCa(IB_CA* pCa, ULONG Flags, const IB_MODIFY_CA* pModify, IRP* pIrp) {
    return send(pCa, pIrp, HCA_MN_MODIFY_CA, pModify, Flags);
}

NTSTATUS CiModifyPort(IB_CA* pCa, UCHAR PortNumber, ULONG Flags, const IB_MODIFY_PORT* pModify,
                      IRP* pIrp) {
    return send(pCa, pIrp, HCA_MN_MODIFY_PORT, pModify, Flags, PortNumber);
}

NTSTATUS CiCreateCq(IB_CA* pCa, ULONG NumCqes, VOID* Context, const IB_CQ_DISPATCH* Dispatch,
                    CI_UDATA* pUserData, IRP* pIrp) {
    creation wanted{Context, Dispatch, pUserData, NumCqes};
    return send(pCa, pIrp, HCA_MN_CREATE_CQ, &wanted);
}

NTSTATUS CiDestroyCq(IB_CQ* pCq, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pCq, pIrp, HCA_MN_DESTROY_CQ, pUserData);
}

NTSTATUS CiQueryCq(IB_CQ* pCq, SIZE_T AttrSize, IB_CQ_ATTR* pAttr, IRP* pIrp) {
    return send(pCq, pIrp, HCA_MN_QUERY_CQ, pAttr, AttrSize);
}

NTSTATUS CiResizeCq(IB_CQ* pCq, ULONG NumCqes, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pCq, pIrp, HCA_MN_RESIZE_CQ, pUserData, NumCqes);
}

NTSTATUS CiPollCq(IB_CQ* pCq, ULONG NumEntries, IB_WC* pEntries, IRP* pIrp) {
    return send(pCq, pIrp, HCA_MN_POLL_CQ, pEntries, NumEntries);
}

NTSTATUS CiArmCq(IB_CQ* pCq, ULONG Flags, IRP* pIrp) {
    return send(pCq, pIrp, HCA_MN_ARM_CQ, nullptr, Flags);
}

NTSTATUS CiGetCqCompEvent(IB_CQ* pCq, IRP* pIrp) {
    return send(pCq, pIrp, HCA_MN_GET_CQ_COMP_EVENT);
}

NTSTATUS CiGetCqAsyncEvent(IB_CQ* pCq, IRP* pIrp) {
    return send(pCq, pIrp, HCA_MN_GET_CQ_ASYNC_EVENT);
}

NTSTATUS CiRegisterMadAgent(IB_CA* pCa, const IB_MAD_AGENT_ATTR* pAttr, VOID* Context,
                            const IB_MAD_DISPATCH* Dispatch, IRP* pIrp) {
    creation wanted{Context, Dispatch, nullptr, 0, pAttr};
    return send(pCa, pIrp, HCA_MN_REGISTER_MAD_AGENT, &wanted);
}

NTSTATUS CiDeregisterMadAgent(IB_MAD_AGENT* pAgent, IRP* pIrp) {
    return send(pAgent, pIrp, HCA_MN_DEREGISTER_MAD_AGENT);
}

NTSTATUS CiModifyMadAgent(IB_MAD_AGENT* pAgent, const IB_MAD_KEYS* pKeys, IRP* pIrp) {
    return send(pAgent, pIrp, HCA_MN_MODIFY_MAD_AGENT, pKeys);
}

NTSTATUS CiSendMad(IB_MAD_AGENT* pAgent, const IB_MAD_SEND* pSend, IRP* pIrp) {
    return send(pAgent, pIrp, HCA_MN_SEND_MAD, pSend);
}

NTSTATUS CiGetMad(IB_MAD_AGENT* pAgent, IB_MAD_RECEIVE* pReceive, IRP* pIrp) {
    return send(pAgent, pIrp, HCA_MN_GET_MAD, pReceive);
}

} // extern "C"
