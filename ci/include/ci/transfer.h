/* Transfers: work requests that are IRPs, for clients that want neither to poll nor to arm a
   completion queue. The rules at the top of ci/ci.h apply. Source: ours; NDK and IBA 11.4.1 post
   without an IRP, as ci/data_path.h does. */
#ifndef IRPVERBS_CI_TRANSFER_H
#define IRPVERBS_CI_TRANSFER_H

#include <ci/completion.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _IB_QP;
struct _ib_send_wr; /* ci/data_path.h, as the next */
struct _ib_recv_wr;

/* Posts one work request to the send queue and completes the IRP with its work completion.

   The first transfer makes the completion queue of this work queue a transfer queue, until it is
   destroyed: the library receives its completion events and polls it at DISPATCH_LEVEL. From then
   on CiPollCq and CiGetCqResults return STATUS_INVALID_DEVICE_STATE for it, and the completions of
   work requests that CiPostSend, CiPostRecv or CiPostSrqRecv posted are discarded.

   Ownership: pSendWr (p_next is NULL, wr_id is free for the caller's use) and its segments are the
   HCA's until the IRP completes, and so is the memory that the segments name. With
   IB_SEND_OPT_INLINE that memory is the caller's again after the call. *pWc, which may be NULL,
   receives the work completion when one exists; its WrId is pSendWr->wr_id. IB_SEND_OPT_SIGNALED is
   implied. All memory is the kernel's.

   STATUS_SUCCESS: Information is the number of bytes that were transferred. The statuses with which
   CiPostSend fails: nothing was posted. STATUS_INVALID_PARAMETER: also p_next is not NULL.
   STATUS_INVALID_DEVICE_STATE: also the completion queue has an up-call for completion events.
   STATUS_NOT_SUPPORTED: also RequestorMode is UserMode.
   With a work completion that failed, pWc->Status is the reason, and the status is
   STATUS_CANCELLED for IB_WC_FLUSHED, STATUS_ACCESS_VIOLATION for IB_WC_LOCAL_PROTECTION_ERROR and
   IB_WC_LOCAL_ACCESS_ERROR, STATUS_INVALID_BUFFER_SIZE for IB_WC_LOCAL_LENGTH_ERROR,
   STATUS_ACCESS_DENIED for IB_WC_REMOTE_ACCESS_ERROR and IB_WC_MW_BIND_ERROR,
   STATUS_REQUEST_NOT_ACCEPTED for IB_WC_REMOTE_INVALID_REQUEST_ERROR, STATUS_REQUEST_ABORTED for
   IB_WC_REMOTE_OPERATION_ERROR and IB_WC_REMOTE_ABORTED, STATUS_INVALID_NETWORK_RESPONSE for
   IB_WC_BAD_RESPONSE_ERROR, STATUS_IO_TIMEOUT for IB_WC_RETRY_EXCEEDED and IB_WC_RESPONSE_TIMEOUT,
   STATUS_REMOTE_RESOURCES for IB_WC_RNR_RETRY_EXCEEDED, STATUS_IO_DEVICE_ERROR for every other.

   Cancellation: an HCA returns a posted work request only with all others of its queue pair.
   IoCancelIrp therefore flushes the queue pair, as CiFlushQp does: it enters IB_QPS_ERROR, and each
   of its transfers completes, STATUS_CANCELLED unless a result existed. The destruction of the
   queue pair and its change to IB_QPS_RESET complete transfers STATUS_CANCELLED, too. After a fatal
   event transfers complete when their queue pair is destroyed. */
NT_API NTSTATUS CiTransfer(struct _IB_QP* pQp, const struct _ib_send_wr* pSendWr, IB_WC* pWc,
                           IRP* pIrp);

/* Does with the receive queue and its completion queue what CiTransfer does with the send queue:
   the IRP completes when a message was received into the segments. STATUS_SUCCESS: Information is
   the length of the message in bytes; of an unreliable datagram it includes the 40 bytes for the
   GRH. Other statuses: those of CiPostRecv and CiTransfer. A queue pair with a shared receive
   queue: STATUS_INVALID_DEVICE_REQUEST. */
NT_API NTSTATUS CiTransferRecv(struct _IB_QP* pQp, const struct _ib_recv_wr* pRecvWr, IB_WC* pWc,
                               IRP* pIrp);

NT_EXTERN_C_END

#endif
