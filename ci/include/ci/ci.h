/* The channel interface: verbs whose carrier is the caller's IRP.

   Every verb (the calls of ci/data_path.h are none)
   - sends pIrp to the HCA's FDO in its next stack location (IRP_MJ_INTERNAL_DEVICE_CONTROL), so the
     IRP needs one location for the HCA and a completion routine there; the caller's own location
     stays as it is;
   - completes pIrp exactly once, also when it fails at once. It returns the status that the IRP
     was completed with, or STATUS_PENDING and completes it later. After the call the IRP is not
     the caller's until it completes, which may be before the call returns;
   - may be called at IRQL <= DISPATCH_LEVEL;
   - keeps what its pointer parameters name until completion: buffers are the callee's until then;
   - completes STATUS_CANCELLED when IoCancelIrp comes while it is pended and before it took effect;
     a result that is there wins. Close and destroy, once begun, are not cancelled;
   - completes STATUS_FILE_FORCED_CLOSED after a fatal event (but close, destroy and events that
     are latched), STATUS_FILE_CLOSED when the object is being closed, STATUS_INVALID_PARAMETER for
     a port or flag that does not exist and for an object that is NULL, STATUS_NOT_SUPPORTED when
     the HCA's driver does not have it, STATUS_INSUFFICIENT_RESOURCES. STATUS_ACCESS_VIOLATION when
   Irp->RequestorMode is UserMode and a buffer is not mapped. An object's pointer is good until the
   verb that closes or destroys it completes. After that it is the caller's mistake to use it, as it
   is with freed memory: no status is promised. Information is 0 unless a verb says otherwise. Only
   what adds to this stands below.

   Source: the IRP-based verbs RFC (openib-windows, 2005-09-09); "ours" where it has no such verb.
 */
#ifndef IRPVERBS_CI_CI_H
#define IRPVERBS_CI_CI_H

#include <ci/attributes.h>
#include <ci/completion.h>
#include <ci/events.h>
#include <ci/mad.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

/* Bytes that a user-mode provider and the HCA's driver exchange beside a verb's parameters. The
   buffers may overlap; the driver sets OutputSize to the size of its answer. A caller for a user
   shadows them in non-paged memory (CiShadowUserData). They live until completion. */
typedef struct _CI_UDATA {
    const VOID* const pInputBuffer;
    VOID* const pOutputBuffer;
    SIZE_T InputSize;
    SIZE_T OutputSize;
} CI_UDATA;

struct _IB_CA;

/* Up-calls: at DISPATCH_LEVEL, one at a time for each object, none after its close has completed;
   the object may be closed from inside. Equal events that come while an up-call runs become one.
   An event goes to the up-call, if there is one, and completes the oldest IRP that waits for it, if
   there is one. When neither took it, it is latched: the next IRP for it completes at once. */
typedef void (*PFN_IB_CA_FATAL_EVENT)(struct _IB_CA* pCa, VOID* CaContext);
typedef void (*PFN_IB_CA_PORT_EVENT)(struct _IB_CA* pCa, VOID* CaContext, UCHAR PortNumber,
                                     IB_ASYNC_EVENT Event);

typedef struct _IB_CA_DISPATCH {
    PFN_IB_CA_FATAL_EVENT FatalEvent;
    PFN_IB_CA_PORT_EVENT PortEvent;
} IB_CA_DISPATCH;

/* An open channel adapter. */
typedef struct _IB_CA {
    IB_CA_DISPATCH Dispatch;
} IB_CA;

typedef void (*PFN_IB_CQ_COMP_EVENT)(VOID* CqContext);
typedef void (*PFN_IB_CQ_ASYNC_EVENT)(VOID* CqContext, IB_ASYNC_EVENT Event);

typedef struct _IB_CQ_DISPATCH {
    PFN_IB_CQ_COMP_EVENT CompEvent;
    PFN_IB_CQ_ASYNC_EVENT AsyncEvent;
} IB_CQ_DISPATCH;

/* A completion queue. */
typedef struct _IB_CQ {
    IB_CQ_DISPATCH Dispatch;
    ULONG NumCqes; /* entries it holds, at least what was asked for */
} IB_CQ;

/* Opens the HCA. Context is given to the up-calls of Dispatch, which may be NULL or have NULL
   members. Ownership: the IB_CA is the caller's until CiCloseCa completes.
   STATUS_SUCCESS: Information is the IB_CA*. STATUS_DELETE_PENDING: the HCA is being detached. */
NT_API NTSTATUS CiOpenCa(DEVICE_OBJECT* pHcaFdo, VOID* Context, const IB_CA_DISPATCH* Dispatch,
                         CI_UDATA* pUserData, IRP* pIrp);

/* Closes an open HCA. Parked event IRPs complete STATUS_CANCELLED before this returns; verbs still
   under way and an up-call that runs are waited for, by pending.
   STATUS_DEVICE_BUSY: objects made with it are left, nothing changed. */
NT_API NTSTATUS CiCloseCa(IB_CA* pCa, CI_UDATA* pUserData, IRP* pIrp);

/* Waits for a catastrophic error of the HCA; any number of these may wait, one completes an event.
   STATUS_SUCCESS: it happened; close the HCA. STATUS_CANCELLED: also by CiCloseCa. */
