/* The data path: work requests, and calls without an IRP, which neither pend nor block. Names are
   those of WinOF. */
#ifndef IRPVERBS_CI_DATA_PATH_H
#define IRPVERBS_CI_DATA_PATH_H

#include <ci/ci.h>
#include <ci/detail/direct_poll.h>
#include <ci/detail/posts.h>

NT_EXTERN_C_BEGIN

/* A data segment: a piece of a memory region. Source: IBA 10.7.3 (work requests). */
typedef struct _ib_local_ds {
    ULONGLONG vaddr;
    ULONG length; /* bytes; 0: none */
    ULONG lkey;
} ib_local_ds_t;

/* Source: IBA 11.4.1.1 (Post Send Request); WinOF. */
typedef ULONG ib_wr_type_t;
enum _ib_wr_type {
    WR_SEND = 1,
    WR_RDMA_WRITE,
    WR_RDMA_READ,
    WR_COMPARE_SWAP,
    WR_FETCH_ADD,
    WR_LSO, /* a send that the HCA segments */
    WR_NOP,
    WR_LOCAL_INV,
    WR_FAST_REG_MR,
    WR_BIND_MW, /* ours, as the next */
    WR_ATOMIC_WRITE
};

/* ib_send_wr_t.send_opt. The first six have WinOF's values, the last is ours. */
typedef ULONG ib_send_opt_t;
#define IB_SEND_OPT_IMMEDIATE 0x001u  /* of a send or write: immediate_data is sent */
#define IB_SEND_OPT_FENCE 0x002u      /* begins after earlier reads and atomics; RC */
#define IB_SEND_OPT_SIGNALED 0x004u   /* generates a completion also when it succeeds */
#define IB_SEND_OPT_SOLICITED 0x008u  /* the peer's completion is solicited */
#define IB_SEND_OPT_INLINE 0x010u     /* of a send or write: data are copied during the call */
#define IB_SEND_OPT_LOCAL 0x020u      /* reserved */
#define IB_SEND_OPT_INVALIDATE 0x200u /* of a send: the peer invalidates invalidate_rkey */

/* The peer of an unreliable datagram. */
typedef struct _ib_send_ud {
    IB_AV* h_av;
    ib_qpn_t remote_qp;
    ib_qkey_t remote_qkey; /* with the highest bit: the QP's own Q_Key instead */
    USHORT pkey_index;     /* of QP1 only */
} ib_send_ud_t;
typedef union _ib_send_dgrm {
    ib_send_ud_t ud;
} ib_send_dgrm_t;

/* The peer's memory of an RDMA operation, and the operands of an atomic. WR_ATOMIC_WRITE has no
   data segments: it writes atomic1 at once to 8 bytes aligned to 8, to which the peer grants
   IB_AC_RDMA_WRITE, and completes IB_WC_ATOMIC_WRITE when they are written. It counts as an atomic
   for IB_SEND_OPT_FENCE, init_depth and resp_res. Source: IBA annex A19 (atomic write). */
typedef struct _ib_send_remote_ops {
    ULONGLONG vaddr;
    ULONGLONG atomic1; /* in host byte order, as the next: the comparand, the addend, the value */
    ULONGLONG atomic2; /* the value to be swapped in */
    ULONG rkey;
} ib_send_remote_ops_t;

/* A fast registration: pages become the memory of a region of CiAllocateFrmr that has none. The
   work request executes after all earlier ones. It completes IB_WC_FAST_REGISTER, or
   IB_WC_LOCAL_QP_OPERATION_ERROR: no such region of the queue pair's domain is free, or one of the
   members is not as below. Ownership: the list is the HCA's until the work request has completed;
   the pages stay the caller's, mapped until the key is invalid. Source: IBA 10.6.3.6 (fast register
   physical MR), 11.4.1.1; WinOF. */
