/* Shared receive queues: their verbs, and the parameters of these. A receive serves whichever of
   the queue pairs receives a message first, and completes in the receive completion queue of that
   queue pair. A queue of an XRC domain (ci/xrc.h) has a completion queue of its own. The rules at
   the top of ci/ci.h apply. Names are those of WinOF. Source: IBA 10.2.9 (shared receive
   queues), 11.2.8 (their verbs). */
#ifndef IRPVERBS_CI_SRQ_H
#define IRPVERBS_CI_SRQ_H

#include <ci/events.h>
#include <ci/memory.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _IB_CQ;
struct _IB_XRCD;

/* The up-call, as those of ci/ci.h. */
typedef void (*PFN_IB_SRQ_ASYNC_EVENT)(VOID* SrqContext, IB_ASYNC_EVENT Event);

typedef struct _IB_SRQ_DISPATCH {
    PFN_IB_SRQ_ASYNC_EVENT AsyncEvent;
} IB_SRQ_DISPATCH;

/* A shared receive queue to be created. */
typedef struct _ib_srq_create {
    VOID* srq_context;        /* for the up-calls */
    IB_SRQ_DISPATCH dispatch; /* its members may be NULL */
    ULONG max_wr;             /* work requests, at least */
    ULONG max_sge;            /* data segments of a work request, at least */
    struct _IB_XRCD* h_xrcd;  /* NULL: queue pairs name it when they are created */
    struct _IB_CQ* h_cq;      /* of its receives, with h_xrcd; otherwise NULL */
} ib_srq_create_t;

/* A shared receive queue. The numbers are granted: at least those that were requested. They are
   valid while no CiModifySrq is under way. */
typedef struct _IB_SRQ {
    ULONG MaxWr;
    ULONG MaxSge;
    ULONG Num; /* 24 bits, by which peers name it; 0: it has no XRC domain */
    ULONG Reserved;
} IB_SRQ;

/* ib_srq_mod_t.opts: the members that are valid. Values of ibv_modify_srq(3). */
#define IB_MOD_SRQ_MAX_WR 0x1u
#define IB_MOD_SRQ_LIMIT 0x2u

/* A change of a shared receive queue. */
typedef struct _ib_srq_mod {
    ULONG opts;      /* IB_MOD_SRQ_* */
    ULONG max_wr;    /* work requests, at least */
    ULONG srq_limit; /* fewer outstanding receives cause IB_AE_SRQ_LIMIT_REACHED; 0: none do */
} ib_srq_mod_t;

/* Attributes of a shared receive queue. */
typedef struct _ib_srq_attr {
    ULONG size; /* bytes of the whole block: this */
    ULONG max_wr;
    struct _IB_PD* h_pd;
    ULONG max_sge;
    ULONG srq_limit; /* 0: the limit was reached, or none is set */
    struct _IB_XRCD* h_xrcd;
    struct _IB_CQ* h_cq;
    ULONG num; /* as IB_SRQ.Num */
} ib_srq_attr_t;

/* Creates a shared receive queue without a limit. The keys of its receives are those of its
   protection domain, which may be another than those of the queue pairs.
   Ownership: the IB_SRQ is the caller's until CiDestroySrq completes. It counts as created with the
   protection domain, the XRC domain and the completion queue.
   STATUS_SUCCESS: Information is the IB_SRQ*. STATUS_INVALID_PARAMETER: also a max_wr of 0, more
   work requests or data segments than the HCA supports (IB_CA_ATTR.MaxSrqWrs, MaxSrqSges), only one
   of h_xrcd and h_cq, or one of another IB_CA. STATUS_INSUFFICIENT_RESOURCES: also
   IB_CA_ATTR.MaxSrqs shared receive queues exist. */
NT_API NTSTATUS CiCreateSrq(IB_PD* pPd, const ib_srq_create_t* pCreate, struct _CI_UDATA* pUserData,
                            IRP* pIrp);

/* Changes the size of a shared receive queue, its limit, or both. When fewer receives than the
   limit are outstanding, IB_AE_SRQ_LIMIT_REACHED occurs once and the limit becomes 0; at once if
   fewer are outstanding when it is set, or on soft-RoCE when the next receive is consumed.
   STATUS_SUCCESS. Otherwise nothing changed. STATUS_INVALID_PARAMETER: also opts that are 0 or
   unknown, a max_wr of 0, above the HCA's limit or below the number of outstanding receives, or an
   srq_limit above max_wr. STATUS_NOT_SUPPORTED: also a max_wr, without IB_CA_CAP_SRQ_RESIZE. */
NT_API NTSTATUS CiModifySrq(IB_SRQ* pSrq, const ib_srq_mod_t* pModify, struct _CI_UDATA* pUserData,
                            IRP* pIrp);

/* Attributes of a shared receive queue; sizes and statuses as CiQueryCa. */
NT_API NTSTATUS CiQuerySrq(IB_SRQ* pSrq, SIZE_T AttrSize, ib_srq_attr_t* pAttr,
                           struct _CI_UDATA* pUserData, IRP* pIrp);

/* Destroys a shared receive queue; its event IRPs and up-calls end as in CiCloseCa. Outstanding
   receives are dropped without completions, and their buffers are the caller's again.
   A message of an XRC queue pair that names it is then refused: its work request completes
   IB_WC_REMOTE_INVALID_REQUEST_ERROR.
   STATUS_SUCCESS. STATUS_DEVICE_BUSY: queue pairs use it; nothing changed. */
NT_API NTSTATUS CiDestroySrq(IB_SRQ* pSrq, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Ours. Waits for an event of the shared receive queue; it is latched as port events are.
   STATUS_SUCCESS: Information is the IB_ASYNC_EVENT. STATUS_CANCELLED: also by CiDestroySrq. */
NT_API NTSTATUS CiGetSrqAsyncEvent(IB_SRQ* pSrq, IRP* pIrp);

NT_EXTERN_C_END

#endif
