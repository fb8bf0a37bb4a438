/* Completion ports: completed IRPs wait in one queue until a thread removes them, one by one or
   several at once. Posting an IRP allocates nothing: the IRP is linked by its own
   Tail.Overlay.ListEntry. Functions that Windows has only as system calls (NtCreateIoCompletion,
   ...) begin with Io here.

   A posted IRP belongs to the port from IoCallDriver until its packet is removed. Removal frees an
   IRP of IoBuildDeviceIoControlRequest, and returns an IRP of IoAllocateIrp to its originator,
   which reuses or frees it.

   A PVOID IoCompletion is the port's handle on the machine that created it. Functions that return a
   status return STATUS_INVALID_HANDLE for another one, and for that of a port that was closed. */
#ifndef IRPVERBS_IRP_COMPLETION_PORT_H
#define IRPVERBS_IRP_COMPLETION_PORT_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* The port to which completions are posted, and their key there. Lives as long as its port. */
typedef struct _IO_COMPLETION_CONTEXT {
    PVOID Port; /* reserved */
    PVOID Key;
} IO_COMPLETION_CONTEXT, *PIO_COMPLETION_CONTEXT;

/* One packet. */
typedef struct _FILE_IO_COMPLETION_INFORMATION {
    PVOID KeyContext;
    PVOID ApcContext;
    IO_STATUS_BLOCK IoStatusBlock;
} FILE_IO_COMPLETION_INFORMATION, *PFILE_IO_COMPLETION_INFORMATION;

/* Creates a port that lets Count threads (0: one per processor) work at a time, by KQUEUE's rules.
   STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES. Ownership: the caller's, until
   IoCloseIoCompletion or the end of the machine.
   IRQL: PASSIVE_LEVEL. Source: NtCreateIoCompletion. */
NT_API NTSTATUS IoCreateIoCompletion(PVOID* IoCompletion, ULONG Count);

/* Closes the port: waiting threads return STATUS_ABANDONED_WAIT_0. Queued packets, and those of
   IRPs that complete later, are discarded and their IRPs freed (IRPs of IoInitializeIrp are left
   alone). The memory is freed when the last thread, IRP and device have left the port.
   STATUS_SUCCESS. IRQL: PASSIVE_LEVEL. Source: NtClose. */
NT_API NTSTATUS IoCloseIoCompletion(PVOID IoCompletion);

/* Creates a key of the port. STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES. Ownership: the
   port's, until its memory is freed. IRQL: <= APC_LEVEL. Ours. */
NT_API NTSTATUS IoCreateCompletionContext(PVOID IoCompletion, PVOID Key,
                                          PIO_COMPLETION_CONTEXT* CompletionContext);

/* Makes completion post Irp after its last completion routine, instead of freeing it. The caller
   must then send the IRP, and none of its completion routines may keep it: until it is posted, it
   keeps the port's memory allocated. CompletionContext replaces Irp->UserEvent, ApcContext replaces
   Irp->UserIosb. IRQL: <= DISPATCH_LEVEL. Ours. */
NT_API void IoSetCompletionContext(PIRP Irp, PIO_COMPLETION_CONTEXT CompletionContext,
                                   PVOID ApcContext);

/* Associates a device with a port and key permanently: see IoBuildDeviceIoControlRequest, and
   IoSetCompletionContext(Irp, DeviceObject->CompletionContext, ...). STATUS_SUCCESS;
   STATUS_INVALID_PARAMETER: the device already has a port; STATUS_INSUFFICIENT_RESOURCES. IRQL: <=
   APC_LEVEL. Source: FileCompletionInformation of NtSetInformationFile. */
NT_API NTSTATUS IoAssociateDevice(PDEVICE_OBJECT DeviceObject, PVOID IoCompletion, PVOID Key);

/* Sets the originator's completion routine to one that inserts Irp into Queue by its
   Tail.Overlay.ListEntry. Ownership: the queue's from the insertion, then the removing thread's.
   IRQL: <= DISPATCH_LEVEL. Ours. */
NT_API void IoSetCompletionQueue(PIRP Irp, PKQUEUE Queue);

/* Posts a packet that belongs to no IRP. STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES. Quota is
   ignored. IRQL: <= DISPATCH_LEVEL. Source: NtSetIoCompletion. */
NT_API NTSTATUS IoSetIoCompletion(PVOID IoCompletion, PVOID KeyContext, PVOID ApcContext,
                                  NTSTATUS IoStatus, ULONG_PTR IoStatusInformation, BOOLEAN Quota);

/* Removes the oldest packet, and waits for one if there is none. STATUS_SUCCESS; STATUS_TIMEOUT;
   STATUS_ABANDONED_WAIT_0: the port is closed during the wait. IRQL: <= APC_LEVEL; <=
   DISPATCH_LEVEL when *Timeout is 0. Timeout: units of 100 ns, negative relative to now; NULL: no
   limit. Source: NtRemoveIoCompletion. */
NT_API NTSTATUS IoRemoveIoCompletion(PVOID IoCompletion, PVOID* KeyContext, PVOID* ApcContext,
                                     PIO_STATUS_BLOCK IoStatusBlock, PLARGE_INTEGER Timeout);

/* Removes up to Count packets, and waits for the first. Alertable is ignored. Statuses, Timeout and
   IRQL: as IoRemoveIoCompletion. Source: NtRemoveIoCompletionEx. */
NT_API NTSTATUS IoRemoveIoCompletionEx(PVOID IoCompletion,
                                       PFILE_IO_COMPLETION_INFORMATION IoCompletionInformation,
                                       ULONG Count, PULONG NumEntriesRemoved,
                                       PLARGE_INTEGER Timeout, BOOLEAN Alertable);

/* Number of queued packets; 0 for a handle that is not valid. IRQL: <= DISPATCH_LEVEL. Source:
 * NtQueryIoCompletion. */
NT_API LONG IoQueryIoCompletion(PVOID IoCompletion);

/* An eventfd that is readable while packets are queued, for event loops; -1: the process has no
   more descriptors, or the handle is not valid. It may be readable while no packet is queued:
   remove with a time-out of 0 until STATUS_TIMEOUT, and never read the descriptor. Ownership: the
   port's, until its memory is freed. IRQL: PASSIVE_LEVEL. Ours. */
NT_API int IoCompletionEventFd(PVOID IoCompletion);

NT_EXTERN_C_END

#endif
