/* The channel interface: verbs, each carried by an IRP of the caller.

   Every verb (the calls of ci/data_path.h are no verbs)
   - sends pIrp to the HCA's FDO in its next stack location (IRP_MJ_INTERNAL_DEVICE_CONTROL), so the
     IRP needs one location for the HCA and a completion routine there; the caller's own location
     stays as it is;
   - completes pIrp exactly once, also when it fails at once. It returns the status that the IRP
     was completed with, or STATUS_PENDING and completes it later. From the call to the completion
     the IRP belongs to the HCA; the completion may come before the call returns;
   - may be called at IRQL <= DISPATCH_LEVEL;
   - uses the memory that its pointer parameters name until completion: the buffers belong to the
     callee until then;
   - completes STATUS_CANCELLED when IoCancelIrp is called while it is pended and has not taken
     effect; a result that exists wins. Close and destroy, once begun, are not cancelled;
   - completes STATUS_FILE_FORCED_CLOSED after a fatal event (except close, destroy and waits for
     latched events), STATUS_FILE_CLOSED when the object is being closed, STATUS_INVALID_PARAMETER
     for a port or flag that does not exist and for an object that is NULL, STATUS_NOT_SUPPORTED
     when the HCA's driver does not implement it, STATUS_INSUFFICIENT_RESOURCES.
     STATUS_ACCESS_VIOLATION when Irp->RequestorMode is UserMode and a buffer is not mapped.

   An object's pointer is valid until the verb that closes or destroys it completes. Use of the
   pointer after that is an error of the caller, like use of freed memory: no status is promised.
   Information is 0 unless a verb says otherwise. The declarations below state only what they add
   to these rules.

   Source: the IRP-based verbs RFC (openib-windows, 2005-09-09); "ours" where it has no such verb.
 */
#ifndef IRPVERBS_CI_CI_H
#define IRPVERBS_CI_CI_H

#include <ci/address.h>
#include <ci/attributes.h>
#include <ci/completion.h>
#include <ci/events.h>
#include <ci/mad.h>
#include <ci/memory.h>
#include <ci/multicast.h>
#include <ci/qp.h>
#include <ci/srq.h>
#include <ci/transfer.h>
#include <ci/xrc.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

/* Bytes that a user-mode provider and the HCA's driver exchange in addition to a verb's parameters.
   The buffers may overlap; the driver sets OutputSize to the size of its output. A caller for a
   user captures them in non-paged memory (CiCaptureUserData). The buffers stay valid until
   completion. */
typedef struct _CI_UDATA {
    const VOID* const pInputBuffer;
    VOID* const pOutputBuffer;
    SIZE_T InputSize;
    SIZE_T OutputSize;
} CI_UDATA;

struct _IB_CA;

/* Up-calls run at DISPATCH_LEVEL, one at a time for each object, and never after its close has
   completed; an up-call may close its object. Equal events that occur while an up-call runs become
   one. An event goes to the up-call, if there is one, and completes the oldest IRP that waits for
   it, if there is one. An event that neither took is latched: the next IRP that waits for it
   completes at once. */
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
    ULONG NumCqes; /* entries it holds, at least as many as requested; valid while no CiResizeCq is
                      under way */
} IB_CQ;

/* Opens the HCA. The up-calls of Dispatch, which may be NULL or have NULL members, receive Context.
   Ownership: the IB_CA is the caller's until CiCloseCa completes.
   STATUS_SUCCESS: Information is the IB_CA*. STATUS_DELETE_PENDING: the HCA is being detached. */
NT_API NTSTATUS CiOpenCa(DEVICE_OBJECT* pHcaFdo, VOID* Context, const IB_CA_DISPATCH* Dispatch,
                         CI_UDATA* pUserData, IRP* pIrp);

/* Closes an open HCA. Pended event IRPs complete STATUS_CANCELLED before this returns. The close
   pends until verbs under way and a running up-call have ended.
   STATUS_DEVICE_BUSY: objects created with it remain; nothing changed. */
NT_API NTSTATUS CiCloseCa(IB_CA* pCa, CI_UDATA* pUserData, IRP* pIrp);

/* Waits for a catastrophic error of the HCA; any number of IRPs may wait, and an event completes
   one of them.
   STATUS_SUCCESS: it happened; close the HCA. STATUS_CANCELLED: also by CiCloseCa. */
NT_API NTSTATUS CiGetCaFatalEvent(IB_CA* pCa, IRP* pIrp);

/* Waits for an event of a port; any number of IRPs may wait, and an event completes the oldest.
   Latched events are returned in the order of their last occurrence, equal ones once.
   STATUS_SUCCESS: Information is the IB_ASYNC_EVENT. STATUS_CANCELLED: also by CiCloseCa. */
NT_API NTSTATUS CiGetCaPortEvent(IB_CA* pCa, UCHAR PortNumber, IRP* pIrp);

