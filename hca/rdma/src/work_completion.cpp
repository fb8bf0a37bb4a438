#include "work_completion.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace irpverbs::hca_rdma {

namespace {

// Both follow the order of the IBA, to the end of its list.
ULONG status_of(ULONG status) {
    static_assert(int{IB_WC_FLUSHED} == int{IBV_WC_WR_FLUSH_ERR});
    static_assert(int{IB_WC_RNR_RETRY_EXCEEDED} == int{IBV_WC_RNR_RETRY_EXC_ERR});
    static_assert(int{IB_WC_GENERAL_ERROR} == int{IBV_WC_GENERAL_ERR});
    return std::min(status, ULONG{IB_WC_GENERAL_ERROR});
}

// The driver makes no queue pairs of those kinds that complete with others.
static_assert(int{IB_WC_LOCAL_INVALIDATE} == int{IBV_WC_LOCAL_INV});
static_assert(int{IB_WC_RECEIVE} == int{IBV_WC_RECV});

ULONG flags_of(ULONG flags) {
    static_assert(int{IB_WC_GRH_PRESENT} == int{IBV_WC_GRH});
    static_assert(int{IB_WC_IMMEDIATE_PRESENT} == int{IBV_WC_WITH_IMM});
    const ULONG same = flags & (IB_WC_GRH_PRESENT | IB_WC_IMMEDIATE_PRESENT);
    return same | ((flags & IBV_WC_WITH_INV) != 0 ? IB_WC_INVALIDATED : 0);
}

} // namespace

void translate(IB_WC* entries, int count) {
    static_assert(sizeof(IB_WC) == sizeof(ibv_wc));
    static_assert(offsetof(IB_WC, WrId) == offsetof(ibv_wc, wr_id));
    static_assert(offsetof(IB_WC, Status) == offsetof(ibv_wc, status));
    static_assert(offsetof(IB_WC, Opcode) == offsetof(ibv_wc, opcode));
    static_assert(offsetof(IB_WC, VendorError) == offsetof(ibv_wc, vendor_err));
    static_assert(offsetof(IB_WC, ByteCount) == offsetof(ibv_wc, byte_len));
    static_assert(offsetof(IB_WC, Immediate) == offsetof(ibv_wc, imm_data));
    static_assert(offsetof(IB_WC, QpNumber) == offsetof(ibv_wc, qp_num));
    static_assert(offsetof(IB_WC, SourceQp) == offsetof(ibv_wc, src_qp));
    static_assert(offsetof(IB_WC, Flags) == offsetof(ibv_wc, wc_flags));
    static_assert(offsetof(IB_WC, SourceLid) == offsetof(ibv_wc, pkey_index));
    static_assert(offsetof(IB_WC, PKeyIndex) == offsetof(ibv_wc, slid));
    static_assert(offsetof(IB_WC, ServiceLevel) == offsetof(ibv_wc, sl));
    static_assert(offsetof(IB_WC, PathBits) == offsetof(ibv_wc, dlid_path_bits));
    for (IB_WC* each = entries; each != entries + count; ++each) {
        each->Status = status_of(each->Status);
        each->Flags = flags_of(each->Flags);
        std::swap(each->SourceLid, each->PKeyIndex);
    }
}

} // namespace irpverbs::hca_rdma
