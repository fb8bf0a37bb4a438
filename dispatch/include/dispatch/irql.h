/* Interrupt request levels. Each calling thread is a virtual processor, and the level belongs to
   it. Raising the level is a store, never a system call. */
#ifndef IRPVERBS_DISPATCH_IRQL_H
#define IRPVERBS_DISPATCH_IRQL_H

#include <dispatch/ntdef.h>

NT_EXTERN_C_BEGIN

typedef UCHAR KIRQL;
typedef KIRQL* PKIRQL;

#define PASSIVE_LEVEL 0
#define LOW_LEVEL 0
#define APC_LEVEL 1
#define DISPATCH_LEVEL 2
#define CLOCK_LEVEL 13
#define HIGH_LEVEL 15

/* The maximum number of virtual processors of a machine, including visiting threads. */
#define MAXIMUM_PROCESSORS 1024

/* Processors by number: bit 0 is processor 0. */
typedef ULONG_PTR KAFFINITY, *PKAFFINITY;

/* A processor. There is one group, 0; Reserved is 0. */
typedef struct _PROCESSOR_NUMBER {
    USHORT Group;
    UCHAR Number;
    UCHAR Reserved;
} PROCESSOR_NUMBER, *PPROCESSOR_NUMBER;

/* Returns the caller's level. IRQL: any. Source: WDK KeGetCurrentIrql. */
NT_API KIRQL KeGetCurrentIrql(void);

/* Raises the level to NewIrql and stores the old one. IRQL: <= NewIrql, else bug check 0x09.
   Source: WDK KeRaiseIrql. */
NT_API void KeRaiseIrql(KIRQL NewIrql, PKIRQL OldIrql);

/* Raises the level to DISPATCH_LEVEL and returns the old level. IRQL: <= DISPATCH_LEVEL, else bug
   check 0x09. Source: WDK KeRaiseIrqlToDpcLevel. */
NT_API KIRQL KeRaiseIrqlToDpcLevel(void);

/* Lowers the level to NewIrql. When NewIrql is below DISPATCH_LEVEL, the DPCs queued to this
   processor run before the call returns. IRQL: >= NewIrql, else bug check 0x0A. Source: WDK
   KeLowerIrql. */
NT_API void KeLowerIrql(KIRQL NewIrql);

/* Returns the number of the caller's virtual processor, below KeQueryMaximumProcessorCount. The
   number is valid until the thread waits. IRQL: any. Source: WDK KeGetCurrentProcessorNumberEx. */
NT_API ULONG KeGetCurrentProcessorNumber(void);

/* Returns the number of the caller's virtual processor, and stores it in *ProcNumber unless that is
   NULL; Number holds the number's low eight bits. IRQL: any. Source: WDK
   KeGetCurrentProcessorNumberEx. */
NT_API ULONG KeGetCurrentProcessorNumberEx(PPROCESSOR_NUMBER ProcNumber);

#define ALL_PROCESSOR_GROUPS 0xffff

/* Return the number of active virtual processors, which run DPCs; their numbers begin at 0.
   ActiveProcessors: NULL, or the place for the mask of KeQueryActiveProcessors. GroupNumber: 0 or
   ALL_PROCESSOR_GROUPS; any other group has no processor. IRQL: any. Source: WDK
   KeQueryActiveProcessorCount(Ex). */
NT_API ULONG KeQueryActiveProcessorCount(PKAFFINITY ActiveProcessors);
NT_API ULONG KeQueryActiveProcessorCountEx(USHORT GroupNumber);

/* Returns the first 64 active processors as a mask. IRQL: any. Source: WDK
   KeQueryActiveProcessors. */
NT_API KAFFINITY KeQueryActiveProcessors(void);

/* Return the upper bound of KeGetCurrentProcessorNumber, which is the size of a per-processor
   array: every thread that visits the machine is a processor of its own. GroupNumber: as for
   KeQueryActiveProcessorCountEx. IRQL: any. Source: WDK KeQueryMaximumProcessorCount(Ex). */
NT_API ULONG KeQueryMaximumProcessorCount(void);
NT_API ULONG KeQueryMaximumProcessorCountEx(USHORT GroupNumber);

/* Disable APCs from Enter to the paired Leave. Pairs may nest. IRQL: <= APC_LEVEL. Source: WDK
   KeEnterCriticalRegion, KeEnterGuardedRegion. */
NT_API void KeEnterCriticalRegion(void);
NT_API void KeLeaveCriticalRegion(void);
NT_API void KeEnterGuardedRegion(void);
NT_API void KeLeaveGuardedRegion(void);

/* TRUE inside a critical or guarded region, or at APC_LEVEL and above. IRQL: <= DISPATCH_LEVEL.
   Source: WDK KeAreApcsDisabled. */
NT_API BOOLEAN KeAreApcsDisabled(void);

/* TRUE inside a guarded region, or at APC_LEVEL and above. IRQL: <= DISPATCH_LEVEL.
   Source: WDK KeAreAllApcsDisabled. */
NT_API BOOLEAN KeAreAllApcsDisabled(void);

NT_EXTERN_C_END

/* First line of a routine in pageable code: the verifier, when it is on, checks the level. */
#define PAGED_CODE() KeAssertPagedCode(__func__)
NT_EXTERN_C_BEGIN
NT_API void KeAssertPagedCode(const char* Function);
NT_EXTERN_C_END

#endif
