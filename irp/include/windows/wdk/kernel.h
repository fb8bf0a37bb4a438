/* The rest of the kernel's own interface: processors, priorities, APCs, floating point. Source: WDK
   wdm.h and ntddk.h reference. */
#ifndef IRPVERBS_WINDOWS_KERNEL_H
#define IRPVERBS_WINDOWS_KERNEL_H

#include <windows/wdk/function_types.h>
#include <windows/wdk/objects.h>

#define LOW_PRIORITY 0
#define LOW_REALTIME_PRIORITY 16
#define HIGH_PRIORITY 31
#define MAXIMUM_PRIORITY 32
#define PROFILE_LEVEL 15
#define IPI_LEVEL 14
#define POWER_LEVEL 14
#define DRS_LEVEL 14
#define CMCI_LEVEL 5
#define SYNCH_LEVEL 12
#define DPC_NORMAL 0
#define MAXIMUM_WAIT_OBJECTS_EX MAXIMUM_WAIT_OBJECTS
#define PROCESSOR_ARCHITECTURE_AMD64 9
#define CACHE_LINE_SIZE 64
#define KERNEL_STACK_SIZE 0x6000
#define KERNEL_LARGE_STACK_SIZE 0x12000
#define KERNEL_LARGE_STACK_COMMIT KERNEL_STACK_SIZE
#define WrExecutive Executive
#define WrUserRequest UserRequest

typedef struct _GROUP_AFFINITY {
    KAFFINITY Mask;
    USHORT Group;
    USHORT Reserved[3];
} GROUP_AFFINITY, *PGROUP_AFFINITY;
typedef struct _KAPC_STATE {
    LIST_ENTRY ApcListHead[2];
    PKPROCESS Process;
} KAPC_STATE, *PKAPC_STATE, *PRKAPC_STATE;
typedef struct _KAPC {
    UCHAR Opaque[88];
} KAPC, *PKAPC, *PRKAPC;
typedef struct _KFLOATING_SAVE {
    ULONG Dummy;
} KFLOATING_SAVE, *PKFLOATING_SAVE;
typedef struct _XSTATE_SAVE {
    ULONG64 Reserved[8];
} XSTATE_SAVE, *PXSTATE_SAVE;
typedef struct _KINTERRUPT *PKINTERRUPT, *PRKINTERRUPT, KINTERRUPT;
typedef enum _KPROFILE_SOURCE { ProfileTime } KPROFILE_SOURCE;
typedef DISPATCHER_HEADER* PDISPATCHER_HEADER;
typedef CCHAR KPROCESSOR_STATE;
typedef PKTIMER PRKTIMER;
typedef enum _KBUGCHECK_CALLBACK_REASON {
    KbCallbackInvalid,
    KbCallbackReserved1,
    KbCallbackSecondaryDumpData,
    KbCallbackDumpIo,
    KbCallbackAddPages,
    KbCallbackSecondaryMultiPartDumpData,
    KbCallbackRemovePages,
    KbCallbackTriageDumpData
} KBUGCHECK_CALLBACK_REASON;
typedef enum _KBUGCHECK_BUFFER_DUMP_STATE {
    BufferEmpty,
    BufferInserted,
    BufferStarted,
    BufferFinished,
    BufferIncomplete
} KBUGCHECK_BUFFER_DUMP_STATE;
typedef void KBUGCHECK_CALLBACK_ROUTINE(PVOID Buffer, ULONG Length);
typedef KBUGCHECK_CALLBACK_ROUTINE* PKBUGCHECK_CALLBACK_ROUTINE;
typedef struct _KBUGCHECK_CALLBACK_RECORD {
    LIST_ENTRY Entry;
    PKBUGCHECK_CALLBACK_ROUTINE CallbackRoutine;
    PVOID Buffer;
    ULONG Length;
    PUCHAR Component;
    ULONG_PTR Checksum;
    UCHAR State;
} KBUGCHECK_CALLBACK_RECORD, *PKBUGCHECK_CALLBACK_RECORD;
struct _KBUGCHECK_REASON_CALLBACK_RECORD;
typedef void KBUGCHECK_REASON_CALLBACK_ROUTINE(KBUGCHECK_CALLBACK_REASON Reason,
                                               struct _KBUGCHECK_REASON_CALLBACK_RECORD* Record,
                                               PVOID ReasonSpecificData,
                                               ULONG ReasonSpecificDataLength);
