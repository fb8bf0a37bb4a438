/* Queue pairs: their verbs, and the parameters of these. The rules at
   the top of ci/ci.h apply. Names are those of WinOF; all numbers are in host byte order. Source:
   IBA 10.2.4 (queue pairs), 10.3 (their states), 11.2.5 (their verbs). */
#ifndef IRPVERBS_CI_QP_H
#define IRPVERBS_CI_QP_H

#include <ci/address.h>
#include <ci/events.h>
#include <ci/ib_types.h>
#include <ci/memory.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _IB_CQ;
struct _IB_SRQ;
struct _IB_XRCD;

/* Types of enumerations are numbers, since a caller may store any.

   The transport service. Source: WinOF; the last two are ours. */
typedef ULONG ib_qp_type_t;
enum _ib_qp_type {
    IB_QPT_RELIABLE_CONN = 0,
    IB_QPT_UNRELIABLE_CONN = 1,
    IB_QPT_UNRELIABLE_DGRM = 3,
    IB_QPT_QP0 = 4, /* the MAD service owns QP0 and QP1 */
    IB_QPT_QP1 = 5,
    IB_QPT_RAW_ETHER = 7,
    IB_QPT_XRC_INI = 16, /* extended reliable connection: the send half */
    IB_QPT_XRC_TGT = 17  /* the receive half */
};

/* Source: IBA 10.3.1; WinOF. */
typedef ULONG ib_qp_state_t;
enum _ib_qp_state {
    IB_QPS_RESET = 0x001,
    IB_QPS_INIT = 0x002,
    IB_QPS_RTR = 0x004, /* ready to receive */
    IB_QPS_RTS = 0x008, /* ready to send */
    IB_QPS_SQD = 0x010, /* send queue drained, as a request; the next two are its states */
    IB_QPS_SQD_DRAINING = 0x030,
    IB_QPS_SQD_DRAINED = 0x050,
    IB_QPS_SQERR = 0x080, /* send queue error: unconnected and unreliable services only */
    IB_QPS_ERROR = 0x100
};

/* The state of automatic path migration. Source: IBA 17.2.8; WinOF. */
typedef ULONG ib_apm_state_t;
enum _ib_apm_state {
    IB_APM_MIGRATED = 1,
    IB_APM_REARM = 2,
    IB_APM_ARMED = 3 /* only the HCA sets it */
};

/* The up-call, as those of ci/ci.h. */
typedef void (*PFN_IB_QP_ASYNC_EVENT)(VOID* QpContext, IB_ASYNC_EVENT Event);

typedef struct _IB_QP_DISPATCH {
    PFN_IB_QP_ASYNC_EVENT AsyncEvent;
} IB_QP_DISPATCH;

/* A queue pair to be created. */
typedef struct _ib_qp_create {
    VOID* qp_context;        /* for the up-calls */
    IB_QP_DISPATCH dispatch; /* its members may be NULL */
    struct _IB_CQ* h_sq_cq;  /* NULL: it has no send queue (IB_QPT_XRC_TGT) */
    struct _IB_CQ* h_rq_cq;  /* NULL: it has no receive queue (IB_QPT_XRC_INI and _TGT) */
    struct _IB_SRQ* h_srq;   /* NULL: it has a receive queue; else rq_depth and rq_sge are 0 */
    ib_qp_type_t qp_type;
    ULONG sq_depth; /* work requests, at least */
    ULONG rq_depth;
    ULONG sq_sge; /* data segments of a work request, at least */
    ULONG rq_sge;
    ULONG sq_max_inline;     /* bytes, at least */
    BOOLEAN sq_signaled;     /* every send generates a completion */
    struct _IB_XRCD* h_xrcd; /* of IB_QPT_XRC_TGT; otherwise NULL */
} ib_qp_create_t;

/* A queue pair. The numbers below are granted: at least those that were requested. */
typedef struct _IB_QP {
    ib_qpn_t Num;
    ULONG SqDepth;
    ULONG RqDepth;
    ULONG SqSge;
    ULONG RqSge;
    ULONG SqMaxInline;
} IB_QP;

/* ib_qp_mod_t.opts: the members that are valid. Names of WinOF where it has them, values of
   ibv_modify_qp(3). */
