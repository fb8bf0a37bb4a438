/* The I/O request packet: its memory, its stack locations, sending, completion and cancellation. */
#ifndef IRPVERBS_IRP_IRP_H
#define IRPVERBS_IRP_IRP_H

#include <dispatch/ke.h>
#include <irp/device_queue.h>
#include <irp/parameters.h>

NT_EXTERN_C_BEGIN

struct _IRP;
struct _DEVICE_OBJECT;
struct _FILE_OBJECT;
struct _IO_COMPLETION_CONTEXT;
struct _MDL;

typedef struct _IO_STATUS_BLOCK {
    __extension__ union {
        NTSTATUS Status;
        PVOID Pointer;
    };
    ULONG_PTR Information;
} IO_STATUS_BLOCK, *PIO_STATUS_BLOCK;

/* Called during completion, at IRQL <= DISPATCH_LEVEL, on any thread.
   STATUS_MORE_PROCESSING_REQUIRED stops completion, and the driver owns the IRP again; any other
   value lets completion continue. */
typedef NTSTATUS (*PIO_COMPLETION_ROUTINE)(struct _DEVICE_OBJECT* DeviceObject, struct _IRP* Irp,
                                           PVOID Context);
typedef PIO_COMPLETION_ROUTINE IO_COMPLETION_ROUTINE_PTR;

/* Called by IoCancelIrp at DISPATCH_LEVEL with the cancel spin lock held; must release the lock to
   Irp->CancelIrql and complete the IRP. */
typedef void (*PDRIVER_CANCEL)(struct _DEVICE_OBJECT* DeviceObject, struct _IRP* Irp);

/* Major functions. */
#define IRP_MJ_CREATE 0x00
#define IRP_MJ_CREATE_NAMED_PIPE 0x01
#define IRP_MJ_CLOSE 0x02
#define IRP_MJ_READ 0x03
#define IRP_MJ_WRITE 0x04
#define IRP_MJ_QUERY_INFORMATION 0x05
#define IRP_MJ_SET_INFORMATION 0x06
#define IRP_MJ_QUERY_EA 0x07
#define IRP_MJ_SET_EA 0x08
#define IRP_MJ_FLUSH_BUFFERS 0x09
#define IRP_MJ_QUERY_VOLUME_INFORMATION 0x0a
#define IRP_MJ_SET_VOLUME_INFORMATION 0x0b
#define IRP_MJ_DIRECTORY_CONTROL 0x0c
#define IRP_MJ_FILE_SYSTEM_CONTROL 0x0d
#define IRP_MJ_DEVICE_CONTROL 0x0e
#define IRP_MJ_INTERNAL_DEVICE_CONTROL 0x0f
#define IRP_MJ_SHUTDOWN 0x10
#define IRP_MJ_LOCK_CONTROL 0x11
#define IRP_MJ_CLEANUP 0x12
#define IRP_MJ_CREATE_MAILSLOT 0x13
#define IRP_MJ_QUERY_SECURITY 0x14
#define IRP_MJ_SET_SECURITY 0x15
#define IRP_MJ_POWER 0x16
#define IRP_MJ_SYSTEM_CONTROL 0x17
#define IRP_MJ_DEVICE_CHANGE 0x18
#define IRP_MJ_QUERY_QUOTA 0x19
#define IRP_MJ_SET_QUOTA 0x1a
#define IRP_MJ_PNP 0x1b
#define IRP_MJ_PNP_POWER IRP_MJ_PNP
#define IRP_MJ_SCSI IRP_MJ_INTERNAL_DEVICE_CONTROL
#define IRP_MJ_MAXIMUM_FUNCTION 0x1b

/* IO_STACK_LOCATION.Control */
#define SL_PENDING_RETURNED 0x01
#define SL_ERROR_RETURNED 0x02
#define SL_INVOKE_ON_CANCEL 0x20
#define SL_INVOKE_ON_SUCCESS 0x40
#define SL_INVOKE_ON_ERROR 0x80

