/* Work completions, the entries of a completion queue. */
#ifndef IRPVERBS_CI_COMPLETION_H
#define IRPVERBS_CI_COMPLETION_H

#include <ci/ib_types.h>

/* IB_WC equals ibv_wc of libibverbs, field by field and value by value, so that completions which a
   provider's library writes need no conversion. */

/* Source: IBA 11.6.2 (completion return status); names of ibv_poll_cq(3). */
typedef enum _IB_WC_STATUS {
    IB_WC_SUCCESS = 0,
    IB_WC_LOCAL_LENGTH_ERROR,
    IB_WC_LOCAL_QP_OPERATION_ERROR,
    IB_WC_LOCAL_EEC_OPERATION_ERROR,
    IB_WC_LOCAL_PROTECTION_ERROR,
    IB_WC_FLUSHED,
    IB_WC_MW_BIND_ERROR,
    IB_WC_BAD_RESPONSE_ERROR,
    IB_WC_LOCAL_ACCESS_ERROR,
    IB_WC_REMOTE_INVALID_REQUEST_ERROR,
    IB_WC_REMOTE_ACCESS_ERROR,
    IB_WC_REMOTE_OPERATION_ERROR,
    IB_WC_RETRY_EXCEEDED,
    IB_WC_RNR_RETRY_EXCEEDED,
    IB_WC_LOCAL_RDD_VIOLATION,
    IB_WC_REMOTE_INVALID_RD_REQUEST,
    IB_WC_REMOTE_ABORTED,
    IB_WC_INVALID_EEC_NUMBER,
    IB_WC_INVALID_EEC_STATE,
    IB_WC_FATAL_ERROR,
    IB_WC_RESPONSE_TIMEOUT,
    IB_WC_GENERAL_ERROR
} IB_WC_STATUS;

/* Source: IBA 11.4.2.1 (Poll for Completion). */
typedef enum _IB_WC_OPCODE {
    IB_WC_SEND = 0,
    IB_WC_RDMA_WRITE,
    IB_WC_RDMA_READ,
    IB_WC_COMPARE_AND_SWAP,
    IB_WC_FETCH_AND_ADD,
    IB_WC_BIND_MW,
    IB_WC_LOCAL_INVALIDATE,
    IB_WC_LARGE_SEND, /* not in the IBA: a send that the HCA segments */
    IB_WC_FAST_REGISTER,
    IB_WC_ATOMIC_WRITE,
    IB_WC_RECEIVE = 128,
    IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE
} IB_WC_OPCODE;

/* IB_WC.Flags */
#define IB_WC_GRH_PRESENT 0x01u
#define IB_WC_IMMEDIATE_PRESENT 0x02u
#define IB_WC_CHECKSUM_GOOD 0x04u /* the HCA found those of IP and of TCP or UDP right */
#define IB_WC_INVALIDATED 0x08u
#define IB_WC_SOLICITED 0x80000000u /* if the HCA's driver reports it */

/* One work completion. Source: IBA 11.4.2.1. */
typedef struct _IB_WC {
    ULONGLONG WrId;
    ULONG Status;      /* IB_WC_STATUS */
    ULONG Opcode;      /* IB_WC_OPCODE; valid on success, as all below */
    ULONG VendorError; /* valid on failure */
    ULONG ByteCount;
    ib_net32_t Immediate; /* or the key that was invalidated */
    ib_qpn_t QpNumber;
    ib_qpn_t SourceQp;
    ULONG Flags; /* IB_WC_* */
    USHORT PKeyIndex;
    ib_lid_t SourceLid;
    UCHAR ServiceLevel;
    UCHAR PathBits;
} IB_WC, *PIB_WC;

/* Flags of CiArmCq. Source: IBA 11.4.2.2 (Request Completion Notification). */
typedef enum _IB_CQ_ARM {
    IB_CQ_ARM_NEXT = 1,     /* any entry */
    IB_CQ_ARM_SOLICITED = 2 /* one whose sender solicited it, or an error */
} IB_CQ_ARM;

#endif
