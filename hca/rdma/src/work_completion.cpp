#include "work_completion.hpp"

namespace irpverbs::hca_rdma {

namespace {

// Both follow the order of the IBA, to the end of its list.
ULONG status_of(ibv_wc_status status) {
    static_assert(int{IB_WC_FLUSHED} == int{IBV_WC_WR_FLUSH_ERR});
    static_assert(int{IB_WC_RNR_RETRY_EXCEEDED} == int{IBV_WC_RNR_RETRY_EXC_ERR});
    static_assert(int{IB_WC_GENERAL_ERROR} == int{IBV_WC_GENERAL_ERR});
    return status <= IBV_WC_GENERAL_ERR ? static_cast<ULONG>(status) : ULONG{IB_WC_GENERAL_ERROR};
}

// The driver makes no queue pairs of those kinds that complete with others.
ULONG opcode_of(ibv_wc_opcode opcode) {
    static_assert(int{IB_WC_LOCAL_INVALIDATE} == int{IBV_WC_LOCAL_INV});
    static_assert(int{IB_WC_RECEIVE} == int{IBV_WC_RECV});
    return static_cast<ULONG>(opcode);
}

ULONG flags_of(unsigned flags) {
    ULONG made = 0;
    if ((flags & IBV_WC_GRH) != 0) made |= IB_WC_GRH_PRESENT;
    if ((flags & IBV_WC_WITH_IMM) != 0) made |= IB_WC_IMMEDIATE_PRESENT;
    if ((flags & IBV_WC_WITH_INV) != 0) made |= IB_WC_INVALIDATED;
    return made;
}

} // namespace

IB_WC completion_of(const ibv_wc& from) {
    IB_WC made{};
    made.WrId = from.wr_id;
    made.Status = status_of(from.status);
    made.Opcode = opcode_of(from.opcode);
    made.VendorError = from.vendor_err;
    made.ByteCount = from.byte_len;
    made.Immediate = from.imm_data;
    made.QpNumber = from.qp_num;
    made.SourceQp = from.src_qp;
    made.Flags = flags_of(from.wc_flags);
    made.SourceLid = from.slid;
    made.PKeyIndex = from.pkey_index;
    made.ServiceLevel = from.sl;
    made.PathBits = from.dlid_path_bits;
    return made;
}

} // namespace irpverbs::hca_rdma
