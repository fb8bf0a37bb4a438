/* Cancel-safe queues: the driver supplies list and lock; the library supplies the order of steps
   that completes every IRP exactly once. */
#ifndef IRPVERBS_IRP_CSQ_H
#define IRPVERBS_IRP_CSQ_H

#include <irp/irp.h>

NT_EXTERN_C_BEGIN

struct _IO_CSQ;

/* A key to one queued IRP; valid as long as the IRP is queued. */
typedef struct _IO_CSQ_IRP_CONTEXT {
    ULONG Type;
    struct _IRP* Irp; /* NULL once removed */
    struct _IO_CSQ* Csq;
} IO_CSQ_IRP_CONTEXT, *PIO_CSQ_IRP_CONTEXT;

typedef void (*PIO_CSQ_INSERT_IRP)(struct _IO_CSQ* Csq, PIRP Irp);
typedef NTSTATUS (*PIO_CSQ_INSERT_IRP_EX)(struct _IO_CSQ* Csq, PIRP Irp, PVOID InsertContext);
typedef void (*PIO_CSQ_REMOVE_IRP)(struct _IO_CSQ* Csq, PIRP Irp);
/* Returns the first IRP after Irp (NULL: from the head) that matches PeekContext, or NULL. */
typedef PIRP (*PIO_CSQ_PEEK_NEXT_IRP)(struct _IO_CSQ* Csq, PIRP Irp, PVOID PeekContext);
typedef void (*PIO_CSQ_ACQUIRE_LOCK)(struct _IO_CSQ* Csq, PKIRQL Irql);
typedef void (*PIO_CSQ_RELEASE_LOCK)(struct _IO_CSQ* Csq, KIRQL Irql);
/* Called without the lock; completes the IRP with STATUS_CANCELLED. */
typedef void (*PIO_CSQ_COMPLETE_CANCELED_IRP)(struct _IO_CSQ* Csq, PIRP Irp);

typedef struct _IO_CSQ {
    ULONG Type;
    PIO_CSQ_INSERT_IRP CsqInsertIrp;
    PIO_CSQ_REMOVE_IRP CsqRemoveIrp;
    PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp;
    PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock;
    PIO_CSQ_RELEASE_LOCK CsqReleaseLock;
    PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp;
    PVOID ReservePointer;
} IO_CSQ, *PIO_CSQ;

/* Prepares a queue. STATUS_SUCCESS. IRQL: any. Source: WDK IoCsqInitialize(Ex). */
NT_API NTSTATUS IoCsqInitialize(PIO_CSQ Csq, PIO_CSQ_INSERT_IRP CsqInsertIrp,
                                PIO_CSQ_REMOVE_IRP CsqRemoveIrp,
                                PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp,
                                PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock,
                                PIO_CSQ_RELEASE_LOCK CsqReleaseLock,
                                PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp);
NT_API NTSTATUS IoCsqInitializeEx(PIO_CSQ Csq, PIO_CSQ_INSERT_IRP_EX CsqInsertIrp,
                                  PIO_CSQ_REMOVE_IRP CsqRemoveIrp,
                                  PIO_CSQ_PEEK_NEXT_IRP CsqPeekNextIrp,
                                  PIO_CSQ_ACQUIRE_LOCK CsqAcquireLock,
                                  PIO_CSQ_RELEASE_LOCK CsqReleaseLock,
                                  PIO_CSQ_COMPLETE_CANCELED_IRP CsqCompleteCanceledIrp);

/* Marks the IRP pending and queues it; the dispatch routine then returns STATUS_PENDING. The IRP
   may be completed before this returns. Uses DriverContext[3]. Context: NULL, or a key for
   IoCsqRemoveIrp. IRQL: <= DISPATCH_LEVEL. Source: WDK IoCsqInsertIrp. */
NT_API void IoCsqInsertIrp(PIO_CSQ Csq, PIRP Irp, PIO_CSQ_IRP_CONTEXT Context);

/* IoCsqInsertIrp for a queue of IoCsqInitializeEx. Returns the status of CsqInsertIrp; after a
   failure the IRP is neither queued nor marked pending. IRQL: <= DISPATCH_LEVEL. Source: WDK
   IoCsqInsertIrpEx. */
NT_API NTSTATUS IoCsqInsertIrpEx(PIO_CSQ Csq, PIRP Irp, PIO_CSQ_IRP_CONTEXT Context,
                                 PVOID InsertContext);

/* Removes the IRP of the key, which is then no longer cancellable. NULL: it was removed or
   cancelled before. IRQL: <= DISPATCH_LEVEL. Source: WDK IoCsqRemoveIrp. */
NT_API PIRP IoCsqRemoveIrp(PIO_CSQ Csq, PIO_CSQ_IRP_CONTEXT Context);

/* Removes the next IRP that matches PeekContext and that no canceller owns. NULL: there is none.
   IRQL: <= DISPATCH_LEVEL. Source: WDK IoCsqRemoveNextIrp. */
NT_API PIRP IoCsqRemoveNextIrp(PIO_CSQ Csq, PVOID PeekContext);

NT_EXTERN_C_END

#endif
