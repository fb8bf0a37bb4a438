/* Addresses of peers, and address vectors: their verbs. The rules at the top of ci/ci.h apply.
   Names are those of WinOF; all numbers are in host byte order. Source: IBA 10.2.2 (address
   handles), 11.2.3 (their verbs). */
#ifndef IRPVERBS_CI_ADDRESS_H
#define IRPVERBS_CI_ADDRESS_H

#include <ci/ib_types.h>
#include <ci/memory.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

/* The fields of a global route header. Source: IBA 8.3. */
typedef struct _ib_grh {
    ib_gid_t dest_gid;
    ULONG flow_label;
    USHORT sgid_index; /* this end's GID, in the table of the port */
    UCHAR hop_limit;
    UCHAR traffic_class;
} ib_grh_t;

/* The way to a peer. */
typedef struct _ib_av_attr {
    ib_grh_t grh; /* valid with grh_valid */
    ib_lid_t dlid;
    UCHAR port_num; /* this end's, from 1 */
    UCHAR sl;
    UCHAR path_bits;   /* of this end's LID */
    UCHAR static_rate; /* ibv_rate; 0: the port's */
    BOOLEAN grh_valid;
} ib_av_attr_t;

/* Attributes of an address vector, as CiQueryAv returns them. */
typedef struct _ib_av_query {
    ULONG size; /* bytes of the whole block: this */
    struct _IB_PD* h_pd;
    ib_av_attr_t attr;
} ib_av_query_t;

/* An address vector of a protection domain, for unreliable datagrams. */
typedef struct _IB_AV {
    ib_av_attr_t Attr; /* of the creation, or of the last CiModifyAv */
} IB_AV;

/* Creates an address vector. Whether its way exists on the port is checked when a work request uses
   it: one that does not completes IB_WC_LOCAL_QP_OPERATION_ERROR. An HCA of the kernel checks it
   here, and in CiModifyAv: STATUS_INVALID_PARAMETER.
   Ownership: the IB_AV is the caller's until CiDestroyAv completes. It counts as created with the
   protection domain.
   STATUS_SUCCESS: Information is the IB_AV*. STATUS_INVALID_PARAMETER: also a dlid that is
   permissive, or an sl, path bits or a flow label with more than 4, 7 or 20 bits.
   STATUS_INSUFFICIENT_RESOURCES: also IB_CA_ATTR.MaxAvs address vectors exist. */
NT_API NTSTATUS CiCreateAv(IB_PD* pPd, const ib_av_attr_t* pAttr, struct _CI_UDATA* pUserData,
                           IRP* pIrp);

/* Replaces the attributes of an address vector. Work requests that were posted before keep the
   earlier ones. STATUS_SUCCESS. STATUS_INVALID_PARAMETER: as CiCreateAv; nothing changed. */
NT_API NTSTATUS CiModifyAv(IB_AV* pAv, const ib_av_attr_t* pAttr, struct _CI_UDATA* pUserData,
                           IRP* pIrp);

/* Attributes of an address vector; sizes and statuses as CiQueryCa. */
NT_API NTSTATUS CiQueryAv(IB_AV* pAv, SIZE_T AttrSize, ib_av_query_t* pAttr,
                          struct _CI_UDATA* pUserData, IRP* pIrp);

/* Destroys an address vector. Ownership: the caller ensures that no post with it is under way, and
   that work requests with it have completed. STATUS_SUCCESS. */
NT_API NTSTATUS CiDestroyAv(IB_AV* pAv, struct _CI_UDATA* pUserData, IRP* pIrp);

NT_EXTERN_C_END

#endif
