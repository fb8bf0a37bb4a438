// The verbs: each fills the next stack location and sends it to the FDO.
#include "null_device.hpp"
#include "request.hpp"

#include <ci/data_path.h>

#include <dispatch/support/verify.hpp>

namespace {

using namespace irpverbs::ci;

IO_STACK_LOCATION* prepare(IRP* irp, HCA_MINOR_FUNCTION minor) {
    IO_STACK_LOCATION* next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
    next->MinorFunction = static_cast<UCHAR>(minor);
    next->Flags = 0;
    return next;
}

DEVICE_OBJECT* fdo_of(IB_CA* ca) { return reinterpret_cast<HCA_CA*>(ca)->Device; }
DEVICE_OBJECT* fdo_of(IB_CQ* cq) { return reinterpret_cast<HCA_CQ*>(cq)->Ca->Device; }
DEVICE_OBJECT* fdo_of(IB_MAD_AGENT* agent) {
    return reinterpret_cast<HCA_MAD_AGENT*>(agent)->Ca->Device;
}
DEVICE_OBJECT* fdo_of(IB_PD* pd) { return reinterpret_cast<HCA_PD*>(pd)->Ca->Device; }
DEVICE_OBJECT* fdo_of(IB_MR* mr) { return reinterpret_cast<HCA_MR*>(mr)->Device; }
DEVICE_OBJECT* fdo_of(IB_MW* mw) { return reinterpret_cast<HCA_MW*>(mw)->Pd->Ca->Device; }
DEVICE_OBJECT* fdo_of(IB_AV* av) { return reinterpret_cast<HCA_AV*>(av)->Pd->Ca->Device; }
DEVICE_OBJECT* fdo_of(IB_QP* qp) { return reinterpret_cast<HCA_QP*>(qp)->Pd->Ca->Device; }
DEVICE_OBJECT* fdo_of(IB_SRQ* srq) { return reinterpret_cast<HCA_SRQ*>(srq)->Pd->Ca->Device; }
DEVICE_OBJECT* fdo_of(IB_MCAST* mcast) {
    return reinterpret_cast<HCA_MCAST*>(mcast)->Qp->Pd->Ca->Device;
}
DEVICE_OBJECT* fdo_of(IB_XRCD* xrcd) { return reinterpret_cast<HCA_XRCD*>(xrcd)->Ca->Device; }
DEVICE_OBJECT* fdo_of(DEVICE_OBJECT* fdo) { return fdo; }

/// An object that was closed lies in freed memory. IRQL: any.
template <class Object>
void check_open(Object* object) {
    using namespace irpverbs::dispatch::detail;
    if (verifying()) check_freed_use(object, "a verb is called on an object");
}

// The IRP of a verb without an object is sent to the null device, which completes it.
template <class Object>
NTSTATUS send_prepared(Object* object, IRP* irp) {
    if (object == nullptr) return detail::send_to_null_device(irp, STATUS_INVALID_PARAMETER);
    check_open(object);
    return IoCallDriver(fdo_of(object), irp);
}

template <class Object>
NTSTATUS send(Object* object, IRP* irp, HCA_MINOR_FUNCTION minor, const void* buffer = nullptr,
              ULONG_PTR number = 0, ULONG_PTR port = 0) {
    parameters_of(prepare(irp, minor)) = {object, const_cast<void*>(buffer), number, port};
    return send_prepared(object, irp);
}

template <class Object>
NTSTATUS send_create(Object* parent, IRP* irp, HCA_MINOR_FUNCTION minor, const void* buffer,
                     VOID* context, const void* dispatch, ULONG count = 0) {
    IO_STACK_LOCATION* next = prepare(irp, minor);
    create_words_of(next) = {parent, const_cast<void*>(buffer), context, dispatch};
    create_count_of(next) = count;
    return send_prepared(parent, irp);
}

// The word of a verb that has a buffer, too.
ULONG_PTR word_of(CI_UDATA* data) { return reinterpret_cast<ULONG_PTR>(data); }

} // namespace

