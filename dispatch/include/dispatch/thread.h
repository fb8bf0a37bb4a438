/* System threads, and the object behind the calling thread. */
#ifndef IRPVERBS_DISPATCH_THREAD_H
#define IRPVERBS_DISPATCH_THREAD_H

#include <dispatch/object.h>

NT_EXTERN_C_BEGIN

/* A thread object; it is signalled when the thread has ended. ExitStatus is final once the object
   is signalled; all other fields are the library's. */
typedef struct _KTHREAD {
    OBJECT_HEADER Header;
    LIST_ENTRY MutantListHead; /* mutexes that the thread owns */
    NTSTATUS ExitStatus;
    PVOID Processor;
    ULONG KernelApcDisable;
    ULONG SpecialApcDisable;
    PVOID StartRoutine;
    PVOID StartContext;
    PVOID Machine;
    PVOID Queue; /* the KQUEUE whose entry the thread works on */
    LIST_ENTRY QueueListEntry;
    ULONG QueueWait; /* the thread waits in KeRemoveQueue */
    ULONG Account;   /* in whose name user mode calls; 0 at first */
} KTHREAD, *PKTHREAD, *PETHREAD, *PRKTHREAD;

typedef void (*PKSTART_ROUTINE)(PVOID StartContext);

/* Returns the calling thread. IRQL: any. Source: WDK KeGetCurrentThread. */
NT_API PKTHREAD KeGetCurrentThread(void);
#define PsGetCurrentThread KeGetCurrentThread

/* Starts a thread of the current machine at PASSIVE_LEVEL. Ownership: ZwClose closes *ThreadHandle;
   the thread continues. A machine ends after its system threads: at exit the process waits for
   those of the default machine, and never ends if one of them does not return. A caller that waits
   for the thread's end waits for the object that ObReferenceObjectByHandle returns, not for the
   handle. DesiredAccess, ObjectAttributes, ProcessHandle and ClientId are ignored. IRQL:
   PASSIVE_LEVEL. STATUS_SUCCESS; STATUS_INSUFFICIENT_RESOURCES. Source: WDK
   PsCreateSystemThread. */
NT_API NTSTATUS PsCreateSystemThread(PHANDLE ThreadHandle, ULONG DesiredAccess,
                                     PVOID ObjectAttributes, HANDLE ProcessHandle, PVOID ClientId,
                                     PKSTART_ROUTINE StartRoutine, PVOID StartContext);

/* Ends the calling system thread and does not return. STATUS_INVALID_PARAMETER when the caller is
   no system thread. A C++ exception unwinds the thread's frames: C code among them needs
   -fexceptions. IRQL: PASSIVE_LEVEL. Source: WDK PsTerminateSystemThread. */
NT_API NTSTATUS PsTerminateSystemThread(NTSTATUS ExitStatus);

NT_EXTERN_C_END

#endif
