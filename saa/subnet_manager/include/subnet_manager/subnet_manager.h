/* The subnet manager from C: an IBMF client on the port of a channel adapter, with its subnet
   administration. C++ has irpverbs::subnet_manager::manager. All ours. */
#ifndef IRPVERBS_SUBNET_MANAGER_SUBNET_MANAGER_H
#define IRPVERBS_SUBNET_MANAGER_SUBNET_MANAGER_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

typedef struct _SM_MANAGER SM_MANAGER;

typedef struct _SM_OPTIONS {
    ULONG Size;           /* sizeof(SM_OPTIONS) of who fills it; a smaller one lacks later fields */
    UCHAR Port;           /* 1 */
    UCHAR Priority;       /* 0 to 15; of several managers the highest is the master */
    UCHAR Lmc;            /* 0 to 7: each port has 2^Lmc LIDs */
    ib_guid_t Hca;        /* its node GUID */
    ULONGLONG SmKey;      /* 0; a manager of another key is not handed over to, and not obeyed */
    ULONGLONG SaKey;      /* 1; of SA requests that are trusted */
    ULONG StandbyPollMs;  /* 10000: how often a manager on standby asks whether the master lives */
    ULONG StandbyRetries; /* 4: polls without an answer that are forgiven */
    ULONG SmpsInFlight;   /* 64 */
    ULONG LightSweepMs;   /* 10000: how often switches are asked for changes; 0: never */
    const char*
        Partitions; /* text as in OpenSM's partitions.conf; NULL: one, all are full members */
} SM_OPTIONS;

/* Fills Options: Size, Hca, and each other field with its default, as above. IRQL: any. */
NT_API void SmInitializeOptions(SM_OPTIONS* Options, ib_guid_t Hca);

/* Makes a manager, which does nothing before SmStart. The options are copied. Ownership: the
   caller's; SmDestroy. STATUS_SUCCESS. STATUS_INVALID_PARAMETER: NULL, or a Size of 0 or beyond
   sizeof(SM_OPTIONS). STATUS_INSUFFICIENT_RESOURCES. IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS SmCreate(const SM_OPTIONS* Options, SM_MANAGER** Manager);

/* Stops the manager without waiting for that, and frees it; NULL: nothing. IRPs that it has are
   completed as by SmStop. IRQL: <= DISPATCH_LEVEL. */
NT_API void SmDestroy(SM_MANAGER* Manager);

/* Takes the manager's place on the port and begins to sweep. Ownership of Irp: as of every verb,
   the manager's until it is completed; it needs one stack location. Each of the three returns the
   status, or STATUS_PENDING. IRQL: <= DISPATCH_LEVEL. Cancellation: IoCancelIrp, the manager goes
   on. STATUS_SUCCESS. STATUS_OBJECT_NAME_NOT_FOUND: no such HCA. STATUS_INVALID_PARAMETER: no such
   port, or an option out of range. STATUS_SHARING_VIOLATION: a subnet manager is on that port.
   STATUS_FILE_CLOSED: it was stopped before. STATUS_INSUFFICIENT_RESOURCES. STATUS_CANCELLED. */
NT_API NTSTATUS SmStart(SM_MANAGER* Manager, PIRP Irp);

/* Waits until a sweep has ended: what answered has LIDs, routes and active ports. Or until this
   manager stands by, and another that is the master has answered. Otherwise as SmStart.
   STATUS_SUCCESS. STATUS_CANCELLED: also when it is stopped. STATUS_FILE_FORCED_CLOSED: the HCA has
   gone. STATUS_FILE_CLOSED: it was stopped before. */
NT_API NTSTATUS SmWaitUntilUp(SM_MANAGER* Manager, PIRP Irp);

/* Ends the manager; the subnet stays as it is. What it was asked before is completed before.
   Otherwise as SmStart. STATUS_SUCCESS. STATUS_CANCELLED. */
NT_API NTSTATUS SmStop(SM_MANAGER* Manager, PIRP Irp);

/* Whether Text is a partitions.conf. STATUS_SUCCESS. STATUS_DATA_ERROR: Message (may be NULL) gets
   "Name:3: expected ...", ended by NUL and cut to Size bytes. STATUS_INSUFFICIENT_RESOURCES.
   IRQL: PASSIVE_LEVEL. */
NT_API NTSTATUS SmCheckPartitions(const char* Text, const char* Name, char* Message, SIZE_T Size);

NT_EXTERN_C_END

#endif
