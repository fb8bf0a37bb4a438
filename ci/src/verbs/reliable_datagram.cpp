// The verbs of reliable datagrams: no HCA has them, so no driver sees them.
#include "null_device.hpp"

#include <ci/driver.h>
#include <ci/reliable_datagram.h>

namespace {

NTSTATUS refuse(IRP* irp, CI_UDATA* user) {
    HcaCopyUserData(user, nullptr, 0);
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->MinorFunction = 0; // no verb has it
    next->Flags = 0;
    return irpverbs::ci::detail::send_to_null_device(irp, STATUS_NOT_SUPPORTED);
}

} // namespace

extern "C" {

NTSTATUS CiAllocateRdd(IB_CA*, CI_UDATA* pUserData, IRP* pIrp) { return refuse(pIrp, pUserData); }
NTSTATUS CiDeallocateRdd(IB_RDD*, CI_UDATA* pUserData, IRP* pIrp) {
    return refuse(pIrp, pUserData);
}
NTSTATUS CiCreateEec(IB_RDD*, CI_UDATA* pUserData, IRP* pIrp) { return refuse(pIrp, pUserData); }
NTSTATUS CiModifyEec(IB_EEC*, const VOID*, CI_UDATA* pUserData, IRP* pIrp) {
    return refuse(pIrp, pUserData);
}
NTSTATUS CiQueryEec(IB_EEC*, SIZE_T, VOID*, CI_UDATA* pUserData, IRP* pIrp) {
    return refuse(pIrp, pUserData);
}
NTSTATUS CiDestroyEec(IB_EEC*, CI_UDATA* pUserData, IRP* pIrp) { return refuse(pIrp, pUserData); }

} // extern "C"
