/* The executive: more forms of pool and lookaside lists, ERESOURCE, push locks, callbacks, timers.
   Source: WDK wdm.h and ntddk.h reference. */
#ifndef IRPVERBS_WINDOWS_EXECUTIVE_H
#define IRPVERBS_WINDOWS_EXECUTIVE_H

#include <windows/wdk/kernel.h>

/* Pool. A pool type's number is OR'ed of these bits; here only the paged bit has a meaning. */
#define NonPagedPoolExecute NonPagedPool
#define NonPagedPoolBase NonPagedPool
#define NonPagedPoolMustSucceed ((POOL_TYPE)2)
#define DontUseThisType ((POOL_TYPE)3)
#define NonPagedPoolCacheAligned ((POOL_TYPE)4)
#define PagedPoolCacheAligned ((POOL_TYPE)5)
#define NonPagedPoolCacheAlignedMustS ((POOL_TYPE)6)
#define MaxPoolType ((POOL_TYPE)7)
#define NonPagedPoolSession ((POOL_TYPE)32)
#define PagedPoolSession ((POOL_TYPE)33)
#define NonPagedPoolNxCacheAligned ((POOL_TYPE)516)
#define NonPagedPoolSessionNx ((POOL_TYPE)544)
#define POOL_COLD_ALLOCATION 256
#define POOL_NX_ALLOCATION 512
#define POOL_ZERO_ALLOCATION 1024
#define POOL_QUOTA_FAIL_INSTEAD_OF_RAISE 8
#define POOL_RAISE_IF_ALLOCATION_FAILURE 16
#define POOL_FLAG_USE_QUOTA 0x0000000000000001ull
#define POOL_FLAG_SESSION 0x0000000000000004ull
#define POOL_FLAG_CACHE_ALIGNED 0x0000000000000008ull
#define POOL_FLAG_RESERVED1 0x0000000000000010ull
#define POOL_FLAG_RAISE_ON_FAILURE 0x0000000000000020ull
#define POOL_FLAG_NON_PAGED_EXECUTE 0x0000000000000080ull
#define POOL_FLAG_SPECIAL_POOL 0x0000000100000000ull
#define DrvRtPoolNxOptIn 0x00000001
#define LowPoolPrioritySpecialPoolOverrun ((EX_POOL_PRIORITY)8)
#define LowPoolPrioritySpecialPoolUnderrun ((EX_POOL_PRIORITY)9)
#define NormalPoolPrioritySpecialPoolOverrun ((EX_POOL_PRIORITY)24)
#define HighPoolPrioritySpecialPoolOverrun ((EX_POOL_PRIORITY)40)
typedef struct _POOL_EXTENDED_PARAMETER {
    ULONG64 Type : 8;
    ULONG64 Optional : 1;
    ULONG64 Reserved : 55;
    __extension__ union {
        ULONG64 Reserved2;
        PVOID Reserved3;
        EX_POOL_PRIORITY Priority;
    };
} POOL_EXTENDED_PARAMETER, *PPOOL_EXTENDED_PARAMETER;
typedef const POOL_EXTENDED_PARAMETER* PCPOOL_EXTENDED_PARAMETER;

NT_EXTERN_C_BEGIN

/* Other forms of ExAllocatePoolWithTag. No quota is charged. Where Windows raises an exception on
   failure, these bug check. IRQL: <= DISPATCH_LEVEL; paged: <= APC_LEVEL. */
NT_API PVOID ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes);
NT_API PVOID ExAllocatePoolZero(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
NT_API PVOID ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
NT_API PVOID ExAllocatePool3(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag,
                             PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                             ULONG ExtendedParametersCount);
NT_API void ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                        ULONG ExtendedParametersCount);
#define ExAllocatePoolUninitialized ExAllocatePoolWithTag
#define ExAllocatePoolQuotaZero(type, size, tag) ExAllocatePoolZero((type), (size), (tag))
#define ExAllocatePoolQuotaUninitialized ExAllocatePoolWithQuotaTag
#define ExAllocatePoolPriorityZero(type, size, tag, priority)                                      \
    ExAllocatePoolZero((type), (size), (tag))
