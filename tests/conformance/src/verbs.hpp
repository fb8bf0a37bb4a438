// Verbs as values: a name, and the call with an IRP.
#pragma once

#include <ci/ci.h>
#include <ci/data_path.h>

#include <functional>

namespace irpverbs::conformance {

struct verb {
    const char* name;
    std::function<NTSTATUS(IRP*)> send;
    NTSTATUS operator()(IRP* irp) const { return send(irp); }
};

/// The verb as a user's request.
inline verb for_user(const verb& asked) {
    return {asked.name, [=](IRP* irp) {
                irp->RequestorMode = UserMode;
                return asked(irp);
            }};
}

inline verb open_ca(DEVICE_OBJECT* fdo, void* context = nullptr,
                    const IB_CA_DISPATCH* dispatch = nullptr, CI_UDATA* data = nullptr) {
    return {"CiOpenCa", [=](IRP* irp) { return CiOpenCa(fdo, context, dispatch, data, irp); }};
}
inline verb close_ca(IB_CA* ca, CI_UDATA* data = nullptr) {
    return {"CiCloseCa", [=](IRP* irp) { return CiCloseCa(ca, data, irp); }};
}
inline verb get_fatal_event(IB_CA* ca) {
    return {"CiGetCaFatalEvent", [=](IRP* irp) { return CiGetCaFatalEvent(ca, irp); }};
}
inline verb get_port_event(IB_CA* ca, UCHAR port = 1) {
    return {"CiGetCaPortEvent", [=](IRP* irp) { return CiGetCaPortEvent(ca, port, irp); }};
}
inline verb query_ca(IB_CA* ca, void* to, SIZE_T size) {
    return {"CiQueryCa",
            [=](IRP* irp) { return CiQueryCa(ca, size, static_cast<IB_CA_ATTR*>(to), irp); }};
}
inline verb query_port(IB_CA* ca, UCHAR port, void* to, SIZE_T size) {
    return {"CiQueryPort", [=](IRP* irp) {
                return CiQueryPort(ca, port, size, static_cast<IB_PORT_ATTR*>(to), irp);
            }};
}
inline verb modify_ca(IB_CA* ca, ULONG flags, const IB_MODIFY_CA* modify) {
    return {"CiModifyCa", [=](IRP* irp) { return CiModifyCa(ca, flags, modify, irp); }};
}
inline verb modify_port(IB_CA* ca, UCHAR port, ULONG flags, const IB_MODIFY_PORT* modify) {
    return {"CiModifyPort", [=](IRP* irp) { return CiModifyPort(ca, port, flags, modify, irp); }};
}
inline verb create_cq(IB_CA* ca, ULONG entries, void* context = nullptr,
                      const IB_CQ_DISPATCH* dispatch = nullptr, CI_UDATA* data = nullptr) {
    return {"CiCreateCq",
            [=](IRP* irp) { return CiCreateCq(ca, entries, context, dispatch, data, irp); }};
}
inline verb destroy_cq(IB_CQ* cq, CI_UDATA* data = nullptr) {
    return {"CiDestroyCq", [=](IRP* irp) { return CiDestroyCq(cq, data, irp); }};
}
inline verb query_cq(IB_CQ* cq, void* to, SIZE_T size) {
    return {"CiQueryCq",
            [=](IRP* irp) { return CiQueryCq(cq, size, static_cast<IB_CQ_ATTR*>(to), irp); }};
}
inline verb resize_cq(IB_CQ* cq, ULONG entries, CI_UDATA* data = nullptr) {
    return {"CiResizeCq", [=](IRP* irp) { return CiResizeCq(cq, entries, data, irp); }};
}
inline verb poll_cq(IB_CQ* cq, ULONG entries, IB_WC* to) {
    return {"CiPollCq", [=](IRP* irp) { return CiPollCq(cq, entries, to, irp); }};
}
inline verb arm_cq(IB_CQ* cq, ULONG flags) {
    return {"CiArmCq", [=](IRP* irp) { return CiArmCq(cq, flags, irp); }};
}
inline verb get_comp_event(IB_CQ* cq) {
    return {"CiGetCqCompEvent", [=](IRP* irp) { return CiGetCqCompEvent(cq, irp); }};
}
inline verb get_async_event(IB_CQ* cq) {
    return {"CiGetCqAsyncEvent", [=](IRP* irp) { return CiGetCqAsyncEvent(cq, irp); }};
}

inline verb register_agent(IB_CA* ca, const IB_MAD_AGENT_ATTR* attr, void* context = nullptr,
                           const IB_MAD_DISPATCH* dispatch = nullptr) {
    return {"CiRegisterMadAgent",
            [=](IRP* irp) { return CiRegisterMadAgent(ca, attr, context, dispatch, irp); }};
}
inline verb deregister_agent(IB_MAD_AGENT* agent) {
    return {"CiDeregisterMadAgent", [=](IRP* irp) { return CiDeregisterMadAgent(agent, irp); }};
}
inline verb modify_agent(IB_MAD_AGENT* agent, const IB_MAD_KEYS* keys) {
    return {"CiModifyMadAgent", [=](IRP* irp) { return CiModifyMadAgent(agent, keys, irp); }};
}
inline verb send_mad(IB_MAD_AGENT* agent, const IB_MAD_SEND* what) {
    return {"CiSendMad", [=](IRP* irp) { return CiSendMad(agent, what, irp); }};
}
inline verb get_mad(IB_MAD_AGENT* agent, IB_MAD_RECEIVE* into) {
    return {"CiGetMad", [=](IRP* irp) { return CiGetMad(agent, into, irp); }};
}

inline verb allocate_pd(IB_CA* ca, ULONG type = IB_PDT_NORMAL, CI_UDATA* data = nullptr) {
    return {"CiAllocatePd", [=](IRP* irp) { return CiAllocatePd(ca, type, data, irp); }};
}
inline verb deallocate_pd(IB_PD* pd, CI_UDATA* data = nullptr) {
    return {"CiDeallocatePd", [=](IRP* irp) { return CiDeallocatePd(pd, data, irp); }};
}
inline verb register_mr(IB_PD* pd, const ib_mr_create_t* wanted, CI_UDATA* data = nullptr) {
    return {"CiRegisterMr", [=](IRP* irp) { return CiRegisterMr(pd, wanted, data, irp); }};
}
inline verb allocate_frmr(IB_PD* pd, ULONG max_pages, CI_UDATA* data = nullptr) {
    return {"CiAllocateFrmr", [=](IRP* irp) { return CiAllocateFrmr(pd, max_pages, data, irp); }};
}
inline verb register_pmr(IB_PD* pd, const ib_phys_create_t* wanted, CI_UDATA* data = nullptr) {
    return {"CiRegisterPmr", [=](IRP* irp) { return CiRegisterPmr(pd, wanted, data, irp); }};
}
inline verb register_smr(IB_PD* pd, const ib_smr_create_t* wanted, CI_UDATA* data = nullptr) {
    return {"CiRegisterSmr", [=](IRP* irp) { return CiRegisterSmr(pd, wanted, data, irp); }};
}
inline verb modify_mr(IB_MR* mr, const ib_mr_mod_t* change, CI_UDATA* data = nullptr) {
    return {"CiModifyMr", [=](IRP* irp) { return CiModifyMr(mr, change, data, irp); }};
}
inline verb modify_pmr(IB_MR* mr, const ib_phys_mod_t* change, CI_UDATA* data = nullptr) {
    return {"CiModifyPmr", [=](IRP* irp) { return CiModifyPmr(mr, change, data, irp); }};
}
inline verb deregister_mr(IB_MR* mr, CI_UDATA* data = nullptr) {
    return {"CiDeregisterMr", [=](IRP* irp) { return CiDeregisterMr(mr, data, irp); }};
}
inline verb query_mr(IB_MR* mr, void* to, SIZE_T size, CI_UDATA* data = nullptr) {
    return {"CiQueryMr", [=](IRP* irp) {
                return CiQueryMr(mr, size, static_cast<ib_mr_attr_t*>(to), data, irp);
            }};
}

inline verb allocate_mw(IB_PD* pd, ULONG type, CI_UDATA* data = nullptr) {
    return {"CiAllocateMw", [=](IRP* irp) { return CiAllocateMw(pd, type, data, irp); }};
}
inline verb deallocate_mw(IB_MW* mw, CI_UDATA* data = nullptr) {
    return {"CiDeallocateMw", [=](IRP* irp) { return CiDeallocateMw(mw, data, irp); }};
}
inline verb query_mw(IB_MW* mw, void* to, SIZE_T size, CI_UDATA* data = nullptr) {
    return {"CiQueryMw", [=](IRP* irp) {
                return CiQueryMw(mw, size, static_cast<ib_mw_attr_t*>(to), data, irp);
            }};
}

inline verb create_av(IB_PD* pd, const ib_av_attr_t* way, CI_UDATA* data = nullptr) {
    return {"CiCreateAv", [=](IRP* irp) { return CiCreateAv(pd, way, data, irp); }};
}
inline verb destroy_av(IB_AV* av, CI_UDATA* data = nullptr) {
    return {"CiDestroyAv", [=](IRP* irp) { return CiDestroyAv(av, data, irp); }};
}
inline verb modify_av(IB_AV* av, const ib_av_attr_t* way, CI_UDATA* data = nullptr) {
    return {"CiModifyAv", [=](IRP* irp) { return CiModifyAv(av, way, data, irp); }};
}
inline verb query_av(IB_AV* av, void* to, SIZE_T size, CI_UDATA* data = nullptr) {
    return {"CiQueryAv", [=](IRP* irp) {
                return CiQueryAv(av, size, static_cast<ib_av_query_t*>(to), data, irp);
            }};
}

inline verb create_qp(IB_PD* pd, const ib_qp_create_t* wanted, CI_UDATA* data = nullptr) {
    return {"CiCreateQp", [=](IRP* irp) { return CiCreateQp(pd, wanted, data, irp); }};
}
inline verb destroy_qp(IB_QP* qp, CI_UDATA* data = nullptr) {
    return {"CiDestroyQp", [=](IRP* irp) { return CiDestroyQp(qp, data, irp); }};
}
inline verb modify_qp(IB_QP* qp, const ib_qp_mod_t* change, CI_UDATA* data = nullptr) {
    return {"CiModifyQp", [=](IRP* irp) { return CiModifyQp(qp, change, data, irp); }};
}
inline verb query_qp(IB_QP* qp, void* to, SIZE_T size, CI_UDATA* data = nullptr) {
    return {"CiQueryQp", [=](IRP* irp) {
                return CiQueryQp(qp, size, static_cast<ib_qp_attr_t*>(to), data, irp);
            }};
}
inline verb flush_qp(IB_QP* qp) {
    return {"CiFlushQp", [=](IRP* irp) { return CiFlushQp(qp, irp); }};
}
inline verb attach_mcast(IB_QP* qp, const ib_gid_t* group, ib_lid_t lid, CI_UDATA* data = nullptr) {
    return {"CiAttachMcast", [=](IRP* irp) { return CiAttachMcast(qp, group, lid, data, irp); }};
}
inline verb detach_mcast(IB_MCAST* mcast, CI_UDATA* data = nullptr) {
    return {"CiDetachMcast", [=](IRP* irp) { return CiDetachMcast(mcast, data, irp); }};
}
inline verb allocate_xrcd(IB_CA* ca, CI_UDATA* data = nullptr) {
    return {"CiAllocateXrcd", [=](IRP* irp) { return CiAllocateXrcd(ca, data, irp); }};
}
inline verb deallocate_xrcd(IB_XRCD* xrcd, CI_UDATA* data = nullptr) {
    return {"CiDeallocateXrcd", [=](IRP* irp) { return CiDeallocateXrcd(xrcd, data, irp); }};
}
inline verb get_qp_event(IB_QP* qp) {
    return {"CiGetQpAsyncEvent", [=](IRP* irp) { return CiGetQpAsyncEvent(qp, irp); }};
}
inline verb create_srq(IB_PD* pd, const ib_srq_create_t* wanted, CI_UDATA* data = nullptr) {
    return {"CiCreateSrq", [=](IRP* irp) { return CiCreateSrq(pd, wanted, data, irp); }};
}
inline verb destroy_srq(IB_SRQ* srq, CI_UDATA* data = nullptr) {
    return {"CiDestroySrq", [=](IRP* irp) { return CiDestroySrq(srq, data, irp); }};
}
inline verb modify_srq(IB_SRQ* srq, const ib_srq_mod_t* change, CI_UDATA* data = nullptr) {
    return {"CiModifySrq", [=](IRP* irp) { return CiModifySrq(srq, change, data, irp); }};
}
inline verb query_srq(IB_SRQ* srq, void* to, SIZE_T size, CI_UDATA* data = nullptr) {
    return {"CiQuerySrq", [=](IRP* irp) {
                return CiQuerySrq(srq, size, static_cast<ib_srq_attr_t*>(to), data, irp);
            }};
}
inline verb get_srq_event(IB_SRQ* srq) {
    return {"CiGetSrqAsyncEvent", [=](IRP* irp) { return CiGetSrqAsyncEvent(srq, irp); }};
}
inline verb transfer(IB_QP* qp, const ib_send_wr_t* what, IB_WC* into) {
    return {"CiTransfer", [=](IRP* irp) { return CiTransfer(qp, what, into, irp); }};
}
inline verb transfer_recv(IB_QP* qp, const ib_recv_wr_t* what, IB_WC* into) {
    return {"CiTransferRecv", [=](IRP* irp) { return CiTransferRecv(qp, what, into, irp); }};
}

} // namespace irpverbs::conformance