typedef struct _ib_send_fast_reg {
    ULONGLONG iova_start;       /* the region's first address; its offset in a page is fbo */
    const ULONGLONG* page_list; /* physical addresses; those of this machine are a process's */
    ULONG page_list_len;        /* at most MaxPages of the region */
    ULONG page_shift;           /* a page has 2^page_shift bytes, one of IB_CA_ATTR.PageSizes */
    ULONGLONG length;           /* bytes, at least 1, all of them in the pages */
    ULONG fbo;                  /* bytes of the first page in front of the region */
    ULONG rkey;                 /* R_Key and L_Key: bits 31 to 8 are those of IB_MR.LKey */
    ib_access_t access_flags;   /* of IB_AC_REMOTE and IB_AC_LOCAL_WRITE */
} ib_send_fast_reg_t;

/* The binding of a window of type 2 to a range of a region. */
typedef struct _ib_send_bind_mw {
    IB_MW* h_mw;
    IB_MR* h_mr;
    ULONGLONG vaddr;  /* of the region's addresses */
    ULONGLONG length; /* bytes */
    ULONG rkey;       /* the window's key from now on: bits 31 to 8 are those of IB_MW.RKey */
    ib_access_t
        access_flags; /* of IB_AC_REMOTE; IB_AC_ZERO_BASED: the peer counts addresses from 0 */
} ib_send_bind_mw_t;

/* A work request of a send queue. Ownership: list and segments are the HCA's during the call; the
   memory that the segments name is the HCA's until the work request has completed, with
   IB_SEND_OPT_INLINE during the call. Source: IBA 10.7.2, 11.4.1.1. */
typedef struct _ib_send_wr {
    struct _ib_send_wr* p_next;
    ULONGLONG wr_id;
    ib_local_ds_t* ds_array;
    ULONG num_ds;
    ib_wr_type_t wr_type;
    ib_send_opt_t send_opt;
    union {
        ib_net32_t immediate_data;
        ULONG invalidate_rkey; /* of WR_LOCAL_INV, and with IB_SEND_OPT_INVALIDATE */
    };
    union {
        ib_send_dgrm_t dgrm;
        ib_send_remote_ops_t remote_ops;
        ib_send_fast_reg_t fast_reg;
        ib_send_bind_mw_t bind_mw;
    };
    ULONG remote_srq; /* of IB_QPT_XRC_INI: IB_SRQ.Num at the peer, with remote_ops, too */
} ib_send_wr_t;

/* A work request of a receive queue; ownership as of ib_send_wr_t. Source: IBA 11.4.1.2. */
typedef struct _ib_recv_wr {
    struct _ib_recv_wr* p_next;
    ULONGLONG wr_id;
    ib_local_ds_t* ds_array;
    ULONG num_ds;
} ib_recv_wr_t;

/* Posts a list of work requests to the send queue, in order, up to the first that fails. *ppFailed
   (ppFailed may be NULL) is then that one, and is not written on success. A work request that was
   posted generates one completion, unless it succeeds and is not signaled. In IB_QPS_ERROR and
   IB_QPS_SQERR work requests are posted, and flushed. Ownership: the caller ensures that the queue
   pair is not destroyed before this returns. All memory is the kernel's: there is no
   RequestorMode. IRQL: <= DISPATCH_LEVEL.
   STATUS_SUCCESS. STATUS_INVALID_PARAMETER: pQp or pSendWr is NULL, or a work request has too many
   segments or inline bytes, no address vector, a P_Key index that does not exist, a binding has
   no window of type 2, or no region, a fast registration has no page list, or an atomic write has
   data segments.
   STATUS_INVALID_DEVICE_STATE: the state is IB_QPS_RESET, IB_QPS_INIT or IB_QPS_RTR.
   STATUS_INVALID_DEVICE_REQUEST: the type of the queue pair has no such work request, or no send
   queue. STATUS_INSUFFICIENT_RESOURCES: the queue is full. STATUS_NOT_SUPPORTED: the HCA has no
   such work request, or its driver does not implement this call. STATUS_FILE_FORCED_CLOSED: there
   was a fatal event. Source: IBA 11.4.1.1. */
static inline NTSTATUS CiPostSend(IB_QP* pQp, ib_send_wr_t* pSendWr, ib_send_wr_t** ppFailed) {
    ib_send_wr_t* unused;
    const HCA_QP_POSTS* posts;
    if (ppFailed == NULL) ppFailed = &unused;
    if (pQp == NULL || pSendWr == NULL) {
        *ppFailed = pSendWr;
        return STATUS_INVALID_PARAMETER;
    }
    posts = (const HCA_QP_POSTS*)(const void*)(pQp + 1);
    return __atomic_load_n(&posts->PostSend, __ATOMIC_RELAXED)(posts->Queue, pSendWr, ppFailed);
}