NT_API NTSTATUS CiGetCaFatalEvent(IB_CA* pCa, IRP* pIrp);

/* Waits for an event of a port; any number of these may wait, one completes an event, oldest first.
   Latched events come in the order of their last occurrence, equal ones once.
   STATUS_SUCCESS: Information is the IB_ASYNC_EVENT. STATUS_CANCELLED: also by CiCloseCa. */
NT_API NTSTATUS CiGetCaPortEvent(IB_CA* pCa, UCHAR PortNumber, IRP* pIrp);

/* Attributes of the HCA, its ports and their tables, in one block. AttrSize in bytes.
   STATUS_SUCCESS: all. STATUS_BUFFER_OVERFLOW: the beginning; pAttr->Size is the size of all.
   STATUS_BUFFER_TOO_SMALL: less than 4 bytes, nothing written. Information: bytes written. */
NT_API NTSTATUS CiQueryCa(IB_CA* pCa, SIZE_T AttrSize, IB_CA_ATTR* pAttr, IRP* pIrp);

/* Attributes of a port (from 1) and its tables, in one block; sizes and statuses as CiQueryCa. */
NT_API NTSTATUS CiQueryPort(IB_CA* pCa, UCHAR PortNumber, SIZE_T AttrSize, IB_PORT_ATTR* pAttr,
                            IRP* pIrp);

/* Changes what Flags (IB_MODIFY_CA_FLAGS) name. STATUS_SUCCESS. STATUS_INVALID_PARAMETER: an
   unknown flag; nothing changed. */
NT_API NTSTATUS CiModifyCa(IB_CA* pCa, ULONG Flags, const IB_MODIFY_CA* pModify, IRP* pIrp);

/* Changes what Flags (IB_MODIFY_PORT_FLAGS) name. Capabilities set are held by this IB_CA until it
   clears them or is closed. STATUS_SUCCESS. STATUS_FILE_LOCK_CONFLICT: another IB_CA holds one of
   them; nothing changed. STATUS_INVALID_PARAMETER: an unknown flag, or a capability outside
   IB_PORT_CAP_MODIFIABLE; nothing changed. */
NT_API NTSTATUS CiModifyPort(IB_CA* pCa, UCHAR PortNumber, ULONG Flags,
                             const IB_MODIFY_PORT* pModify, IRP* pIrp);

/* Makes a completion queue of at least NumCqes entries. Context and Dispatch as in CiOpenCa.
   Ownership: the IB_CQ is the caller's until CiDestroyCq completes.
   STATUS_SUCCESS: Information is the IB_CQ*. STATUS_INVALID_PARAMETER: NumCqes is 0 or more than
   the HCA has. */
NT_API NTSTATUS CiCreateCq(IB_CA* pCa, ULONG NumCqes, VOID* Context, const IB_CQ_DISPATCH* Dispatch,
                           CI_UDATA* pUserData, IRP* pIrp);

/* Ours. Destroys a completion queue; its event IRPs and up-calls end as in CiCloseCa.
   STATUS_SUCCESS. */
NT_API NTSTATUS CiDestroyCq(IB_CQ* pCq, CI_UDATA* pUserData, IRP* pIrp);

/* Ours. Attributes of a completion queue; sizes and statuses as CiQueryCa. */
NT_API NTSTATUS CiQueryCq(IB_CQ* pCq, SIZE_T AttrSize, IB_CQ_ATTR* pAttr, IRP* pIrp);

/* Ours. Makes the queue hold at least NumCqes entries; those in it stay.
   STATUS_SUCCESS: Information is the new size, as pCq->NumCqes. STATUS_INVALID_PARAMETER: 0, more
   than the HCA has, or fewer than are in the queue. */
NT_API NTSTATUS CiResizeCq(IB_CQ* pCq, ULONG NumCqes, CI_UDATA* pUserData, IRP* pIrp);

/* Ours. Takes up to NumEntries completions out, oldest first. Never pends. The caller serialises
   polls of one queue. STATUS_SUCCESS: Information is how many, 0 when there are none. */
NT_API NTSTATUS CiPollCq(IB_CQ* pCq, ULONG NumEntries, IB_WC* pEntries, IRP* pIrp);

/* Ours. Asks for one completion event: Flags is one of IB_CQ_ARM. Armed twice, the wider one
   holds. The event comes at once when an entry that qualifies is already there. Never pends. */
NT_API NTSTATUS CiArmCq(IB_CQ* pCq, ULONG Flags, IRP* pIrp);

/* Ours. Waits for the completion event that CiArmCq asked for; latched as port events are.
   STATUS_SUCCESS. STATUS_CANCELLED: also by CiDestroyCq. */
NT_API NTSTATUS CiGetCqCompEvent(IB_CQ* pCq, IRP* pIrp);

/* Ours. Waits for an error of the queue. STATUS_SUCCESS: Information is the IB_ASYNC_EVENT.
   STATUS_CANCELLED: also by CiDestroyCq. */
NT_API NTSTATUS CiGetCqAsyncEvent(IB_CQ* pCq, IRP* pIrp);

NT_EXTERN_C_END

#include <ci/data_path.h>

#endif