#define ExAllocatePoolPriorityUninitialized ExAllocatePoolWithTagPriority
#define ExAllocatePoolWithQuota(type, size) ExAllocatePoolWithQuotaTag((type), (size), 'enoN')
#define ExInitializeDriverRuntime(flags) ((void)(flags))
#define ExFreeToPool ExFreePool
#define PROTECTED_POOL 0x80000000

/* ERESOURCE: a lock with one writer or many readers, for threads. The holder is at IRQL <=
   APC_LEVEL with normal APCs disabled. An exclusive holder may acquire it again, shared or
   exclusive; a shared holder may acquire it shared again. Wait FALSE: the call returns FALSE
   instead of waiting. IRQL: <= APC_LEVEL; release <= DISPATCH_LEVEL. Source: WDK
   ExInitializeResourceLite, ExAcquireResourceExclusiveLite. */
typedef ULONG_PTR ERESOURCE_THREAD, *PERESOURCE_THREAD;
typedef struct _OWNER_ENTRY {
    ERESOURCE_THREAD OwnerThread;
    LONG OwnerCount;
    ULONG TableSize;
} OWNER_ENTRY, *POWNER_ENTRY;
typedef struct _ERESOURCE {
    LIST_ENTRY SystemResourcesList;
    POWNER_ENTRY OwnerTable; /* shared holders; its entries are allocated */
    SHORT ActiveCount;
    USHORT Flag;
    LIST_ENTRY Waiters;     /* threads that wait until a holder leaves */
    OWNER_ENTRY OwnerEntry; /* the exclusive holder */
    ULONG ActiveEntries;    /* shared holders */
    ULONG ContentionCount;
    ULONG NumberOfSharedWaiters;
    ULONG NumberOfExclusiveWaiters;
    KSPIN_LOCK SpinLock;
} ERESOURCE, *PERESOURCE;
NT_API NTSTATUS ExInitializeResourceLite(PERESOURCE Resource);
NT_API NTSTATUS ExReinitializeResourceLite(PERESOURCE Resource);
NT_API NTSTATUS ExDeleteResourceLite(PERESOURCE Resource);
NT_API BOOLEAN ExAcquireResourceExclusiveLite(PERESOURCE Resource, BOOLEAN Wait);
NT_API BOOLEAN ExAcquireResourceSharedLite(PERESOURCE Resource, BOOLEAN Wait);
NT_API BOOLEAN ExAcquireSharedStarveExclusive(PERESOURCE Resource, BOOLEAN Wait);
NT_API BOOLEAN ExAcquireSharedWaitForExclusive(PERESOURCE Resource, BOOLEAN Wait);
NT_API void ExReleaseResourceLite(PERESOURCE Resource);
NT_API void ExReleaseResourceForThreadLite(PERESOURCE Resource, ERESOURCE_THREAD ResourceThreadId);
NT_API void ExConvertExclusiveToSharedLite(PERESOURCE Resource);
NT_API void ExSetResourceOwnerPointer(PERESOURCE Resource, PVOID OwnerPointer);
NT_API void ExSetResourceOwnerPointerEx(PERESOURCE Resource, PVOID OwnerPointer, ULONG Flags);
NT_API BOOLEAN ExIsResourceAcquiredExclusiveLite(PERESOURCE Resource);
NT_API ULONG ExIsResourceAcquiredSharedLite(PERESOURCE Resource);
NT_API ULONG ExGetExclusiveWaiterCount(PERESOURCE Resource);
NT_API ULONG ExGetSharedWaiterCount(PERESOURCE Resource);
NT_API PVOID ExEnterCriticalRegionAndAcquireResourceExclusive(PERESOURCE Resource);
NT_API PVOID ExEnterCriticalRegionAndAcquireResourceShared(PERESOURCE Resource);
NT_API PVOID ExEnterCriticalRegionAndAcquireSharedWaitForExclusive(PERESOURCE Resource);
NT_API void ExReleaseResourceAndLeaveCriticalRegion(PERESOURCE Resource);
NT_API void ExDisableResourceBoostLite(PERESOURCE Resource);
#define ExGetCurrentResourceThread() ((ERESOURCE_THREAD)KeGetCurrentThread())
#define ExIsResourceAcquiredLite ExIsResourceAcquiredSharedLite
#define ExIsResourceAcquired ExIsResourceAcquiredSharedLite
#define ExReleaseResource(resource) ExReleaseResourceLite(resource)
#define ExAcquireResourceExclusive ExAcquireResourceExclusiveLite
#define ExAcquireResourceShared ExAcquireResourceSharedLite
#define ExInitializeResource ExInitializeResourceLite
#define ExDeleteResource ExDeleteResourceLite
#define RESOURCE_NEVER_EXCLUSIVE 0x10
#define RESOURCE_RELEASE_BY_OTHER_THREAD 0x20
#define RESOURCE_OWNED_EXCLUSIVE 0x80

