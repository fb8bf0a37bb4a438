// Work completions: the entries of libibverbs have the layout of the channel interface.
#pragma once

#include <ci/completion.h>

#include <infiniband/verbs.h>

#include <cstddef>

namespace irpverbs::hca_rdma {

static_assert(sizeof(IB_WC) == sizeof(ibv_wc) && alignof(IB_WC) == alignof(ibv_wc));
static_assert(offsetof(IB_WC, WrId) == offsetof(ibv_wc, wr_id));
static_assert(offsetof(IB_WC, Status) == offsetof(ibv_wc, status));
static_assert(offsetof(IB_WC, Opcode) == offsetof(ibv_wc, opcode));
static_assert(offsetof(IB_WC, VendorError) == offsetof(ibv_wc, vendor_err));
static_assert(offsetof(IB_WC, ByteCount) == offsetof(ibv_wc, byte_len));
static_assert(offsetof(IB_WC, Immediate) == offsetof(ibv_wc, imm_data));
static_assert(offsetof(IB_WC, Immediate) == offsetof(ibv_wc, invalidated_rkey));
static_assert(offsetof(IB_WC, QpNumber) == offsetof(ibv_wc, qp_num));
static_assert(offsetof(IB_WC, SourceQp) == offsetof(ibv_wc, src_qp));
static_assert(offsetof(IB_WC, Flags) == offsetof(ibv_wc, wc_flags));
static_assert(offsetof(IB_WC, PKeyIndex) == offsetof(ibv_wc, pkey_index));
static_assert(offsetof(IB_WC, SourceLid) == offsetof(ibv_wc, slid));
static_assert(offsetof(IB_WC, ServiceLevel) == offsetof(ibv_wc, sl));
static_assert(offsetof(IB_WC, PathBits) == offsetof(ibv_wc, dlid_path_bits));

// The later statuses of libibverbs belong to tag matching.
static_assert(int{IB_WC_SUCCESS} == int{IBV_WC_SUCCESS});
static_assert(int{IB_WC_LOCAL_LENGTH_ERROR} == int{IBV_WC_LOC_LEN_ERR});
static_assert(int{IB_WC_LOCAL_QP_OPERATION_ERROR} == int{IBV_WC_LOC_QP_OP_ERR});
static_assert(int{IB_WC_LOCAL_EEC_OPERATION_ERROR} == int{IBV_WC_LOC_EEC_OP_ERR});
static_assert(int{IB_WC_LOCAL_PROTECTION_ERROR} == int{IBV_WC_LOC_PROT_ERR});
static_assert(int{IB_WC_FLUSHED} == int{IBV_WC_WR_FLUSH_ERR});
static_assert(int{IB_WC_MW_BIND_ERROR} == int{IBV_WC_MW_BIND_ERR});
static_assert(int{IB_WC_BAD_RESPONSE_ERROR} == int{IBV_WC_BAD_RESP_ERR});
static_assert(int{IB_WC_LOCAL_ACCESS_ERROR} == int{IBV_WC_LOC_ACCESS_ERR});
static_assert(int{IB_WC_REMOTE_INVALID_REQUEST_ERROR} == int{IBV_WC_REM_INV_REQ_ERR});
static_assert(int{IB_WC_REMOTE_ACCESS_ERROR} == int{IBV_WC_REM_ACCESS_ERR});
static_assert(int{IB_WC_REMOTE_OPERATION_ERROR} == int{IBV_WC_REM_OP_ERR});
static_assert(int{IB_WC_RETRY_EXCEEDED} == int{IBV_WC_RETRY_EXC_ERR});
static_assert(int{IB_WC_RNR_RETRY_EXCEEDED} == int{IBV_WC_RNR_RETRY_EXC_ERR});
static_assert(int{IB_WC_LOCAL_RDD_VIOLATION} == int{IBV_WC_LOC_RDD_VIOL_ERR});
static_assert(int{IB_WC_REMOTE_INVALID_RD_REQUEST} == int{IBV_WC_REM_INV_RD_REQ_ERR});
static_assert(int{IB_WC_REMOTE_ABORTED} == int{IBV_WC_REM_ABORT_ERR});
static_assert(int{IB_WC_INVALID_EEC_NUMBER} == int{IBV_WC_INV_EECN_ERR});
static_assert(int{IB_WC_INVALID_EEC_STATE} == int{IBV_WC_INV_EEC_STATE_ERR});
static_assert(int{IB_WC_FATAL_ERROR} == int{IBV_WC_FATAL_ERR});
static_assert(int{IB_WC_RESPONSE_TIMEOUT} == int{IBV_WC_RESP_TIMEOUT_ERR});
static_assert(int{IB_WC_GENERAL_ERROR} == int{IBV_WC_GENERAL_ERR});

// Fast registration exists in the kernel only.
static_assert(int{IB_WC_SEND} == int{IBV_WC_SEND});
static_assert(int{IB_WC_RDMA_WRITE} == int{IBV_WC_RDMA_WRITE});
static_assert(int{IB_WC_RDMA_READ} == int{IBV_WC_RDMA_READ});
static_assert(int{IB_WC_COMPARE_AND_SWAP} == int{IBV_WC_COMP_SWAP});
static_assert(int{IB_WC_FETCH_AND_ADD} == int{IBV_WC_FETCH_ADD});
static_assert(int{IB_WC_BIND_MW} == int{IBV_WC_BIND_MW});
static_assert(int{IB_WC_LOCAL_INVALIDATE} == int{IBV_WC_LOCAL_INV});
static_assert(int{IB_WC_LARGE_SEND} == int{IBV_WC_TSO});
static_assert(int{IB_WC_RECEIVE} == int{IBV_WC_RECV});
static_assert(int{IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE} == int{IBV_WC_RECV_RDMA_WITH_IMM});

static_assert(int{IB_WC_GRH_PRESENT} == int{IBV_WC_GRH});
static_assert(int{IB_WC_IMMEDIATE_PRESENT} == int{IBV_WC_WITH_IMM});
static_assert(int{IB_WC_CHECKSUM_GOOD} == int{IBV_WC_IP_CSUM_OK});
static_assert(int{IB_WC_INVALIDATED} == int{IBV_WC_WITH_INV});

/// Converts the buffer for libibverbs.
inline ibv_wc* as_libibverbs(IB_WC* entries) { return reinterpret_cast<ibv_wc*>(entries); }

} // namespace irpverbs::hca_rdma