/* IRP.Flags */
#define IRP_SYNCHRONOUS_API 0x00000004
#define IRP_ASSOCIATED_IRP 0x00000008    /* AssociatedIrp is MasterIrp */
#define IRP_BUFFERED_IO 0x00000010       /* AssociatedIrp is SystemBuffer */
#define IRP_DEALLOCATE_BUFFER 0x00000020 /* SystemBuffer is from the pool; completion frees it */
#define IRP_INPUT_OPERATION 0x00000040   /* completion copies SystemBuffer to UserBuffer */
#define IRP_POST_COMPLETION 0x01000000   /* CompletionContext, not UserEvent (ours) */

/* The request to one driver in the stack, in one cache line. FileObject shares its place with the
   last parameter of the requests that concern no open file (Plug and Play, WMI, quotas, and
   Others.Argument4). */
typedef struct _IO_STACK_LOCATION {
    UCHAR MajorFunction;
    UCHAR MinorFunction;
    UCHAR Flags;
    UCHAR Control;
    ULONG Reserved;
    __extension__ union {
        IO_STACK_PARAMETERS Parameters;
        __extension__ struct {
            PVOID ReservedForParameters[3];
            struct _FILE_OBJECT* FileObject;
        };
    };
    struct _DEVICE_OBJECT* DeviceObject;
    PIO_COMPLETION_ROUTINE CompletionRoutine;
    PVOID Context;
} IO_STACK_LOCATION, *PIO_STACK_LOCATION;

/* Owned by the driver that IoCallDriver passed it to, until that driver completes it. */
typedef struct _IRP {
    CSHORT Type;
    USHORT Size; /* bytes, stack locations included */
    ULONG Flags;
    struct _MDL* MdlAddress;
    union {
        struct _IRP* MasterIrp;
        LONG IrpCount;
        PVOID SystemBuffer;
    } AssociatedIrp;
    IO_STATUS_BLOCK IoStatus;
    KPROCESSOR_MODE RequestorMode;
    BOOLEAN PendingReturned;
    CCHAR StackCount;
    CCHAR CurrentLocation;
    BOOLEAN Cancel;
    KIRQL CancelIrql;
    UCHAR ApcEnvironment;
    UCHAR AllocationFlags;
    PIO_STATUS_BLOCK UserIosb;
    __extension__ union {
        PKEVENT UserEvent;
        struct _IO_COMPLETION_CONTEXT* CompletionContext;
    };
    __extension__ union {
        PVOID UserBuffer;
        struct {
            LARGE_INTEGER AllocationSize; /* of IRP_MJ_CREATE, which has no UserBuffer */
        } Overlay;
    };
    PDRIVER_CANCEL CancelRoutine;
    union {
        struct {
            __extension__ union { /* of the driver that holds the IRP */
                KDEVICE_QUEUE_ENTRY DeviceQueueEntry;
                PVOID DriverContext[4];
            };
            __extension__ union { /* of the driver that holds the IRP */
                LIST_ENTRY ListEntry;
                __extension__ struct { /* valid until the IRP is queued; the library leaves them
                                          alone */
                    struct _KTHREAD* Thread;
                    struct _FILE_OBJECT* OriginalFileObject;
                };
            };
        } Overlay;
    } Tail;
} IRP, *PIRP;

NT_STATIC_ASSERT(sizeof(IO_STACK_LOCATION) == 64, "a stack location is one cache line");
NT_STATIC_ASSERT(sizeof(IRP) == 128, "the header is two cache lines");

/* Size in bytes of an IRP with stack_size stack locations. IRQL: any. Source: WDK IoSizeOfIrp. */
#define IoSizeOfIrp(stack_size) ((USHORT)(sizeof(IRP) + (stack_size) * sizeof(IO_STACK_LOCATION)))

/* Allocates a zeroed IRP with StackSize locations; NULL without memory. Ownership: the caller's
   until it is sent, and again from its completion routine on; IoFreeIrp. IRQL: <= DISPATCH_LEVEL.
   Source: WDK IoAllocateIrp. */