/* Push locks: one writer or many readers, not recursive. Source: WDK ExInitializePushLock. */
typedef struct _EX_PUSH_LOCK_S {
    ERESOURCE Resource;
} EX_PUSH_LOCK, *PEX_PUSH_LOCK;
#define EX_DEFAULT_PUSH_LOCK_FLAGS 0
NT_API void ExInitializePushLock(PEX_PUSH_LOCK PushLock);
NT_API void ExAcquirePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags);
NT_API void ExAcquirePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags);
NT_API void ExReleasePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags);
NT_API void ExReleasePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags);
#define ExAcquirePushLockExclusive(lock) ExAcquirePushLockExclusiveEx((lock), 0)
#define ExAcquirePushLockShared(lock) ExAcquirePushLockSharedEx((lock), 0)
#define ExReleasePushLockExclusive(lock) ExReleasePushLockExclusiveEx((lock), 0)
#define ExReleasePushLockShared(lock) ExReleasePushLockSharedEx((lock), 0)

/* Lookaside lists of either kind. */
typedef struct _LOOKASIDE_LIST_EX {
    NPAGED_LOOKASIDE_LIST List;
} LOOKASIDE_LIST_EX, *PLOOKASIDE_LIST_EX;
typedef PVOID ALLOCATE_FUNCTION_EX(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
                                   PLOOKASIDE_LIST_EX Lookaside);
typedef ALLOCATE_FUNCTION_EX* PALLOCATE_FUNCTION_EX;
typedef void FREE_FUNCTION_EX(PVOID Buffer, PLOOKASIDE_LIST_EX Lookaside);
typedef FREE_FUNCTION_EX* PFREE_FUNCTION_EX;
#define EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL 1
#define EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE 2
#define POOL_NX_OPTIN 1
/* Routines of the caller's own are refused: STATUS_NOT_SUPPORTED. Else STATUS_SUCCESS. */
NT_API NTSTATUS ExInitializeLookasideListEx(PLOOKASIDE_LIST_EX Lookaside,
                                            PALLOCATE_FUNCTION_EX Allocate, PFREE_FUNCTION_EX Free,
                                            POOL_TYPE PoolType, ULONG Flags, SIZE_T Size, ULONG Tag,
                                            USHORT Depth);
NT_API void ExDeleteLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);
NT_API void ExFlushLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);
NT_API PVOID ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX Lookaside);
NT_API void ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PVOID Entry);

/* Interlocked lists without a depth. IRQL: <= DISPATCH_LEVEL. Source: WDK
 * ExInterlockedPopEntryList. */
NT_API PSINGLE_LIST_ENTRY ExInterlockedPopEntryList(PSINGLE_LIST_ENTRY ListHead, PKSPIN_LOCK Lock);
NT_API PSINGLE_LIST_ENTRY ExInterlockedPushEntryList(PSINGLE_LIST_ENTRY ListHead,
                                                     PSINGLE_LIST_ENTRY ListEntry,
                                                     PKSPIN_LOCK Lock);