typedef KBUGCHECK_REASON_CALLBACK_ROUTINE* PKBUGCHECK_REASON_CALLBACK_ROUTINE;
typedef struct _KBUGCHECK_REASON_CALLBACK_RECORD {
    LIST_ENTRY Entry;
    PKBUGCHECK_REASON_CALLBACK_ROUTINE CallbackRoutine;
    PUCHAR Component;
    ULONG_PTR Checksum;
    KBUGCHECK_CALLBACK_REASON Reason;
    UCHAR State;
} KBUGCHECK_REASON_CALLBACK_RECORD, *PKBUGCHECK_REASON_CALLBACK_RECORD;
typedef struct _KBUGCHECK_SECONDARY_DUMP_DATA {
    PVOID InBuffer;
    ULONG InBufferLength;
    ULONG MaximumAllowed;
    GUID Guid;
    PVOID OutBuffer;
    ULONG OutBufferLength;
} KBUGCHECK_SECONDARY_DUMP_DATA, *PKBUGCHECK_SECONDARY_DUMP_DATA;
typedef void (*PKRUNDOWN_ROUTINE)(PKAPC Apc);
typedef void (*PKNORMAL_ROUTINE)(PVOID NormalContext, PVOID SystemArgument1, PVOID SystemArgument2);

#define INVALID_PROCESSOR_INDEX 0xffffffffu
#define KeInitializeCallbackRecord(record) ((record)->State = BufferEmpty)

NT_EXTERN_C_BEGIN

/* The machine has no priorities, and the calls change nothing: they return 8, and an increment of
   0. IRQL: PASSIVE_LEVEL. Source: WDK KeSetPriorityThread. */
NT_API KPRIORITY KeSetPriorityThread(PKTHREAD Thread, KPRIORITY Priority);
NT_API KPRIORITY KeQueryPriorityThread(PKTHREAD Thread);
NT_API LONG KeSetBasePriorityThread(PKTHREAD Thread, LONG Increment);

/* Threads run on any processor of the one group and node; the calls change nothing.
   KeGetProcessorIndexFromNumber returns INVALID_PROCESSOR_INDEX, KeGetProcessorNumberFromIndex
   STATUS_INVALID_PARAMETER for a processor that does not exist. IRQL: <= APC_LEVEL. */
NT_API KAFFINITY KeSetSystemAffinityThreadEx(KAFFINITY Affinity);
NT_API void KeRevertToUserAffinityThreadEx(KAFFINITY Affinity);
NT_API void KeSetSystemAffinityThread(KAFFINITY Affinity);
NT_API void KeRevertToUserAffinityThread(void);
NT_API void KeSetSystemGroupAffinityThread(PGROUP_AFFINITY Affinity,
                                           PGROUP_AFFINITY PreviousAffinity);
NT_API void KeRevertToUserGroupAffinityThread(PGROUP_AFFINITY PreviousAffinity);
NT_API USHORT KeQueryActiveGroupCount(void);
NT_API USHORT KeQueryMaximumGroupCount(void);
NT_API USHORT KeQueryHighestNodeNumber(void);
NT_API USHORT KeGetCurrentNodeNumber(void);
NT_API KAFFINITY KeQueryGroupAffinity(USHORT GroupNumber);
NT_API NTSTATUS KeGetProcessorNumberFromIndex(ULONG ProcIndex, PPROCESSOR_NUMBER ProcNumber);
NT_API ULONG KeGetProcessorIndexFromNumber(PPROCESSOR_NUMBER ProcNumber);