NT_API PIRP IoAllocateIrp(CCHAR StackSize, BOOLEAN ChargeQuota);

/* Initialises memory of the caller as an IRP. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoInitializeIrp. */
NT_API void IoInitializeIrp(PIRP Irp, USHORT PacketSize, CCHAR StackSize);

/* Initialises an IRP of IoAllocateIrp again, with Status in its status block. IRQL: <=
   DISPATCH_LEVEL. Source: WDK IoReuseIrp. */
NT_API void IoReuseIrp(PIRP Irp, NTSTATUS Status);

/* Frees an IRP of IoAllocateIrp that no driver, queue or canceller holds. IRQL: <= DISPATCH_LEVEL.
   Source: WDK IoFreeIrp. */
NT_API void IoFreeIrp(PIRP Irp);

typedef enum _INLINE_IRP_CALL {
    InlineSkipLocation,
    InlineCopyLocation,
    InlineSetCompletionRoutine,
    InlineMarkPending,
    InlineGetLocation
} INLINE_IRP_CALL;

/* Only for the inline functions below. IRQL: any. */
NT_API void VerifierInlineCall(PIRP Irp, INLINE_IRP_CALL Which);
NT_API void MarkPendingSchedulingPoint(PIRP Irp);
static inline void NotifyVerifier(PIRP Irp, INLINE_IRP_CALL Which) {
#if IRPVERBS_CHECKED_INLINES
    VerifierInlineCall(Irp, Which);
#else
    (void)Irp;
    (void)Which;
#endif
}

/* The location of the driver that has the IRP. IRQL: any. Source: WDK IoGetCurrentIrpStackLocation.
 */
static inline PIO_STACK_LOCATION IoGetCurrentIrpStackLocation(PIRP Irp) {
#ifndef IRPVERBS_OWN_SOURCES
    NotifyVerifier(Irp, InlineGetLocation);
#endif
    return (PIO_STACK_LOCATION)(void*)(Irp + 1) + Irp->CurrentLocation - 1;
}
static inline PIO_STACK_LOCATION IoGetNextIrpStackLocation(PIRP Irp) NT_NOEXCEPT {
    return (PIO_STACK_LOCATION)(void*)(Irp + 1) + Irp->CurrentLocation - 2;
}

/* Makes the caller's next location its current one, for an originator that keeps the first location
   for itself. IRQL: any. Source: WDK IoSetNextIrpStackLocation. */
NT_API void IoSetNextIrpStackLocation(PIRP Irp);

/* Passes this driver's own location to the driver below; no completion routine may be set. IRQL:
   any. Source: WDK IoSkipCurrentIrpStackLocation. */
static inline void IoSkipCurrentIrpStackLocation(PIRP Irp) {
    NotifyVerifier(Irp, InlineSkipLocation);
    ++Irp->CurrentLocation;
}

/* Copies this driver's location, without the completion routine, for the driver below. IRQL: <=
   DISPATCH_LEVEL. Source: WDK IoCopyCurrentIrpStackLocationToNext. */
static inline void IoCopyCurrentIrpStackLocationToNext(PIRP Irp) {
    NotifyVerifier(Irp, InlineCopyLocation);
    const IO_STACK_LOCATION* from = IoGetCurrentIrpStackLocation(Irp);
    PIO_STACK_LOCATION to = IoGetNextIrpStackLocation(Irp);
    *to = *from;
    to->Control = 0;
    to->CompletionRoutine = NULL;
}

