/* Completion ports: IRPs that are done wait in one queue until some thread removes them, one by one
   or many at once. Nothing is allocated for an IRP that is posted: it waits in its own
   Tail.Overlay.ListEntry. Names that Windows has only as system calls (NtCreateIoCompletion, ...)
   begin with Io here.

   An IRP that is posted belongs to the port from IoCallDriver until its packet is removed. Removal
   frees one of IoBuildDeviceIoControlRequest, and hands one of IoAllocateIrp back to its
   originator, to be reused or freed. */
#ifndef IRPVERBS_IRP_COMPLETION_PORT_H
#define IRPVERBS_IRP_COMPLETION_PORT_H

#include <irp/device.h>

NT_EXTERN_C_BEGIN

/* Where completions go, and what they are called there. Lives as long as its port. */
typedef struct _IO_COMPLETION_CONTEXT {
    PVOID Port;
    PVOID Key;
} IO_COMPLETION_CONTEXT, *PIO_COMPLETION_CONTEXT;

/* One packet. */
typedef struct _FILE_IO_COMPLETION_INFORMATION {
    PVOID KeyContext;
    PVOID ApcContext;
    IO_STATUS_BLOCK IoStatusBlock;
} FILE_IO_COMPLETION_INFORMATION, *PFILE_IO_COMPLETION_INFORMATION;

/* A port that lets Count threads (0: one a processor) work at a time, by KQUEUE's rules.
   STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES. Ownership: the caller's; IoCloseIoCompletion.
   IRQL: PASSIVE_LEVEL. Source: NtCreateIoCompletion. */
NT_API NTSTATUS IoCreateIoCompletion(PVOID* IoCompletion, ULONG Count);

/* Ends the port: who waits gets STATUS_ABANDONED_WAIT_0. Packets that wait, and those of IRPs that
   are still on their way, are dropped and their IRPs freed (IoInitializeIrp's left alone). The
   memory goes with the last thread inside, IRP and device. IRQL: PASSIVE_LEVEL. Source: NtClose. */
NT_API void IoCloseIoCompletion(PVOID IoCompletion);

/* A key of the port. STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES. Ownership: the port's, until
   it ends. IRQL: <= APC_LEVEL. Ours. */
NT_API NTSTATUS IoCreateCompletionContext(PVOID IoCompletion, PVOID Key,
                                          PIO_COMPLETION_CONTEXT* CompletionContext);

/* Has Irp posted when its last completion routine has let it go, instead of freed. The IRP is then
   sent, and none of its routines keeps it: until it is posted it keeps the port's memory. Takes the
   place of Irp->UserEvent; ApcContext that of Irp->UserIosb. IRQL: <= DISPATCH_LEVEL. Ours. */
NT_API void IoSetCompletionContext(PIRP Irp, PIO_COMPLETION_CONTEXT CompletionContext,
                                   PVOID ApcContext);

/* Gives a device a port and key, for good: see IoBuildDeviceIoControlRequest, and
   IoSetCompletionContext(Irp, DeviceObject->CompletionContext, ...). STATUS_SUCCESS;
   STATUS_INVALID_PARAMETER when it has one; STATUS_INSUFFICIENT_RESOURCES. IRQL: <= APC_LEVEL.
   Source: FileCompletionInformation of NtSetInformationFile. */
NT_API NTSTATUS IoAssociateDevice(PDEVICE_OBJECT DeviceObject, PVOID IoCompletion, PVOID Key);

/* Has Irp put into Queue by its Tail.Overlay.ListEntry when it comes back to its originator, whose
   completion routine this is. Ownership: from then the queue's, and of who removes it.
   IRQL: <= DISPATCH_LEVEL. Ours. */
NT_API void IoSetCompletionQueue(PIRP Irp, PKQUEUE Queue);

/* Posts a packet that no IRP stands behind. STATUS_SUCCESS; STATUS_INVALID_HANDLE after the close;
   STATUS_INSUFFICIENT_RESOURCES. Quota is ignored. IRQL: <= DISPATCH_LEVEL. Source:
   NtSetIoCompletion. */
NT_API NTSTATUS IoSetIoCompletion(PVOID IoCompletion, PVOID KeyContext, PVOID ApcContext,
                                  NTSTATUS IoStatus, ULONG_PTR IoStatusInformation, BOOLEAN Quota);

/* Removes the oldest packet, waiting for one. STATUS_SUCCESS; STATUS_TIMEOUT;
   STATUS_ABANDONED_WAIT_0 after the close. Timeout in units of 100 ns, negative relative to now,
   NULL for ever. IRQL: <= APC_LEVEL; <= DISPATCH_LEVEL when *Timeout is 0.
   Source: NtRemoveIoCompletion. */
NT_API NTSTATUS IoRemoveIoCompletion(PVOID IoCompletion, PVOID* KeyContext, PVOID* ApcContext,
                                     PIO_STATUS_BLOCK IoStatusBlock, PLARGE_INTEGER Timeout);

/* Removes up to Count packets, waiting for the first. Alertable is ignored. Statuses, time-out and
   IRQL as IoRemoveIoCompletion. Source: NtRemoveIoCompletionEx. */
NT_API NTSTATUS IoRemoveIoCompletionEx(PVOID IoCompletion,
                                       PFILE_IO_COMPLETION_INFORMATION IoCompletionInformation,
                                       ULONG Count, PULONG NumEntriesRemoved,
                                       PLARGE_INTEGER Timeout, BOOLEAN Alertable);

/* Number of packets that wait. IRQL: <= DISPATCH_LEVEL. Source: NtQueryIoCompletion. */
NT_API LONG IoQueryIoCompletion(PVOID IoCompletion);

/* An eventfd that is readable while packets wait, for event loops; -1 when there are no more
   descriptors. It may be readable once too often: remove with a time-out of 0 until STATUS_TIMEOUT,
   never read it. Ownership: the port's, until it ends. IRQL: PASSIVE_LEVEL. Ours. */
NT_API int IoCompletionEventFd(PVOID IoCompletion);

NT_EXTERN_C_END

#endif