/* Floating point needs no saving here. STATUS_SUCCESS. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS KeSaveFloatingPointState(PKFLOATING_SAVE FloatSave);
NT_API NTSTATUS KeRestoreFloatingPointState(PKFLOATING_SAVE FloatSave);
NT_API NTSTATUS KeSaveExtendedProcessorState(ULONG64 Mask, PXSTATE_SAVE XStateSave);
NT_API void KeRestoreExtendedProcessorState(PXSTATE_SAVE XStateSave);
NT_API void KeFlushIoBuffers(PMDL Mdl, BOOLEAN ReadOperation, BOOLEAN DmaOperation);

NT_API void KeInitializeCrashDumpHeader(ULONG Type, ULONG Flags, PVOID Buffer, ULONG Size,
                                        PULONG Needed);
NT_API BOOLEAN KeRegisterBugCheckCallback(PKBUGCHECK_CALLBACK_RECORD CallbackRecord,
                                          PKBUGCHECK_CALLBACK_ROUTINE CallbackRoutine, PVOID Buffer,
                                          ULONG Length, PUCHAR Component);
NT_API BOOLEAN KeDeregisterBugCheckCallback(PKBUGCHECK_CALLBACK_RECORD CallbackRecord);
NT_API BOOLEAN KeRegisterBugCheckReasonCallback(PKBUGCHECK_REASON_CALLBACK_RECORD CallbackRecord,
                                                PKBUGCHECK_REASON_CALLBACK_ROUTINE CallbackRoutine,
                                                KBUGCHECK_CALLBACK_REASON Reason, PUCHAR Component);
NT_API BOOLEAN KeDeregisterBugCheckReasonCallback(PKBUGCHECK_REASON_CALLBACK_RECORD CallbackRecord);

NT_API void KeStackAttachProcess(PRKPROCESS Process, PRKAPC_STATE ApcState);
NT_API void KeUnstackDetachProcess(PRKAPC_STATE ApcState);
NT_API void KeAttachProcess(PRKPROCESS Process);
NT_API void KeDetachProcess(void);
NT_API KPROCESSOR_MODE KeGetPreviousMode(void);
NT_API BOOLEAN KeIsExecutingDpc(void);
NT_API ULONG_PTR KeIpiGenericCall(ULONG_PTR (*BroadcastFunction)(ULONG_PTR), ULONG_PTR Context);
NT_API ULONGLONG KeQueryInterruptTimePrecise(PULONG64 QpcTimeStamp);
NT_API void KeQuerySystemTimePrecise(PLARGE_INTEGER CurrentTime);
NT_API ULONGLONG KeQueryUnbiasedInterruptTime(void);
NT_API BOOLEAN KeSetCoalescableTimer(PKTIMER Timer, LARGE_INTEGER DueTime, ULONG Period,
                                     ULONG TolerableDelay, PKDPC Dpc);
/* Calls the routine on the caller's stack. STATUS_SUCCESS. IRQL: <= DISPATCH_LEVEL. */
NT_API NTSTATUS KeExpandKernelStackAndCallout(void (*Callout)(PVOID), PVOID Parameter, SIZE_T Size);
NT_API NTSTATUS KeExpandKernelStackAndCalloutEx(void (*Callout)(PVOID), PVOID Parameter,
                                                SIZE_T Size, BOOLEAN Wait, PVOID Context);
typedef void EXPAND_STACK_CALLOUT(PVOID Parameter);
typedef EXPAND_STACK_CALLOUT* PEXPAND_STACK_CALLOUT;
NT_API ULONG_PTR IoGetRemainingStackSize(void);
NT_API void IoGetStackLimits(PULONG_PTR LowLimit, PULONG_PTR HighLimit);
NT_API ULONG IoWithinStackLimits(ULONG_PTR RegionStart, SIZE_T RegionSize);
typedef enum _LOGICAL_PROCESSOR_RELATIONSHIP {
    RelationProcessorCore,
    RelationNumaNode,
    RelationCache,
    RelationProcessorPackage,
    RelationGroup,
    RelationAll = 0xffff
} LOGICAL_PROCESSOR_RELATIONSHIP;
typedef struct _SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX,
    *PSYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX;
NT_API NTSTATUS KeQueryLogicalProcessorRelationship(
    PPROCESSOR_NUMBER ProcessorNumber, LOGICAL_PROCESSOR_RELATIONSHIP RelationshipType,
    PSYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX Information, PULONG Length);