/* Posts a list of work requests to the receive queue, as CiPostSend does to the send queue.
   Ownership and IRQL as of CiPostSend.
   STATUS_SUCCESS. STATUS_INVALID_PARAMETER: pQp or pRecvWr is NULL, or a work request has too many
   segments. STATUS_INVALID_DEVICE_STATE: the state is IB_QPS_RESET. STATUS_INVALID_DEVICE_REQUEST:
   the queue pair has a shared receive queue, or its type receives nothing.
   STATUS_INSUFFICIENT_RESOURCES: the queue is full. STATUS_NOT_SUPPORTED: the HCA's driver does not
   implement this call. STATUS_FILE_FORCED_CLOSED: there was a fatal event. Source: IBA 11.4.1.2. */
static inline NTSTATUS CiPostRecv(IB_QP* pQp, ib_recv_wr_t* pRecvWr, ib_recv_wr_t** ppFailed) {
    ib_recv_wr_t* unused;
    const HCA_QP_POSTS* posts;
    if (ppFailed == NULL) ppFailed = &unused;
    if (pQp == NULL || pRecvWr == NULL) {
        *ppFailed = pRecvWr;
        return STATUS_INVALID_PARAMETER;
    }
    posts = (const HCA_QP_POSTS*)(const void*)(pQp + 1);
    return __atomic_load_n(&posts->PostRecv, __ATOMIC_RELAXED)(posts->Queue, pRecvWr, ppFailed);
}

/* Posts a list of work requests to a shared receive queue, as CiPostRecv does to a receive queue.
   IB_QPS_ERROR of a queue pair leaves the receives of a shared queue there; IB_AE_LAST_WQE_REACHED
   of the queue pair says that it takes no more.
   Ownership: as of CiPostSend; the caller ensures that the shared receive queue is not destroyed
   before this returns. IRQL: <= DISPATCH_LEVEL.
   STATUS_SUCCESS. STATUS_INVALID_PARAMETER: pSrq or pRecvWr is NULL, or a work request has too many
   segments. STATUS_INSUFFICIENT_RESOURCES: the queue is full. STATUS_NOT_SUPPORTED: the HCA's
   driver does not implement this call. STATUS_FILE_FORCED_CLOSED: there was a fatal event. Source:
   IBA 11.4.1.2; ci_post_srq_recv of WinOF. */
static inline NTSTATUS CiPostSrqRecv(IB_SRQ* pSrq, ib_recv_wr_t* pRecvWr, ib_recv_wr_t** ppFailed) {
    ib_recv_wr_t* unused;
    const HCA_SRQ_POST* post;
    if (ppFailed == NULL) ppFailed = &unused;
    if (pSrq == NULL || pRecvWr == NULL) {
        *ppFailed = pRecvWr;
        return STATUS_INVALID_PARAMETER;
    }
    post = (const HCA_SRQ_POST*)(const void*)(pSrq + 1);
    return __atomic_load_n(&post->PostRecv, __ATOMIC_RELAXED)(post->Queue, pRecvWr, ppFailed);
}

/* The binding of a window of type 1. */
typedef struct _ib_bind_wr {
    ULONGLONG wr_id;
    ib_send_opt_t send_opt;  /* IB_SEND_OPT_SIGNALED and IB_SEND_OPT_FENCE */
    IB_MR* h_mr;             /* may be NULL if the length is 0, unless the driver needs one */
    ib_access_t access_ctrl; /* of IB_AC_REMOTE */
    ULONG current_rkey;      /* the window's key: IB_MW.RKey */
    ib_local_ds_t local_ds;  /* the range of the region; length 0: the window is bound to nothing */
} ib_bind_wr_t;

