#include "create_checks.hpp"

#include <limits>

namespace irpverbs::ci {

namespace {

constexpr ULONG max_flow_label = 0xFFFFF;
constexpr UCHAR max_sl = 15;
constexpr UCHAR max_path_bits = 127;

constexpr ib_access_t known_rights =
    IB_AC_REMOTE | IB_AC_LOCAL_WRITE | IB_AC_MW_BIND | IB_AC_ZERO_BASED | IB_AC_ON_DEMAND;

bool wraps(ULONGLONG first, ULONGLONG length) {
    return length != 0 && length - 1 > std::numeric_limits<ULONG_PTR>::max() - first;
}

bool has_good_range(const ib_mr_create_t& create) {
    const bool zero_based = (create.access_ctrl & IB_AC_ZERO_BASED) != 0;
    return create.vaddr != nullptr &&
           !wraps(reinterpret_cast<ULONG_PTR>(create.vaddr), create.length) &&
           !wraps(HcaMrBase(&create), create.length) && !(zero_based && create.iova != 0);
}

bool is_of(const HCA_CA* ca, IB_CQ* cq) {
    return cq != nullptr && reinterpret_cast<HCA_CQ*>(cq)->Ca == ca;
}

bool is_of(const HCA_CA* ca, IB_XRCD* xrcd) {
    return xrcd != nullptr && reinterpret_cast<HCA_XRCD*>(xrcd)->Ca == ca;
}

bool has_own_receives(const ib_qp_create_t& create) {
    return create.rq_depth != 0 || create.rq_sge != 0;
}

// A queue pair has a receive queue of its own, or a shared one of the same channel adapter.
bool has_good_receives(const HCA_PD& pd, const ib_qp_create_t& create) {
    if (create.h_srq == nullptr) return true;
    return !has_own_receives(create) && reinterpret_cast<HCA_SRQ*>(create.h_srq)->Pd->Ca == pd.Ca;
}

bool has_sends(const ib_qp_create_t& create) {
    return create.sq_depth != 0 || create.sq_sge != 0 || create.sq_max_inline != 0;
}

bool has_receives(const ib_qp_create_t& create) {
    return create.h_rq_cq != nullptr || create.h_srq != nullptr || has_own_receives(create);
}

// Source: IBA annex A14 (the queues of each type).
bool has_good_queues(const HCA_PD& pd, const ib_qp_create_t& create) {
    if (create.qp_type == IB_QPT_XRC_TGT)
        return !has_sends(create) && create.h_sq_cq == nullptr && !has_receives(create) &&
               is_of(pd.Ca, create.h_xrcd);
    if (create.h_xrcd != nullptr || !is_of(pd.Ca, create.h_sq_cq)) return false;
    if (create.qp_type == IB_QPT_XRC_INI) return !has_receives(create);
    return is_of(pd.Ca, create.h_rq_cq) && has_good_receives(pd, create);
}

} // namespace

NTSTATUS check_region(const ib_mr_create_t& create) {
    if (!has_good_range(create) || (create.access_ctrl & ~known_rights) != 0)
        return STATUS_INVALID_PARAMETER;
    const bool peer_writes = (create.access_ctrl & (IB_AC_RDMA_WRITE | IB_AC_ATOMIC)) != 0;
    return peer_writes && (create.access_ctrl & IB_AC_LOCAL_WRITE) == 0 ? STATUS_ACCESS_DENIED
                                                                        : STATUS_SUCCESS;
}

// Source: IBA C10-73 (right of the region), C10-74 (its local write), C10-75 (range), o10-36.2.2
// (addresses).
NTSTATUS check_window(const ib_mr_create_t& region, const ib_bind_wr_t& bind) {
    const bool writes = (bind.access_ctrl & (IB_AC_RDMA_WRITE | IB_AC_ATOMIC)) != 0;
    const ib_access_t needed = IB_AC_MW_BIND | (writes ? IB_AC_LOCAL_WRITE : 0);
    if ((bind.access_ctrl & ~IB_AC_REMOTE) != 0 || (region.access_ctrl & needed) != needed)
        return STATUS_ACCESS_DENIED;
    const ULONGLONG offset = bind.local_ds.vaddr - HcaMrBase(&region);
    const bool fits = (region.access_ctrl & IB_AC_ZERO_BASED) == 0 && offset <= region.length &&
                      bind.local_ds.length <= region.length - offset;
    return fits ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

bool is_way(const ib_av_attr_t& address, ULONG port_count) {
    return address.port_num != 0 && address.port_num <= port_count &&
           address.dlid != IB_LID_PERMISSIVE && address.sl <= max_sl &&
           address.path_bits <= max_path_bits &&
           (address.grh_valid == FALSE || address.grh.flow_label <= max_flow_label);
}

NTSTATUS check_queue_pair(const HCA_PD& pd, const ib_qp_create_t& create, bool has_xrc) {
    switch (create.qp_type) {
    case IB_QPT_RELIABLE_CONN:
    case IB_QPT_UNRELIABLE_CONN:
    case IB_QPT_UNRELIABLE_DGRM:
        break;
    case IB_QPT_XRC_INI:
    case IB_QPT_XRC_TGT:
        if (has_xrc) break;
        return STATUS_NOT_SUPPORTED;
    case IB_QPT_QP0:
    case IB_QPT_QP1:
    case IB_QPT_RAW_ETHER:
        return STATUS_NOT_SUPPORTED;
    default:
        return STATUS_INVALID_PARAMETER;
    }
    return has_good_queues(pd, create) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_shared_queue(const HCA_PD& pd, const ib_srq_create_t& create, bool has_xrc) {
    if (create.max_wr == 0) return STATUS_INVALID_PARAMETER;
    if (create.h_xrcd == nullptr && create.h_cq == nullptr) return STATUS_SUCCESS;
    if (!has_xrc) return STATUS_NOT_SUPPORTED;
    return is_of(pd.Ca, create.h_xrcd) && is_of(pd.Ca, create.h_cq) ? STATUS_SUCCESS
                                                                    : STATUS_INVALID_PARAMETER;
}

NTSTATUS check_shared_queue(const ib_srq_mod_t& modify) {
    constexpr ULONG known = IB_MOD_SRQ_MAX_WR | IB_MOD_SRQ_LIMIT;
    const bool resizes = (modify.opts & IB_MOD_SRQ_MAX_WR) != 0;
    const bool good =
        modify.opts != 0 && (modify.opts & ~known) == 0 && (!resizes || modify.max_wr != 0);
    return good ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

} // namespace irpverbs::ci