NT_API ULONG ExSetTimerResolution(ULONG DesiredTime, BOOLEAN SetResolution);
NT_API void ExQueryTimerResolution(PULONG MaximumTime, PULONG MinimumTime, PULONG CurrentTime);
typedef enum _HARDWARE_COUNTER_TYPE { PMCCounter, MaxHardwareCounterType } HARDWARE_COUNTER_TYPE;
typedef struct _HARDWARE_COUNTER {
    HARDWARE_COUNTER_TYPE Type;
    ULONG Reserved;
    ULONG64 Index;
} HARDWARE_COUNTER, *PHARDWARE_COUNTER;
NT_API NTSTATUS KeQueryHardwareCounterConfiguration(PHARDWARE_COUNTER Array, ULONG Maximum,
                                                    PULONG Count);

/* Barriers and processor hints. */
#define KeMemoryBarrier() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define MemoryBarrier() KeMemoryBarrier()
#define KeMemoryBarrierWithoutFence() __asm__ __volatile__("" ::: "memory")
#if !__has_builtin(_ReadWriteBarrier) /* clang has them as functions */
static inline void _ReadWriteBarrier(void) { KeMemoryBarrierWithoutFence(); }
static inline void _ReadBarrier(void) { KeMemoryBarrierWithoutFence(); }
static inline void _WriteBarrier(void) { KeMemoryBarrierWithoutFence(); }
#endif
#define _mm_pause() __builtin_ia32_pause()
#define YieldProcessor() __builtin_ia32_pause()
#define KeYieldProcessor YieldProcessor
#define KeLowerIrqlNoDpc KeLowerIrql
#define KeGetRecommendedSharedDataAlignment() 64u
#define __rdtsc() __builtin_ia32_rdtsc()
#define ReadTimeStampCounter() __builtin_ia32_rdtsc()
#define KeGetCurrentProcessorIndex() KeGetCurrentProcessorNumberEx(NULL)
#define KeTestAlertThread(mode) FALSE
#define KeQueryInterruptTimeCoarse KeQueryInterruptTime
#define KeReadStateMutant KeReadStateMutex
#define KeInitializeMutant(mutex, owned) KeInitializeMutex((mutex), 0)

NT_EXTERN_C_END

/* Interlocked operations that the library's own headers do not use. */
#define InterlockedXor(target, value) __atomic_fetch_xor((target), (value), __ATOMIC_SEQ_CST)
#define InterlockedAdd(target, value) __atomic_add_fetch((target), (value), __ATOMIC_SEQ_CST)
#define InterlockedAdd64(target, value) __atomic_add_fetch((target), (value), __ATOMIC_SEQ_CST)
#define InterlockedOr64(target, value) __atomic_fetch_or((target), (value), __ATOMIC_SEQ_CST)
#define InterlockedAnd64(target, value) __atomic_fetch_and((target), (value), __ATOMIC_SEQ_CST)
#define InterlockedXor64(target, value) __atomic_fetch_xor((target), (value), __ATOMIC_SEQ_CST)
#define InterlockedIncrement16(target) __atomic_add_fetch((target), 1, __ATOMIC_SEQ_CST)
#define InterlockedDecrement16(target) __atomic_sub_fetch((target), 1, __ATOMIC_SEQ_CST)
#define InterlockedCompareExchange16(target, exchange, comparand)                                  \
    __sync_val_compare_and_swap((target), (comparand), (exchange))
#define InterlockedExchange8(target, value) __atomic_exchange_n((target), (value), __ATOMIC_SEQ_CST)
#define InterlockedBitTestAndSet(target, bit)                                                      \
    ((UCHAR)((__atomic_fetch_or((target), 1 << (bit), __ATOMIC_SEQ_CST) >> (bit)) & 1))
#define InterlockedBitTestAndReset(target, bit)                                                    \
    ((UCHAR)((__atomic_fetch_and((target), ~(1 << (bit)), __ATOMIC_SEQ_CST) >> (bit)) & 1))
