/* Real HCAs, through libibumad: attached as "rdma:" (every one that the kernel has) or "rdma:NAME"
   ("mlx5_0").

   Attributes are what libibumad and sysfs tell; what only libibverbs knows (limits, MTUs, VLs,
   violation counters) is 0. Agents need the kernel's ib_umad: without it, or on a port that has no
   management, registration completes STATUS_NOT_SUPPORTED. StaticRate does not reach the wire.

   Port events: libibumad has none, so while the HCA is open its ports are looked at again and
   again. What changed from one look to the next is told (IB_AE_PORT_ERROR, IB_AE_LID_CHANGE,
   IB_AE_SM_CHANGE, IB_AE_PKEY_CHANGE, IB_AE_GID_CHANGE of entry 0, IB_AE_PORT_ACTIVE, in this
   order); what changed and changed back in between is not, nor is IB_AE_CLIENT_REREGISTER.

   A device that is taken away ends in the fatal event, at the next look or receive.

   Verbs pend, but for CiSendMad on an InfiniBand port, called below DISPATCH_LEVEL: where the
   kernel may sleep, a work item calls it. */
#ifndef IRPVERBS_HCA_RDMA_H
#define IRPVERBS_HCA_RDMA_H

#include <hca/hca.h>

NT_EXTERN_C_BEGIN

/* From one look at the ports of an open HCA to the next, from the one after the next look on; in
   milliseconds, 1000 at first. STATUS_SUCCESS. STATUS_OBJECT_NAME_NOT_FOUND: no HCA of this driver
   on the caller's machine has that GUID. STATUS_INVALID_PARAMETER: 0, or above 0x7FFFFFFF. IRQL: <=
   DISPATCH_LEVEL. */
NT_API NTSTATUS HcaRdmaSetLookInterval(ib_guid_t guid, ULONG milliseconds);

NT_EXTERN_C_END

#endif
