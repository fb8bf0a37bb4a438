/* The driver for real HCAs, through libibverbs and libibumad.

   Contract

   HcaAttach("rdma:") attaches every HCA that the kernel has, HcaAttach("rdma:NAME") one
   ("mlx5_0"). An HCA has two sides, verbs and management, which the driver joins by name and
   GUID. An HCA without verbs creates no queues, and its limits, MTUs, VLs and violation counters
   are 0. On an HCA without management (iWARP, or no ib_umad in the kernel) the registration of
   an agent completes STATUS_NOT_SUPPORTED. A machine attaches one HCA per node GUID: "rdma:"
   with two of the same GUID returns STATUS_OBJECT_NAME_COLLISION.

   Verbs pend, since the kernel may sleep. CiPollCq, CiArmCq, and CiSendMad on an InfiniBand port
   complete inside the call, at any IRQL. CiGetCqResults calls libibverbs' provider directly
   after several consecutive polls; after an arming, a query or a resize it acquires a lock again
   for as many polls. Pended verbs of one object keep their order; the driver works on
   several objects at a time. A create or open that was cancelled while the kernel worked on it is
   undone.

   Attributes are the kernel's values. A GID table has its whole length; empty entries are 0. The
   P_Key table of a port without P_Keys has zeros. The LID is 0 if the link layer is Ethernet,
   which includes iWARP.

   CiModifyCa changes the node description; CiModifyPort changes IB_PORT_CAP_IS_SM. The kernel
   permits no other change.

   Port events are those of the kernel. Without verbs the driver polls the ports and reports the
   changes since the last poll (IB_AE_PORT_ERROR, IB_AE_LID_CHANGE, IB_AE_SM_CHANGE,
   IB_AE_PKEY_CHANGE, IB_AE_GID_CHANGE of entry 0, IB_AE_PORT_ACTIVE, in this order). The kernel
   reports the overrun of a queue for each lost entry; the driver reports it once. The removal of
   a device ends in the fatal event. The last close of an HCA closes its device.

   Completion queues: IB_CQ_ATTR.Filled counts the entries that the driver could move out of
   libibverbs' queue, at most NumCqes. libibverbs does not report which entries were solicited,
   so receives and failures that are in the queue satisfy IB_CQ_ARM_SOLICITED at once. Events
   without an entry happen, as with any hardware.

   Queue pairs: CiPostSend and CiPostRecv call libibverbs' provider directly, without a lock of the
   driver, at any IRQL; a list of more than 16 work requests is several calls. A modify and a flush
   first read the state from the kernel. Work completions are the provider's, also where it departs
   from the IBA (docs/conformance.md). An address vector keeps a handle of libibverbs for each way
   that it has had. On iWARP CiModifyQp to IB_QPS_RTS completes STATUS_NOT_SUPPORTED, and posts of
   atomics and immediate data fail. Regions are locked in memory, unless IB_AC_ON_DEMAND; there is
   no IB_AC_ZERO_BASED. Shared receive queues and windows are libibverbs' objects, outside of this
   driver, which acknowledges their events and drops them.

   MADs: retries and back-off are the client's; the driver requests no retries of the kernel.
   RMPP by the client needs kernel 3.18 or later. With an older kernel, agents of classes with
   RMPP must be registered as IB_MAD_RMPP_BY_DRIVER; others are refused with
   STATUS_NOT_SUPPORTED. On Ethernet a datagram needs a GRH.

   Limits

   - Without verbs, a change that is reverted between two polls is not reported, and neither is
     IB_AE_CLIENT_REREGISTER.
   - A completion that belongs to tag matching has an opcode and a status without an IB_WC_*
     name.
   - A request with an ResponseTimeout stays with the kernel until that time has passed; it can't
     be cancelled.
   - Kernels of 2025 and later have at most 16 requests of the SA's class on the wire per agent,
     or 128 SMPs. The other requests wait, so a response may arrive later than ResponseTimeout
     after the send.
   - A umad file is always writable, so no send waits for that. The kernel keeps 200,000 received
     datagrams and drops further ones as lost.
   - RMPP by the kernel repeats a segment three times, two seconds apart. A transfer that the
     kernel gives up is not reported.
   - On Ethernet only IPv6 GIDs get responses. A datagram to an unreachable destination is lost,
     after a second. A send that the kernel refuses, because an earlier one of the same
     transaction has not left yet, is repeated for a while.
   - StaticRate has no effect on the wire.

   Known provider quirks, passed through unchanged

   soft-RoCE:
   - It reports PORT_ACTIVE twice, and GID_CHANGE up to four times per change.
   - Its completion queues hold more than NumCqes. After the removal of a device, nothing in its
     queues is flushed.
   - Its statuses differ from IBA 10: a wrong key, and a message longer than the receive, is
     IB_WC_LOCAL_QP_OPERATION_ERROR (since 6.12 a wrong key is IB_WC_FLUSHED).
   - Its work queues are deeper than reported.
   - Its kernel never matches a response to an IPv4 GID.

   siw:
   - CiResizeCq returns STATUS_NOT_SUPPORTED.
   - ibv_post_send returns negative errnos.
   - A read into several places fills the first one and succeeds (MaxSgesOfRead is 1).
   - librdmacm finds a siw device by the Ethernet address that it was created with.

   soft-RoCE and siw:
   - On one network interface both have the same node GUID, so a machine attaches one of them.
   - The kernel's driver can't leave an open device behind: its removal waits for the last close.
     No event reports that; the driver detects it by polling the list of devices.

   All:
   - A bound window of type 2 has its new key only where the program stores it.
   - librdmacm has contexts of its own. One that stays open holds the device past the last
     close. */
#ifndef IRPVERBS_HCA_RDMA_H
#define IRPVERBS_HCA_RDMA_H

#include <hca/hca.h>

NT_EXTERN_C_BEGIN

/* Sets the interval between two polls of an open HCA, from the poll after the next one; 1000 at
   first. Unit: milliseconds.
   IRQL: <= DISPATCH_LEVEL.

   Statuses:
     STATUS_SUCCESS
     STATUS_OBJECT_NAME_NOT_FOUND  no HCA of this driver on the caller's machine has that GUID
     STATUS_INVALID_PARAMETER      milliseconds is 0, or above 0x7FFFFFFF */
NT_API NTSTATUS HcaRdmaSetPollInterval(ib_guid_t guid, ULONG milliseconds);

NT_EXTERN_C_END

#endif