/* Callback objects, by names such as \Callback\Mine. ExCreateCallback opens the object, or creates
   it: without OBJ_PERMANENT, which ObMakeTemporaryObject withdraws, its name is gone at once.
   Ownership: the caller's reference, which ObDereferenceObject drops; a registration has its own.
   ExNotifyCallback calls the routines at its own IRQL, in the order of their registration.
   ExUnregisterCallback waits for calls that run, and so is not for the routine itself. IRQL:
   PASSIVE_LEVEL (create); <= APC_LEVEL; notify: <= DISPATCH_LEVEL. ExRegisterCallback returns NULL
   without memory, and when the object allows one routine and has it. STATUS_SUCCESS;
   STATUS_UNSUCCESSFUL: there is no name; STATUS_OBJECT_NAME_NOT_FOUND: Create is FALSE;
   STATUS_OBJECT_TYPE_MISMATCH, STATUS_OBJECT_PATH_NOT_FOUND and so on as ZwCreateDirectoryObject;
   STATUS_INSUFFICIENT_RESOURCES. Source: WDK ExCreateCallback, ExRegisterCallback,
   ExNotifyCallback, ExUnregisterCallback. */
typedef struct _CALLBACK_OBJECT* PCALLBACK_OBJECT;
typedef void CALLBACK_FUNCTION(PVOID CallbackContext, PVOID Argument1, PVOID Argument2);
typedef CALLBACK_FUNCTION* PCALLBACK_FUNCTION;
NT_API NTSTATUS ExCreateCallback(PCALLBACK_OBJECT* CallbackObject,
                                 POBJECT_ATTRIBUTES ObjectAttributes, BOOLEAN Create,
                                 BOOLEAN AllowMultipleCallbacks);
NT_API PVOID ExRegisterCallback(PCALLBACK_OBJECT CallbackObject,
                                PCALLBACK_FUNCTION CallbackFunction, PVOID CallbackContext);
NT_API void ExUnregisterCallback(PVOID CallbackRegistration);
NT_API void ExNotifyCallback(PVOID CallbackObject, PVOID Argument1, PVOID Argument2);

/* A timer that calls the driver at DISPATCH_LEVEL, and for which threads may wait.
   ExAllocateTimer returns NULL without memory; EX_TIMER_NOTIFICATION makes it a notification timer.
   DueTime counts from 1601-01-01, or from now where it is negative, as Period in units of 100 ns;
   periods are rounded up to ms. ExSetTimer and ExCancelTimer return whether the timer was set.
   ExDeleteTimer with Wait, at PASSIVE_LEVEL, returns when the callback does not run any more and
   the memory is free; without, that happens soon after, and for a timer that is set and not
   cancelled once it has expired. DeleteCallback then runs at PASSIVE_LEVEL. A timer with a period
   must be cancelled. IRQL: <= DISPATCH_LEVEL. Source: WDK ExAllocateTimer, ExSetTimer,
   ExDeleteTimer. */
typedef struct _EX_TIMER* PEX_TIMER;
typedef void EXT_CALLBACK(PEX_TIMER Timer, PVOID Context);
typedef EXT_CALLBACK* PEXT_CALLBACK;
typedef void EXT_DELETE_CALLBACK(PVOID Context);
typedef EXT_DELETE_CALLBACK* PEXT_DELETE_CALLBACK;
typedef struct _EXT_SET_PARAMETERS_V0 {
    ULONG Version;
    ULONG Reserved;
    LONGLONG NoWakeTolerance;
} EXT_SET_PARAMETERS, *PEXT_SET_PARAMETERS;
typedef struct _EXT_DELETE_PARAMETERS {
    ULONG Version;
    ULONG Reserved;
    PEXT_DELETE_CALLBACK DeleteCallback;
    PVOID DeleteContext;
} EXT_DELETE_PARAMETERS, *PEXT_DELETE_PARAMETERS;
#define EX_TIMER_UNLIMITED_TOLERANCE ((LONGLONG)-1)
static inline void ExInitializeSetTimerParameters(PEXT_SET_PARAMETERS Parameters) NT_NOEXCEPT {
    Parameters->Version = 0;
    Parameters->Reserved = 0;
    Parameters->NoWakeTolerance = 0;
}
static inline void
ExInitializeDeleteTimerParameters(PEXT_DELETE_PARAMETERS Parameters) NT_NOEXCEPT {
    Parameters->Version = 0;
    Parameters->Reserved = 0;
    Parameters->DeleteCallback = NULL;
    Parameters->DeleteContext = NULL;
}
#define EX_TIMER_HIGH_RESOLUTION 4
#define EX_TIMER_NO_WAKE 8
#define EX_TIMER_NOTIFICATION 0x80000000u
NT_API PEX_TIMER ExAllocateTimer(PEXT_CALLBACK Callback, PVOID CallbackContext, ULONG Attributes);
NT_API BOOLEAN ExSetTimer(PEX_TIMER Timer, LONGLONG DueTime, LONGLONG Period,
                          PEXT_SET_PARAMETERS Parameters);
