/* XRC domains (extended reliable connection): their verbs. A queue pair of the type IB_QPT_XRC_INI
   sends to any shared receive queue of its peer's domain, which each work request names by its
   number (ib_send_wr_t.remote_srq). Its peer, a queue pair of the type IB_QPT_XRC_TGT, has no work
   requests: a message completes in the completion queue of the shared receive queue, and the keys
   of peers and receives are those of that queue's protection domain. The rules at the top of
   ci/ci.h apply. Source: IBA annex A14 (XRC). */
#ifndef IRPVERBS_CI_XRC_H
#define IRPVERBS_CI_XRC_H

#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _CI_UDATA;
struct _IB_CA;

/* An XRC domain. */
typedef struct _IB_XRCD {
    ULONG Reserved;
} IB_XRCD;

/* Allocates an XRC domain: queue pairs of the type IB_QPT_XRC_TGT deliver only to shared receive
   queues of the same domain.
   Ownership: the IB_XRCD is the caller's until CiDeallocateXrcd completes.
   STATUS_SUCCESS: Information is the IB_XRCD*. STATUS_NOT_SUPPORTED: also without IB_CA_CAP_XRC.
   STATUS_INSUFFICIENT_RESOURCES: also IB_CA_ATTR.MaxXrcDomains domains exist. */
NT_API NTSTATUS CiAllocateXrcd(struct _IB_CA* pCa, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Deallocates an XRC domain. STATUS_SUCCESS.
   STATUS_DEVICE_BUSY: queue pairs or shared receive queues of it remain; nothing changed. */
NT_API NTSTATUS CiDeallocateXrcd(IB_XRCD* pXrcd, struct _CI_UDATA* pUserData, IRP* pIrp);

NT_EXTERN_C_END

#endif
