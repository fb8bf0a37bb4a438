/* Real HCAs, through libibverbs and libibumad: attached as "rdma:" (every one that the kernel has)
   or "rdma:NAME" ("mlx5_0"). An HCA has two sides, joined by name and GUID. Without verbs it makes
   no queues, and its limits, MTUs, VLs and violation counters are 0. Without management (iWARP, or
   no ib_umad in the kernel) registration of an agent completes STATUS_NOT_SUPPORTED.

   Verbs pend, for the kernel may sleep; but CiPollCq, CiArmCq, and CiSendMad on an InfiniBand port
   are done inside the call, at any IRQL. CiGetCqResults calls libibverbs' provider straight after
   some polls in a row; an arming, a query or a resize makes it take a lock for as many. The pended
   ones of one queue keep their order, several queues are worked on at a time. A create or open that
   was cancelled while the kernel worked on it is undone.

   Attributes are the kernel's. A GID table has its whole length, empty entries are 0. A port
   without P_Keys has zeros; the LID is 0 where the link layer is Ethernet, which iWARP's is, too.
   soft-RoCE and siw on one network interface have the same node GUID: a machine takes one of them,
   "rdma:" with both is STATUS_OBJECT_NAME_COLLISION.
   Of CiModifyCa the kernel allows the description, of CiModifyPort IB_PORT_CAP_IS_SM.

   Port events are the kernel's, as often as it tells them: soft-RoCE says PORT_ACTIVE twice, and
   GID_CHANGE up to four times for a change. An overrun of a queue, which it says for each lost
   entry, is told once. Without verbs the ports are looked at again and again, and what changed from
   one look to the next is told (IB_AE_PORT_ERROR, IB_AE_LID_CHANGE, IB_AE_SM_CHANGE,
   IB_AE_PKEY_CHANGE, IB_AE_GID_CHANGE of entry 0, IB_AE_PORT_ACTIVE, in this order); what changed
   and changed back in between is not, nor is IB_AE_CLIENT_REREGISTER.

   A device that is taken away ends in the fatal event. Where the kernel's driver can't leave an
   open device behind (soft-RoCE, siw), nothing tells that somebody takes it away and waits: a look
   at the list of devices does. The last close lets it go.

   Of a queue: entries are libibverbs' own, so one that belongs to tag matching has what no IB_WC_*
   names. libibverbs does not say which entries were solicited, so IB_CQ_ARM_SOLICITED is
   satisfied at once by receives and failures that are there; events without an entry happen, as
   with any hardware. IB_CQ_ATTR.Filled counts what could be taken over from it, at most NumCqes.
   soft-RoCE's queues hold more than NumCqes; in one that the device's end has left nothing is
   flushed. Its statuses are not always those of IBA 10: a wrong key, and a message longer than the
   receive, is IB_WC_LOCAL_QP_OPERATION_ERROR (since 6.12 a wrong key: IB_WC_FLUSHED). siw does not
   resize: STATUS_NOT_SUPPORTED.

   Queue pairs, regions and windows are libibverbs' own, beside this driver; their events are
   acknowledged here and told to nobody. What their providers do otherwise than one expects is for
   who uses them: siw's ibv_post_send gives back negative errnos, and of a read into several places
   it fills the first and calls that a success (MaxSgesOfRead is 1); soft-RoCE's queues of work
   requests are deeper than they say; a bound window of type 2 has its new key only where the
   program puts it; librdmacm has contexts of its own, and looks for a siw device by the Ethernet
   address it was made with. One that is left alive holds the device past the last close.

   RMPP by the client needs a kernel that lets it (3.18 on); with an older one agents of classes
   with RMPP are registered as IB_MAD_RMPP_BY_DRIVER, or refused STATUS_NOT_SUPPORTED. The kernel
   then repeats a segment three times, two seconds apart, and of a transfer that it gives up says
   nothing.

   A question that has an AnswerTimeout is the kernel's until then: no cancel takes it back. Kernels
   of 2025 and later have 16 of the SA's class on the wire for an agent, or 128 SMPs, and let the
   rest wait, so an answer may come later than AnswerTimeout after the send. Retries and back-off
   are the client's: the kernel is asked for none, whatever its own would be. It never says that it
   can't be written to, so nobody waits for that; of what was received it keeps 200,000 datagrams,
   and drops what comes then, like any that is lost.

   Of datagrams on Ethernet: a GRH is a must, and only GIDs of IPv6 get answers (soft-RoCE's kernel
   never matches those to IPv4 ones); a destination that can't be reached is lost, after a second;
   what the kernel refuses since it has not yet sent another one of the same transaction is tried
   again for a while. StaticRate does not reach the wire. */
#ifndef IRPVERBS_HCA_RDMA_H
#define IRPVERBS_HCA_RDMA_H

#include <hca/hca.h>

NT_EXTERN_C_BEGIN

/* From one look at an open HCA to the next, from the one after the next look on; in milliseconds,
   1000 at first. STATUS_SUCCESS. STATUS_OBJECT_NAME_NOT_FOUND: no HCA of this driver
   on the caller's machine has that GUID. STATUS_INVALID_PARAMETER: 0, or above 0x7FFFFFFF. IRQL: <=
   DISPATCH_LEVEL. */
NT_API NTSTATUS HcaRdmaSetLookInterval(ib_guid_t guid, ULONG milliseconds);

NT_EXTERN_C_END

#endif