#define InterlockedIncrementAcquire InterlockedIncrement
#define InterlockedIncrementRelease InterlockedIncrement
#define InterlockedIncrementNoFence InterlockedIncrement
#define InterlockedDecrementAcquire InterlockedDecrement
#define InterlockedDecrementRelease InterlockedDecrement
#define InterlockedDecrementNoFence InterlockedDecrement
#define InterlockedExchangeNoFence InterlockedExchange
#define InterlockedExchangeAcquire InterlockedExchange
#define InterlockedCompareExchangeAcquire InterlockedCompareExchange
#define InterlockedCompareExchangeRelease InterlockedCompareExchange
#define InterlockedCompareExchangeNoFence InterlockedCompareExchange
#define InterlockedExchangePointerNoFence InterlockedExchangePointer
#define InterlockedExchangePointerAcquire InterlockedExchangePointer
#define InterlockedCompareExchangePointerAcquire InterlockedCompareExchangePointer
#define InterlockedCompareExchangePointerRelease InterlockedCompareExchangePointer
#define InterlockedCompareExchangePointerNoFence InterlockedCompareExchangePointer
#define InterlockedExchangeAddSizeT(target, value)                                                 \
    ((SIZE_T)InterlockedExchangeAdd64((LONG64 volatile*)(target), (LONG64)(value)))
#define InterlockedIncrementSizeT(target)                                                          \
    ((SIZE_T)InterlockedIncrement64((LONG64 volatile*)(target)))
#define InterlockedDecrementSizeT(target)                                                          \
    ((SIZE_T)InterlockedDecrement64((LONG64 volatile*)(target)))
#define InterlockedExchangeAddLargeStatistic InterlockedExchangeAdd64
#define ExInterlockedAddLargeStatistic(target, value)                                              \
    ((void)__atomic_fetch_add(&(target)->QuadPart, (value), __ATOMIC_SEQ_CST))
#define ExInterlockedAddLargeInteger(target, value, lock)                                          \
    IrpverbsLarge(__atomic_fetch_add(&(target)->QuadPart, (value).QuadPart, __ATOMIC_SEQ_CST))
#define ExInterlockedAddUlong(target, value, lock)                                                 \
    __atomic_fetch_add((target), (value), __ATOMIC_SEQ_CST)
#define ExInterlockedIncrementLong(target, lock) InterlockedIncrement(target)
#define ExInterlockedDecrementLong(target, lock) InterlockedDecrement(target)
#define ExInterlockedExchangeUlong(target, value, lock)                                            \
    ((ULONG)InterlockedExchange((LONG volatile*)(target), (LONG)(value)))
#define ExInterlockedCompareExchange64(target, exchange, comparand, lock)                          \
    InterlockedCompareExchange64((target), *(exchange), *(comparand))
#define _interlockedbittestandset InterlockedBitTestAndSet
#define _InterlockedExchange InterlockedExchange
#define _InterlockedIncrement InterlockedIncrement
#define _InterlockedDecrement InterlockedDecrement
#define _InterlockedCompareExchange InterlockedCompareExchange
#define _InterlockedExchangeAdd InterlockedExchangeAdd
#define _InterlockedOr InterlockedOr
#define _InterlockedAnd InterlockedAnd
#define ReadAcquire(source) __atomic_load_n((source), __ATOMIC_ACQUIRE)
#define ReadNoFence(source) __atomic_load_n((source), __ATOMIC_RELAXED)
#define ReadRaw(source) __atomic_load_n((source), __ATOMIC_RELAXED)
#define ReadULongAcquire ReadAcquire
#define ReadULongNoFence ReadNoFence
#define ReadULong64NoFence ReadNoFence
#define ReadPointerAcquire ReadAcquire
#define ReadPointerNoFence ReadNoFence
#define WriteRelease(target, value) __atomic_store_n((target), (value), __ATOMIC_RELEASE)
#define WriteNoFence(target, value) __atomic_store_n((target), (value), __ATOMIC_RELAXED)
#define WriteRaw WriteNoFence
#define WriteULongRelease WriteRelease
#define WriteULongNoFence WriteNoFence
#define WriteULong64NoFence WriteNoFence
#define WritePointerRelease WriteRelease
#define WritePointerNoFence WriteNoFence
#define BitScanForward(index, mask) IrpverbsBitScan((index), (mask), 0)
#define BitScanReverse(index, mask) IrpverbsBitScan((index), (mask), 1)
#define _BitScanForward BitScanForward
#define _BitScanReverse BitScanReverse
static inline UCHAR IrpverbsBitScan(ULONG* index, ULONG mask, int reverse) NT_NOEXCEPT {
    if (mask == 0) return 0;
    *index = (ULONG)(reverse ? 31 - __builtin_clz(mask) : __builtin_ctz(mask));
    return 1;
}

#endif
