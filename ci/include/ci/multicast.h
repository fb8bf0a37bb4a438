/* Multicast: the attachment of queue pairs to groups. The rules at the top of ci/ci.h apply. Names
   are those of WinOF. Source: IBA 10.5 (multicast), 11.3 (its verbs). */
#ifndef IRPVERBS_CI_MULTICAST_H
#define IRPVERBS_CI_MULTICAST_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _CI_UDATA;
struct _IB_QP;

/* The attachment of a queue pair to a multicast group. */
typedef struct _IB_MCAST {
    ib_gid_t Gid;
    ib_lid_t Lid;
} IB_MCAST;

/* Attaches a queue pair of IB_QPT_UNRELIABLE_DGRM to a group: from now on it receives a copy of
   each datagram that reaches its port with this GID and LID, also of those that its own HCA sends,
   itself included. Attached twice, it receives one copy. The port's membership of the group, to
   which switches forward, is that of the subnet administration (saa), which also returns the LID.
   On Ethernet, a group is one of IP: the attachment joins it, an IPv4 group is mapped into a GID,
   and the LID, which must be a group's, has no meaning. Ownership: the IB_MCAST is the caller's
   until CiDetachMcast completes. It counts as created with the queue pair. STATUS_SUCCESS:
   Information is the IB_MCAST*. STATUS_INVALID_DEVICE_REQUEST: the queue pair has another type.
   STATUS_INVALID_PARAMETER: also a GID or LID that is not a group's: a LID below 0xC000, or 0xFFFF.
   STATUS_NOT_SUPPORTED: also a group of IP of another family than the port's addresses.
   STATUS_INSUFFICIENT_RESOURCES: also IB_CA_ATTR.MaxMulticastAttachments exist, or the system
   refuses the membership. */
NT_API NTSTATUS CiAttachMcast(struct _IB_QP* pQp, const ib_gid_t* pMcastGid, ib_lid_t McastLid,
                              struct _CI_UDATA* pUserData, IRP* pIrp);

/* Detaches a queue pair from a group. Datagrams that have reached its port may still complete
   receives. STATUS_SUCCESS. */
NT_API NTSTATUS CiDetachMcast(IB_MCAST* pMcast, struct _CI_UDATA* pUserData, IRP* pIrp);

NT_EXTERN_C_END

#endif