#define IB_MOD_QP_STATE 0x000001u         /* req_state */
#define IB_MOD_QP_CURRENT_STATE 0x000002u /* current_state */
#define IB_MOD_QP_SQD_EVENT 0x000004u     /* sqd_event */
#define IB_MOD_QP_ACCESS_CTRL 0x000008u
#define IB_MOD_QP_PKEY 0x000010u         /* pkey_index */
#define IB_MOD_QP_PRIMARY_PORT 0x000020u /* primary_port */
#define IB_MOD_QP_QKEY 0x000040u
#define IB_MOD_QP_PRIMARY_AV 0x000080u
#define IB_MOD_QP_PATH_MTU 0x000100u
#define IB_MOD_QP_LOCAL_ACK_TIMEOUT 0x000200u
#define IB_MOD_QP_RETRY_CNT 0x000400u
#define IB_MOD_QP_RNR_RETRY_CNT 0x000800u
#define IB_MOD_QP_RQ_PSN 0x001000u
#define IB_MOD_QP_INIT_DEPTH 0x002000u
#define IB_MOD_QP_ALTERNATE_AV 0x004000u /* all members whose names begin with alternate_ */
#define IB_MOD_QP_RNR_NAK_TIMEOUT 0x008000u
#define IB_MOD_QP_SQ_PSN 0x010000u
#define IB_MOD_QP_RESP_RES 0x020000u
#define IB_MOD_QP_APM_STATE 0x040000u
#define IB_MOD_QP_DEST_QP 0x100000u
#define IB_MOD_QP_RATE_LIMIT 0x2000000u

/* A change of a queue pair. The members that opts does not name are ignored. */
typedef struct _ib_qp_mod {
    ULONG opts;                  /* IB_MOD_QP_* */
    ib_qp_state_t req_state;     /* not IB_QPS_SQD_DRAINING or IB_QPS_SQD_DRAINED */
    ib_qp_state_t current_state; /* that the caller assumes */
    ib_apm_state_t apm_state;    /* IB_APM_MIGRATED or IB_APM_REARM */
    ib_access_t access_ctrl;     /* of IB_AC_REMOTE */
    ib_qkey_t qkey;
    ib_qpn_t dest_qp;
    ULONG sq_psn; /* 24 bits, as the next */
    ULONG rq_psn;
    ULONG rate_limit; /* kb/s; 0: none */
    USHORT pkey_index;
    USHORT alternate_pkey_index;
    ib_av_attr_t primary_av; /* port_num is that of the queue pair */
    ib_av_attr_t alternate_av;
    UCHAR primary_port;
    UCHAR path_mtu;                    /* IB_MTU */
    UCHAR resp_res;                    /* reads and atomics of the peer at a time */
    UCHAR init_depth;                  /* reads and atomics of this end at a time */
    UCHAR rnr_nak_timeout;             /* the peer's wait for a receive: code of IBA 9.7.5.2.8 */
    UCHAR local_ack_timeout;           /* 4.096 us * 2^n, 5 bits; 0: none */
    UCHAR alternate_local_ack_timeout; /* with alternate_av */
    UCHAR retry_cnt;                   /* 0 to 7 */
    UCHAR rnr_retry_cnt;               /* 0 to 6; 7: endless */
    BOOLEAN sqd_event;                 /* IB_AE_SQ_DRAINED occurs when the send queue is drained */
} ib_qp_mod_t;

/* Attributes of a queue pair. */
typedef struct _ib_qp_attr {
    ULONG size; /* bytes of the whole block: this */
    ib_qp_type_t qp_type;
    struct _IB_PD* h_pd;
    struct _IB_CQ* h_sq_cq;
    struct _IB_CQ* h_rq_cq;
    struct _IB_SRQ* h_srq;
    ib_qp_state_t state; /* of IB_QPS_SQD one of DRAINING and DRAINED */
    ib_apm_state_t apm_state;
    ib_access_t access_ctrl;
    ib_qpn_t num;
    ib_qpn_t dest_num;
    ib_qkey_t qkey;
    ULONG sq_psn; /* of the next packet */
    ULONG rq_psn; /* that is expected */
    ULONG sq_depth;
    ULONG rq_depth;
    ULONG sq_sge;
    ULONG rq_sge;
    ULONG sq_max_inline;
    ULONG rate_limit;
    USHORT pkey_index;
    USHORT alternate_pkey_index;
    ib_av_attr_t primary_av;
    ib_av_attr_t alternate_av;
    UCHAR primary_port;
    UCHAR path_mtu;
    UCHAR resp_res;
    UCHAR init_depth;
    UCHAR rnr_nak_timeout;
    UCHAR local_ack_timeout;
    UCHAR alternate_local_ack_timeout;
    UCHAR retry_cnt;
    UCHAR rnr_retry_cnt;
    BOOLEAN sq_signaled;
    struct _IB_XRCD* h_xrcd;
} ib_qp_attr_t;