/* Posts a work request that binds a window of type 1 to a range of a region, and replaces its
   earlier binding. *pRKey, and pMw->RKey, is the key from the work request's execution on: work
   requests that are posted to the same queue pair later may send it. The work request executes
   after all earlier ones, and completes IB_WC_BIND_MW, or IB_WC_MW_BIND_ERROR.
   Ownership: as of CiPostSend; the caller makes one call at a time for a window. IRQL: <=
   DISPATCH_LEVEL.
   STATUS_SUCCESS. STATUS_ACCESS_DENIED: the region lacks IB_AC_MW_BIND, or IB_AC_LOCAL_WRITE that
   IB_AC_RDMA_WRITE or IB_AC_ATOMIC requires, or access_ctrl has another right.
   STATUS_INVALID_PARAMETER: a parameter is NULL, current_rkey is not the window's key, the queue
   pair or the region is of another protection domain, the region has IB_AC_ZERO_BASED, or the range
   is not in it. STATUS_INVALID_DEVICE_REQUEST: the window is of type 2, or the queue pair of
   datagrams. STATUS_INVALID_DEVICE_STATE, STATUS_INSUFFICIENT_RESOURCES, STATUS_NOT_SUPPORTED,
   STATUS_FILE_FORCED_CLOSED: as CiPostSend. Source: IBA 11.2.8.12 (Bind Memory Window). */
NT_API NTSTATUS CiBindMw(IB_MW* pMw, IB_QP* pQp, const ib_bind_wr_t* pBindWr, ULONG* pRKey);

/* The slow path of CiGetCqResults, which alone calls it: polls that do not call
   HCA_DIRECT_POLL.Poll. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS IbGetCqResults(IB_CQ* pCq, ULONG NumEntries, IB_WC* pEntries, ULONG* pTaken);

/* Ours, as in NDK. Does what CiPollCq does without an IRP, for a caller that polls repeatedly.
   *pTaken is the number of completions, 0 when there are none and after a failure. Ownership: the
   caller serialises polls of one queue, including those by CiPollCq, and ensures that the queue is
   not destroyed before this returns. All memory is the kernel's: there is no RequestorMode. IRQL:
   <= DISPATCH_LEVEL.
   STATUS_SUCCESS. STATUS_FILE_FORCED_CLOSED: there was a fatal event. STATUS_INVALID_PARAMETER: pCq
   is NULL, or pEntries with NumEntries above 0. STATUS_NOT_SUPPORTED: the HCA's driver does not
   implement it. Other statuses are the driver's, as for CiPollCq.
   Source: NDK_FN_GET_CQ_RESULTS; IBA 11.4.2.1. */
static inline NTSTATUS CiGetCqResults(IB_CQ* pCq, ULONG NumEntries, IB_WC* pEntries,
                                      ULONG* pTaken) {
    HCA_DIRECT_POLL* direct;
    int taken;
    if (pCq == NULL || pEntries == NULL || (LONG)NumEntries <= 0)
        return IbGetCqResults(pCq, NumEntries, pEntries, pTaken);
    direct = (HCA_DIRECT_POLL*)(pCq + 1);
    __atomic_store_n(&direct->Polling, TRUE, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* HcaRevokeDirectPoll issues the processor's fence */
    taken = __atomic_load_n(&direct->Poll, __ATOMIC_RELAXED)(direct->Queue, (int)NumEntries,
                                                             (struct ibv_wc*)pEntries);
    __atomic_store_n(&direct->Polling, FALSE, __ATOMIC_RELEASE);
    if (taken < 0) return IbGetCqResults(pCq, NumEntries, pEntries, pTaken);
    *pTaken = (ULONG)taken;
    return STATUS_SUCCESS;
}

/* Ours, as in NDK. Does what CiArmCq does without an IRP: requests one completion event, which is
   latched until CiGetCqCompEvent or the up-call takes it. Ownership: the caller ensures that the
   queue is not destroyed before this returns. IRQL: <= DISPATCH_LEVEL.
   STATUS_SUCCESS. STATUS_INVALID_PARAMETER: pCq is NULL, or Flags is none of IB_CQ_ARM.
   STATUS_NOT_SUPPORTED: the HCA's driver does not implement it. STATUS_FILE_FORCED_CLOSED: there
   was a fatal event. Other statuses are the driver's, as for CiArmCq.
   Source: NDK_FN_ARM_CQ; IBA 11.4.2.2. */
NT_API NTSTATUS CiArmCqNow(IB_CQ* pCq, ULONG Flags);

NT_EXTERN_C_END

#endif
