/* The subnet manager from C: an IBMF client on the port of a channel adapter, with its subnet
   administration. The C++ interface is irpverbs::subnet_manager::manager. Source: irpverbs
   throughout. */
#ifndef IRPVERBS_SUBNET_MANAGER_SUBNET_MANAGER_H
#define IRPVERBS_SUBNET_MANAGER_SUBNET_MANAGER_H

#include <ci/ib_types.h>
#include <irp/wdm.h>

NT_EXTERN_C_BEGIN

typedef struct _SM_MANAGER SM_MANAGER;

typedef struct _SM_OPTIONS {
    ULONG Size;             /* the caller's sizeof(SM_OPTIONS); a smaller one lacks later fields */
    UCHAR Port;             /* 1 */
    UCHAR Priority;         /* 0 to 15; the manager of the highest priority is the master */
    UCHAR Lmc;              /* 0 to 7: each port has 2^Lmc LIDs */
    ib_guid_t Hca;          /* the HCA's node GUID */
    ULONGLONG SmKey;        /* 0; a manager of another key is neither handed over to nor obeyed */
    ULONGLONG SaKey;        /* 1; the key of trusted SA requests */
    ULONG StandbyPollMs;    /* 10000: the interval at which a standby manager polls the master */
    ULONG StandbyRetries;   /* 4: polls without a response before the master counts as dead */
    ULONG SmpsInFlight;     /* 64; 1 to 4096 */
    ULONG LightSweepMs;     /* 10000: the interval of light sweeps, which poll switches; 0: never */
    const char* Partitions; /* as OpenSM's partitions.conf; NULL: one, all are full members */
} SM_OPTIONS;

/* Fills Options: Size, Hca, and each other field with its default, as above. IRQL: any. */
NT_API void SmInitializeOptions(SM_OPTIONS* Options, ib_guid_t Hca);

/* Creates a manager, which is idle until SmStart. Copies the options.
   Ownership: the manager is the caller's until SmDestroy.
   IRQL: PASSIVE_LEVEL.
   Statuses:
     STATUS_SUCCESS
     STATUS_INVALID_PARAMETER  a pointer is NULL, or Size is 0 or beyond sizeof(SM_OPTIONS)
     STATUS_INSUFFICIENT_RESOURCES */
NT_API NTSTATUS SmCreate(const SM_OPTIONS* Options, SM_MANAGER** Manager);

/* Stops the manager without waiting for its end, and frees it. Has no effect on NULL. Pending IRPs
   complete as by SmStop. IRQL: <= DISPATCH_LEVEL. */
NT_API void SmDestroy(SM_MANAGER* Manager);

/* Registers the manager on the port and begins to sweep. Each of the three functions below returns
   the status, or STATUS_PENDING.
   Ownership: as with every verb, Irp is the manager's until it is completed; it needs one stack
   location.
   IRQL: <= DISPATCH_LEVEL.
   Statuses:
     STATUS_SUCCESS
     STATUS_OBJECT_NAME_NOT_FOUND   no such HCA
     STATUS_INVALID_PARAMETER       no such port, or an option out of range
     STATUS_SHARING_VIOLATION       a subnet manager is on that port
     STATUS_FILE_CLOSED             the manager was stopped before
     STATUS_INSUFFICIENT_RESOURCES
     STATUS_CANCELLED
   Cancellation: by IoCancelIrp; the manager continues. */
NT_API NTSTATUS SmStart(SM_MANAGER* Manager, PIRP Irp);

/* Waits until a sweep has ended, and every node that responded has LIDs, routes and active ports;
   or until this manager is on standby and a master has responded. Ownership, IRQL and cancellation
   as SmStart.
   Statuses:
     STATUS_SUCCESS
     STATUS_CANCELLED           cancelled, or the manager was stopped
     STATUS_FILE_FORCED_CLOSED  the HCA was removed
     STATUS_FILE_CLOSED         the manager was stopped before */
NT_API NTSTATUS SmWaitUntilUp(SM_MANAGER* Manager, PIRP Irp);

/* Stops the manager; the subnet keeps its configuration. Earlier requests complete before this one.
   Ownership, IRQL and cancellation as SmStart. Statuses: STATUS_SUCCESS, STATUS_CANCELLED. */
NT_API NTSTATUS SmStop(SM_MANAGER* Manager, PIRP Irp);

/* Checks whether Text is a valid partitions.conf. IRQL: PASSIVE_LEVEL.
   Statuses:
     STATUS_SUCCESS
     STATUS_DATA_ERROR  invalid; Message (may be NULL) receives "Name:3: expected ...", ended by
                        NUL and cut to Size bytes
     STATUS_INVALID_PARAMETER  Text or Name is NULL
     STATUS_INSUFFICIENT_RESOURCES */
NT_API NTSTATUS SmCheckPartitions(const char* Text, const char* Name, char* Message, SIZE_T Size);

NT_EXTERN_C_END

#endif