/* Creates a queue pair in the state IB_QPS_RESET.
   Ownership: the IB_QP is the caller's until CiDestroyQp completes. It counts as created with the
   protection domain, both completion queues, which may be one, the shared receive queue and the XRC
   domain.
   STATUS_SUCCESS: Information is the IB_QP*. STATUS_INVALID_PARAMETER: also a completion queue that
   is NULL or of another IB_CA, a shared receive queue of another IB_CA or together with a receive
   queue, an unknown type, or more work requests, data segments or inline bytes than the HCA
   supports; of the types of XRC a queue, completion queue or domain that the type does not have, or
   none that it has. STATUS_NOT_SUPPORTED: also a type that the HCA does not support, or that
   clients do not own. STATUS_INSUFFICIENT_RESOURCES: also IB_CA_ATTR.MaxQps queue pairs exist. */
NT_API NTSTATUS CiCreateQp(IB_PD* pPd, const ib_qp_create_t* pCreate, struct _CI_UDATA* pUserData,
                           IRP* pIrp);

/* Changes the attributes that pModify->opts names, and the state if it names IB_MOD_QP_STATE.
   Modify and flush of one queue pair execute one at a time, in their order. STATUS_SUCCESS.
   Otherwise nothing changed. STATUS_INVALID_DEVICE_STATE: the transition does not exist for this
   type, current_state is not the state, or the send queue is not yet drained.
   STATUS_INVALID_PARAMETER: also a required attribute is missing, an attribute is not allowed in
   this transition, or a value is out of its range. STATUS_NOT_SUPPORTED: also an attribute that the
   HCA does not support, and IB_QPS_RTS of iWARP, which has a connection management of its own. An
   alternate path and IB_APM_REARM are supported with IB_CA_CAP_AUTO_PATH_MIGRATION.
   Path migration: IB_APM_REARM in IB_APM_ARMED or without an alternate path, and IB_APM_MIGRATED in
   IB_APM_REARM, return STATUS_INVALID_DEVICE_STATE. An end with IB_APM_REARM enters IB_APM_ARMED
   when it receives a packet of a peer that is rearmed, too. An armed end of a reliable connection
   migrates when the last retry has failed, instead of IB_WC_RETRY_EXCEEDED. Each armed end migrates
   when IB_APM_MIGRATED is requested, and when its peer has migrated. The primary and the alternate
   path are then exchanged, with their P_Keys and timeouts, the state is IB_APM_MIGRATED, and
   IB_AE_PATH_MIGRATED occurs at both ends. A peer that has migrated to another path than the
   alternate one is not heard: IB_AE_PATH_MIGRATION_ERROR occurs once.
   Source: IBA 11.2.5.2, tables 91 and 92; 17.2.8 (path migration). */
NT_API NTSTATUS CiModifyQp(IB_QP* pQp, const ib_qp_mod_t* pModify, struct _CI_UDATA* pUserData,
                           IRP* pIrp);

/* Attributes of a queue pair; sizes and statuses as CiQueryCa. */
NT_API NTSTATUS CiQueryQp(IB_QP* pQp, SIZE_T AttrSize, ib_qp_attr_t* pAttr,
                          struct _CI_UDATA* pUserData, IRP* pIrp);

/* Destroys a queue pair; its event IRPs and up-calls end as in CiCloseCa. Outstanding work requests
   are dropped, and their buffers are the caller's again. Completions in the queues stay there; none
   is added after this has completed.
   STATUS_SUCCESS. STATUS_DEVICE_BUSY: it is attached to a multicast group; nothing changed. */
NT_API NTSTATUS CiDestroyQp(IB_QP* pQp, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Ours, as in NDK. Completes all outstanding work requests IB_WC_FLUSHED, as CiModifyQp to
   IB_QPS_ERROR does. STATUS_SUCCESS. STATUS_INVALID_DEVICE_STATE: the state is IB_QPS_RESET. */
NT_API NTSTATUS CiFlushQp(IB_QP* pQp, IRP* pIrp);

/* Ours. Waits for an event of the queue pair; it is latched as port events are. STATUS_SUCCESS:
   Information is the IB_ASYNC_EVENT. STATUS_CANCELLED: also by CiDestroyQp. */
NT_API NTSTATUS CiGetQpAsyncEvent(IB_QP* pQp, IRP* pIrp);

NT_EXTERN_C_END

#endif