extern "C" {

NTSTATUS CiOpenCa(DEVICE_OBJECT* pHcaFdo, VOID* Context, const IB_CA_DISPATCH* Dispatch,
                  CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pHcaFdo, pIrp, HCA_MN_OPEN_CA, pUserData, Context, Dispatch);
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
    return send_create(pCa, pIrp, HCA_MN_CREATE_CQ, pUserData, Context, Dispatch, NumCqes);
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
    return send_create(pCa, pIrp, HCA_MN_REGISTER_MAD_AGENT, pAttr, Context, Dispatch);
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

NTSTATUS CiAllocatePd(IB_CA* pCa, ULONG Type, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pCa, pIrp, HCA_MN_ALLOCATE_PD, pUserData, nullptr, nullptr, Type);
}

NTSTATUS CiDeallocatePd(IB_PD* pPd, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pPd, pIrp, HCA_MN_DEALLOCATE_PD, pUserData);
}

NTSTATUS CiRegisterMr(IB_PD* pPd, const ib_mr_create_t* pCreate, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pPd, pIrp, HCA_MN_REGISTER_MR, pCreate, nullptr, pUserData);
}

NTSTATUS CiDeregisterMr(IB_MR* pMr, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pMr, pIrp, HCA_MN_DEREGISTER_MR, pUserData);
}

NTSTATUS CiQueryMr(IB_MR* pMr, SIZE_T AttrSize, ib_mr_attr_t* pAttr, CI_UDATA* pUserData,
                   IRP* pIrp) {
    return send(pMr, pIrp, HCA_MN_QUERY_MR, pAttr, AttrSize, word_of(pUserData));
}

NTSTATUS CiModifyMr(IB_MR* pMr, const ib_mr_mod_t* pModify, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pMr, pIrp, HCA_MN_MODIFY_MR, pModify, 0, word_of(pUserData));
}

NTSTATUS CiAllocateFrmr(IB_PD* pPd, ULONG MaxPages, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pPd, pIrp, HCA_MN_ALLOCATE_FRMR, pUserData, nullptr, nullptr, MaxPages);
}

NTSTATUS CiRegisterPmr(IB_PD* pPd, const ib_phys_create_t* pCreate, CI_UDATA* pUserData,
                       IRP* pIrp) {
    return send_create(pPd, pIrp, HCA_MN_REGISTER_PMR, pCreate, nullptr, pUserData);
}

NTSTATUS CiModifyPmr(IB_MR* pMr, const ib_phys_mod_t* pModify, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pMr, pIrp, HCA_MN_MODIFY_PMR, pModify, 0, word_of(pUserData));
}

NTSTATUS CiRegisterSmr(IB_PD* pPd, const ib_smr_create_t* pCreate, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pPd, pIrp, HCA_MN_REGISTER_SMR, pCreate, nullptr, pUserData);
}

NTSTATUS CiAllocateMw(IB_PD* pPd, ULONG Type, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pPd, pIrp, HCA_MN_ALLOCATE_MW, pUserData, nullptr, nullptr, Type);
}

NTSTATUS CiDeallocateMw(IB_MW* pMw, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pMw, pIrp, HCA_MN_DEALLOCATE_MW, pUserData);
}

NTSTATUS CiQueryMw(IB_MW* pMw, SIZE_T AttrSize, ib_mw_attr_t* pAttr, CI_UDATA* pUserData,
                   IRP* pIrp) {
    return send(pMw, pIrp, HCA_MN_QUERY_MW, pAttr, AttrSize, word_of(pUserData));
}

NTSTATUS CiCreateAv(IB_PD* pPd, const ib_av_attr_t* pAttr, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pPd, pIrp, HCA_MN_CREATE_AV, pAttr, nullptr, pUserData);
}

NTSTATUS CiDestroyAv(IB_AV* pAv, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pAv, pIrp, HCA_MN_DESTROY_AV, pUserData);
}

NTSTATUS CiModifyAv(IB_AV* pAv, const ib_av_attr_t* pAttr, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pAv, pIrp, HCA_MN_MODIFY_AV, pAttr, 0, word_of(pUserData));
}

NTSTATUS CiQueryAv(IB_AV* pAv, SIZE_T AttrSize, ib_av_query_t* pAttr, CI_UDATA* pUserData,
                   IRP* pIrp) {
    return send(pAv, pIrp, HCA_MN_QUERY_AV, pAttr, AttrSize, word_of(pUserData));
}