/* Attributes of the HCA, its ports and their tables, in one block. AttrSize in bytes.
   STATUS_SUCCESS: the whole block. STATUS_BUFFER_OVERFLOW: its first AttrSize bytes; pAttr->Size is
   the size of the whole block. STATUS_BUFFER_TOO_SMALL: AttrSize is less than 4 bytes, nothing
   written. Information: bytes written. */
NT_API NTSTATUS CiQueryCa(IB_CA* pCa, SIZE_T AttrSize, IB_CA_ATTR* pAttr, IRP* pIrp);

/* Attributes of a port (from 1) and its tables, in one block; sizes and statuses as CiQueryCa. */
NT_API NTSTATUS CiQueryPort(IB_CA* pCa, UCHAR PortNumber, SIZE_T AttrSize, IB_PORT_ATTR* pAttr,
                            IRP* pIrp);

/* Changes the attributes that Flags (IB_MODIFY_CA_FLAGS) name. STATUS_SUCCESS.
   STATUS_INVALID_PARAMETER: an unknown flag; nothing changed. */
NT_API NTSTATUS CiModifyCa(IB_CA* pCa, ULONG Flags, const IB_MODIFY_CA* pModify, IRP* pIrp);

/* Changes the attributes that Flags (IB_MODIFY_PORT_FLAGS) name. This IB_CA holds the capabilities
   that it sets until it clears them or is closed. STATUS_SUCCESS. STATUS_FILE_LOCK_CONFLICT:
   another IB_CA holds one of them; nothing changed. STATUS_INVALID_PARAMETER: an unknown flag, or a
   capability outside IB_PORT_CAP_MODIFIABLE; nothing changed. */
NT_API NTSTATUS CiModifyPort(IB_CA* pCa, UCHAR PortNumber, ULONG Flags,
                             const IB_MODIFY_PORT* pModify, IRP* pIrp);

/* Creates a completion queue of at least NumCqes entries. Context and Dispatch as in CiOpenCa.
   Ownership: the IB_CQ is the caller's until CiDestroyCq completes.
   STATUS_SUCCESS: Information is the IB_CQ*. STATUS_INVALID_PARAMETER: NumCqes is 0 or more than
   the HCA supports. */
NT_API NTSTATUS CiCreateCq(IB_CA* pCa, ULONG NumCqes, VOID* Context, const IB_CQ_DISPATCH* Dispatch,
                           CI_UDATA* pUserData, IRP* pIrp);

/* Ours. Destroys a completion queue; its event IRPs and up-calls end as in CiCloseCa.
   STATUS_SUCCESS. */
NT_API NTSTATUS CiDestroyCq(IB_CQ* pCq, CI_UDATA* pUserData, IRP* pIrp);

/* Ours. Attributes of a completion queue; sizes and statuses as CiQueryCa. */
NT_API NTSTATUS CiQueryCq(IB_CQ* pCq, SIZE_T AttrSize, IB_CQ_ATTR* pAttr, IRP* pIrp);

/* Ours. Resizes the queue to at least NumCqes entries; the entries in it stay.
   STATUS_SUCCESS: Information is the new size, as pCq->NumCqes. STATUS_INVALID_PARAMETER: NumCqes
   is 0, more than the HCA supports, or less than the number of entries in the queue. */
NT_API NTSTATUS CiResizeCq(IB_CQ* pCq, ULONG NumCqes, CI_UDATA* pUserData, IRP* pIrp);

/* Ours. Removes up to NumEntries completions, oldest first. Never pends. The caller serialises
   polls of one queue. STATUS_SUCCESS: Information is the number of completions, 0 when there are
   none. */
NT_API NTSTATUS CiPollCq(IB_CQ* pCq, ULONG NumEntries, IB_WC* pEntries, IRP* pIrp);

/* Ours. Requests one completion event: Flags is one of IB_CQ_ARM. When the queue is armed twice,
   the wider request holds. The event occurs at once when the queue already has an entry that
   qualifies. Never pends. */
NT_API NTSTATUS CiArmCq(IB_CQ* pCq, ULONG Flags, IRP* pIrp);

/* Ours. Waits for the completion event that CiArmCq requested; it is latched as port events are.
   STATUS_SUCCESS. STATUS_CANCELLED: also by CiDestroyCq. */
NT_API NTSTATUS CiGetCqCompEvent(IB_CQ* pCq, IRP* pIrp);

/* Ours. Waits for an error of the queue. STATUS_SUCCESS: Information is the IB_ASYNC_EVENT.
   STATUS_CANCELLED: also by CiDestroyCq. */
NT_API NTSTATUS CiGetCqAsyncEvent(IB_CQ* pCq, IRP* pIrp);

NT_EXTERN_C_END

#include <ci/data_path.h>

#endif