/* Sets the completion routine in the next location. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoSetCompletionRoutine. */
static inline void IoSetCompletionRoutine(PIRP Irp, PIO_COMPLETION_ROUTINE CompletionRoutine,
                                          PVOID Context, BOOLEAN InvokeOnSuccess,
                                          BOOLEAN InvokeOnError, BOOLEAN InvokeOnCancel) {
    NotifyVerifier(Irp, InlineSetCompletionRoutine);
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(Irp);
    next->CompletionRoutine = CompletionRoutine;
    next->Context = Context;
    next->Control = 0;
    if (CompletionRoutine == NULL) return;
    next->Control = (UCHAR)((InvokeOnSuccess ? SL_INVOKE_ON_SUCCESS : 0) |
                            (InvokeOnError ? SL_INVOKE_ON_ERROR : 0) |
                            (InvokeOnCancel ? SL_INVOKE_ON_CANCEL : 0));
}

/* Sets the completion routine in the next location and references DeviceObject until the routine
   has returned. IRQL: <= DISPATCH_LEVEL. STATUS_SUCCESS, or STATUS_INSUFFICIENT_RESOURCES. Source:
   WDK IoSetCompletionRoutineEx. */
NT_API NTSTATUS IoSetCompletionRoutineEx(struct _DEVICE_OBJECT* DeviceObject, PIRP Irp,
                                         PIO_COMPLETION_ROUTINE CompletionRoutine, PVOID Context,
                                         BOOLEAN InvokeOnSuccess, BOOLEAN InvokeOnError,
                                         BOOLEAN InvokeOnCancel);

/* Marks the IRP pending; this driver's dispatch routine then returns STATUS_PENDING. In driver code
   that is compiled with IRPVERBS_CHECKED_INLINES 1, a simulated run may switch to another actor
   before the mark. IRQL: any. Source: WDK IoMarkIrpPending. */
static inline void IoMarkIrpPending(PIRP Irp) {
#if IRPVERBS_CHECKED_INLINES && !defined(IRPVERBS_OWN_SOURCES)
    MarkPendingSchedulingPoint(Irp);
#endif
    NotifyVerifier(Irp, InlineMarkPending);
    IoGetCurrentIrpStackLocation(Irp)->Control |= SL_PENDING_RETURNED;
}

/* Passes the IRP to the driver of DeviceObject; returns the value of its dispatch routine.
   Ownership: the caller no longer owns the IRP after the call. Bug check 0x35 when no location is
   left. IRQL: <= DISPATCH_LEVEL. Source: WDK IoCallDriver. */
NT_API NTSTATUS IoCallDriver(struct _DEVICE_OBJECT* DeviceObject, PIRP Irp);
#define IofCallDriver IoCallDriver

/* Completes the IRP, whose IoStatus is set: its completion routines run from the caller's location
   up. Bug check 0x44 for an IRP that was completed before, 0xC9 with STATUS_PENDING or a cancel
   routine set. IRQL: <= DISPATCH_LEVEL. Source: WDK IoCompleteRequest. */
NT_API void IoCompleteRequest(PIRP Irp, CCHAR PriorityBoost);
#define IofCompleteRequest IoCompleteRequest
#define IO_NO_INCREMENT_BOOST 0

/* Requests cancellation: sets Irp->Cancel and calls the cancel routine if there is one. TRUE: the
   cancel routine was called. FALSE does not imply that the IRP is complete, nor that it is pending.
   The caller ensures that the IRP is not freed during the call. IRQL: <= DISPATCH_LEVEL. Source:
   WDK IoCancelIrp. */
NT_API BOOLEAN IoCancelIrp(PIRP Irp);

/* Sets the cancel routine (NULL removes it) and returns the old one. A caller that receives a
   routine owns the completion. IRQL: <= DISPATCH_LEVEL. Source: WDK IoSetCancelRoutine. */
NT_API PDRIVER_CANCEL IoSetCancelRoutine(PIRP Irp, PDRIVER_CANCEL CancelRoutine);

/* Acquires and releases the system's cancel spin lock. IRQL: <= DISPATCH_LEVEL; release: =
   DISPATCH_LEVEL. Source: WDK IoAcquireCancelSpinLock. */
NT_API void IoAcquireCancelSpinLock(PKIRQL Irql);
NT_API void IoReleaseCancelSpinLock(KIRQL Irql);

NT_EXTERN_C_END

#endif