NT_API BOOLEAN ExCancelTimer(PEX_TIMER Timer, PVOID Parameters);
NT_API BOOLEAN ExDeleteTimer(PEX_TIMER Timer, BOOLEAN Cancel, BOOLEAN Wait,
                             PEXT_DELETE_PARAMETERS Parameters);

/* Cache-aware rundown protection: the functions of dispatch/rundown.h on memory that these allocate
   and free. ExAllocate... returns NULL without memory. IRQL: <= APC_LEVEL; acquire and release: <=
   DISPATCH_LEVEL. Source: WDK ExAllocateCacheAwareRundownProtection and so on. */
typedef struct _EX_RUNDOWN_REF_CACHE_AWARE* PEX_RUNDOWN_REF_CACHE_AWARE;
NT_API PEX_RUNDOWN_REF_CACHE_AWARE ExAllocateCacheAwareRundownProtection(POOL_TYPE PoolType,
                                                                         ULONG PoolTag);
NT_API void ExFreeCacheAwareRundownProtection(PEX_RUNDOWN_REF_CACHE_AWARE RunRef);
NT_API BOOLEAN ExAcquireRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef);
NT_API BOOLEAN ExAcquireRundownProtectionCacheAwareEx(PEX_RUNDOWN_REF_CACHE_AWARE RunRef,
                                                      ULONG Count);
NT_API void ExReleaseRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef);
NT_API void ExReleaseRundownProtectionCacheAwareEx(PEX_RUNDOWN_REF_CACHE_AWARE RunRef, ULONG Count);
NT_API void ExWaitForRundownProtectionReleaseCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef);
NT_API void ExRundownCompletedCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef);
NT_API void ExReInitializeRundownProtectionCacheAware(PEX_RUNDOWN_REF_CACHE_AWARE RunRef);

/* Kernel mode is the only mode that asks. IRQL: any. Source: WDK ExGetPreviousMode. */
NT_API KPROCESSOR_MODE ExGetPreviousMode(void);
NT_API BOOLEAN ExIsProcessorFeaturePresent(ULONG ProcessorFeature);
typedef enum _SUITE_TYPE {
    SmallBusiness,
    Enterprise,
    BackOffice,
    CommunicationServer,
    TerminalServer,
    SmallBusinessRestricted,
    EmbeddedNT,
    DataCenter
} SUITE_TYPE;
NT_API BOOLEAN ExVerifySuite(SUITE_TYPE SuiteType);
NT_API NTSTATUS ExUuidCreate(GUID* Uuid);
NT_API NTSTATUS ExGetFirmwareEnvironmentVariable(PUNICODE_STRING VariableName, GUID* VendorGuid,
                                                 PVOID Value, PULONG ValueLength,
                                                 PULONG Attributes);
NT_API BOOLEAN ExIsSoftBoot(void);
#define EX_CARR_ALLOCATE_PAGED_POOL 1
#define EX_CARR_ALLOCATE_NONPAGED_POOL 0
#define PF_XMMI_INSTRUCTIONS_AVAILABLE 6
#define PF_XMMI64_INSTRUCTIONS_AVAILABLE 10

NT_EXTERN_C_END

#endif
