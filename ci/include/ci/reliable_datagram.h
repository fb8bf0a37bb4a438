/* Reliable datagrams, which no HCA has (IB_CA_ATTR.MaxRdds and MaxEecs are 0): reliable datagram
   domains and end-to-end contexts. Each verb completes STATUS_NOT_SUPPORTED, whatever its
   parameters are, so a program written against the IBA's list of verbs compiles, and learns at its
   first one. The rules at the top of ci/ci.h apply. Names are those of the UVP. Source: IBA 10.2.8
   (end-to-end contexts), 11.2.1.7 and 11.2.1.8 (domains), 11.2.7 (contexts). */
#ifndef IRPVERBS_CI_RELIABLE_DATAGRAM_H
#define IRPVERBS_CI_RELIABLE_DATAGRAM_H

#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

struct _CI_UDATA;
struct _IB_CA;

/* There are no objects of these types. */
typedef struct _IB_RDD IB_RDD;
typedef struct _IB_EEC IB_EEC;

/* Would allocate a reliable datagram domain. STATUS_NOT_SUPPORTED. */
NT_API NTSTATUS CiAllocateRdd(struct _IB_CA* pCa, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Would deallocate a reliable datagram domain. STATUS_NOT_SUPPORTED. */
NT_API NTSTATUS CiDeallocateRdd(IB_RDD* pRdd, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Would create an end-to-end context of a domain. STATUS_NOT_SUPPORTED. */
NT_API NTSTATUS CiCreateEec(IB_RDD* pRdd, struct _CI_UDATA* pUserData, IRP* pIrp);

/* Would change the state and the attributes of an end-to-end context. STATUS_NOT_SUPPORTED. */
NT_API NTSTATUS CiModifyEec(IB_EEC* pEec, const VOID* pModify, struct _CI_UDATA* pUserData,
                            IRP* pIrp);

/* Would return the attributes of an end-to-end context. STATUS_NOT_SUPPORTED; *pAttr is not
   written. */
NT_API NTSTATUS CiQueryEec(IB_EEC* pEec, SIZE_T AttrSize, VOID* pAttr, struct _CI_UDATA* pUserData,
                           IRP* pIrp);

/* Would destroy an end-to-end context. STATUS_NOT_SUPPORTED. */
NT_API NTSTATUS CiDestroyEec(IB_EEC* pEec, struct _CI_UDATA* pUserData, IRP* pIrp);

NT_EXTERN_C_END

#endif
