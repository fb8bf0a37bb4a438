/* System threads, and the object behind the calling thread. */
#ifndef IRPVERBS_DISPATCH_THREAD_H
#define IRPVERBS_DISPATCH_THREAD_H

#include <dispatch/object.h>

NT_EXTERN_C_BEGIN

/* Signalled when the thread has ended. Opaque but for ExitStatus, which stands once it is
   signalled: the other fields are the library's. */
typedef struct _KTHREAD {
    OBJECT_HEADER Header;
    LIST_ENTRY MutantListHead; /* mutexes it owns */
    NTSTATUS ExitStatus;
    PVOID Processor;
    ULONG KernelApcDisable;
    ULONG SpecialApcDisable;
    PVOID StartRoutine;
    PVOID StartContext;
    PVOID Machine;
    PVOID Queue; /* the KQUEUE whose entry it works on */
    LIST_ENTRY QueueListEntry;
    ULONG QueueWait; /* it waits in KeRemoveQueue */
} KTHREAD, *PKTHREAD, *PETHREAD, *PRKTHREAD;

typedef void (*PKSTART_ROUTINE)(PVOID StartContext);

/* The calling thread. IRQL: any. Source: WDK KeGetCurrentThread. */
NT_API PKTHREAD KeGetCurrentThread(void);
#define PsGetCurrentThread KeGetCurrentThread

/* Starts a thread of the current machine at PASSIVE_LEVEL. STATUS_SUCCESS, or
   STATUS_INSUFFICIENT_RESOURCES. Ownership: *ThreadHandle is closed with ZwClose; the thread runs
   on. A machine ends after its system threads: the process's exit waits for those of the default
   machine, for ever if one does not return. To wait for a thread's end, wait for the object of
   ObReferenceObjectByHandle, not for the handle. DesiredAccess, ObjectAttributes, ProcessHandle
   and ClientId are ignored. IRQL: PASSIVE_LEVEL.
   Source: WDK PsCreateSystemThread. */
NT_API NTSTATUS PsCreateSystemThread(PHANDLE ThreadHandle, ULONG DesiredAccess,
                                     PVOID ObjectAttributes, HANDLE ProcessHandle, PVOID ClientId,
                                     PKSTART_ROUTINE StartRoutine, PVOID StartContext);

/* Ends the calling system thread; does not return when it is one, else STATUS_INVALID_PARAMETER.
   Unwinds the thread's frames by a C++ exception: C code among them needs -fexceptions.
   IRQL: PASSIVE_LEVEL. Source: WDK PsTerminateSystemThread. */
NT_API NTSTATUS PsTerminateSystemThread(NTSTATUS ExitStatus);

NT_EXTERN_C_END

#endif