NTSTATUS CiCreateQp(IB_PD* pPd, const ib_qp_create_t* pCreate, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pPd, pIrp, HCA_MN_CREATE_QP, pCreate, nullptr, pUserData);
}

NTSTATUS CiDestroyQp(IB_QP* pQp, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pQp, pIrp, HCA_MN_DESTROY_QP, pUserData);
}

NTSTATUS CiModifyQp(IB_QP* pQp, const ib_qp_mod_t* pModify, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pQp, pIrp, HCA_MN_MODIFY_QP, pModify, 0, word_of(pUserData));
}

NTSTATUS CiQueryQp(IB_QP* pQp, SIZE_T AttrSize, ib_qp_attr_t* pAttr, CI_UDATA* pUserData,
                   IRP* pIrp) {
    return send(pQp, pIrp, HCA_MN_QUERY_QP, pAttr, AttrSize, word_of(pUserData));
}

NTSTATUS CiFlushQp(IB_QP* pQp, IRP* pIrp) { return send(pQp, pIrp, HCA_MN_FLUSH_QP); }

NTSTATUS CiGetQpAsyncEvent(IB_QP* pQp, IRP* pIrp) {
    return send(pQp, pIrp, HCA_MN_GET_QP_ASYNC_EVENT);
}

NTSTATUS CiTransfer(IB_QP* pQp, const ib_send_wr_t* pSendWr, IB_WC* pWc, IRP* pIrp) {
    return send(pQp, pIrp, HCA_MN_TRANSFER, pSendWr, reinterpret_cast<ULONG_PTR>(pWc));
}

NTSTATUS CiTransferRecv(IB_QP* pQp, const ib_recv_wr_t* pRecvWr, IB_WC* pWc, IRP* pIrp) {
    return send(pQp, pIrp, HCA_MN_TRANSFER_RECV, pRecvWr, reinterpret_cast<ULONG_PTR>(pWc));
}

NTSTATUS CiCreateSrq(IB_PD* pPd, const ib_srq_create_t* pCreate, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pPd, pIrp, HCA_MN_CREATE_SRQ, pCreate, nullptr, pUserData);
}

NTSTATUS CiDestroySrq(IB_SRQ* pSrq, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pSrq, pIrp, HCA_MN_DESTROY_SRQ, pUserData);
}

NTSTATUS CiModifySrq(IB_SRQ* pSrq, const ib_srq_mod_t* pModify, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pSrq, pIrp, HCA_MN_MODIFY_SRQ, pModify, 0, word_of(pUserData));
}

NTSTATUS CiQuerySrq(IB_SRQ* pSrq, SIZE_T AttrSize, ib_srq_attr_t* pAttr, CI_UDATA* pUserData,
                    IRP* pIrp) {
    return send(pSrq, pIrp, HCA_MN_QUERY_SRQ, pAttr, AttrSize, word_of(pUserData));
}

NTSTATUS CiGetSrqAsyncEvent(IB_SRQ* pSrq, IRP* pIrp) {
    return send(pSrq, pIrp, HCA_MN_GET_SRQ_ASYNC_EVENT);
}

NTSTATUS CiAttachMcast(IB_QP* pQp, const ib_gid_t* pMcastGid, ib_lid_t McastLid,
                       CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pQp, pIrp, HCA_MN_ATTACH_MCAST, pMcastGid, nullptr, pUserData, McastLid);
}

NTSTATUS CiDetachMcast(IB_MCAST* pMcast, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pMcast, pIrp, HCA_MN_DETACH_MCAST, pUserData);
}

NTSTATUS CiAllocateXrcd(IB_CA* pCa, CI_UDATA* pUserData, IRP* pIrp) {
    return send_create(pCa, pIrp, HCA_MN_ALLOCATE_XRCD, pUserData, nullptr, nullptr);
}

NTSTATUS CiDeallocateXrcd(IB_XRCD* pXrcd, CI_UDATA* pUserData, IRP* pIrp) {
    return send(pXrcd, pIrp, HCA_MN_DEALLOCATE_XRCD, pUserData);
}

} // extern "C"
