/* Interrupt request levels. The level belongs to the virtual processor that the calling thread is;
   raising it is a store, never a system call. */
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

/* The most virtual processors a machine can have, those of visiting threads included. */
#define MAXIMUM_PROCESSORS 1024

/* Processors by number: bit 0 is processor 0. */
typedef ULONG_PTR KAFFINITY;

/* A processor; there is one group, 0, and Reserved is 0. */
typedef struct _PROCESSOR_NUMBER {
    USHORT Group;
    UCHAR Number;
    UCHAR Reserved;
} PROCESSOR_NUMBER, *PPROCESSOR_NUMBER;

/* The caller's level. IRQL: any. Source: WDK KeGetCurrentIrql. */
NT_API KIRQL KeGetCurrentIrql(void);

/* Raises the level to NewIrql and stores the old one. IRQL: <= NewIrql, else bug check 0x09.
   Source: WDK KeRaiseIrql. */
NT_API void KeRaiseIrql(KIRQL NewIrql, PKIRQL OldIrql);

/* Raises to DISPATCH_LEVEL, gives back the old level. IRQL: <= DISPATCH_LEVEL, else bug check 0x09.
   Source: WDK KeRaiseIrqlToDpcLevel. */
NT_API KIRQL KeRaiseIrqlToDpcLevel(void);

/* Lowers the level to NewIrql; DPCs that wait on this processor run before it returns when that is
   below DISPATCH_LEVEL. IRQL: >= NewIrql, else bug check 0x0A. Source: WDK KeLowerIrql. */
NT_API void KeLowerIrql(KIRQL NewIrql);

/* Number of the virtual processor the caller runs on, below KeQueryMaximumProcessorCount.
   IRQL: any; meaningful until the thread waits. Source: WDK KeGetCurrentProcessorNumberEx. */
NT_API ULONG KeGetCurrentProcessorNumber(void);

/* Number of virtual processors that stand ready to run DPCs; they have the numbers from 0.
   IRQL: any. Source: WDK KeQueryActiveProcessorCount. */
NT_API ULONG KeQueryActiveProcessorCount(void);

/* The same as a mask: the first 64 of them. IRQL: any. Source: WDK KeQueryActiveProcessors. */
NT_API KAFFINITY KeQueryActiveProcessors(void);

/* Bound of KeGetCurrentProcessorNumber: size per-processor arrays by it (every thread that visits
   the machine is a processor of its own). IRQL: any. Source: WDK KeQueryMaximumProcessorCount. */
NT_API ULONG KeQueryMaximumProcessorCount(void);

/* Hold off APCs, from Enter to the paired Leave; they nest. IRQL: <= APC_LEVEL.
   Source: WDK KeEnterCriticalRegion, KeEnterGuardedRegion. */
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

/* First line of a routine that lives in pageable code: checked when the verifier is on. */
#define PAGED_CODE() KeAssertPagedCode(__func__)
NT_EXTERN_C_BEGIN
NT_API void KeAssertPagedCode(const char* Function);
NT_EXTERN_C_END

#endif
