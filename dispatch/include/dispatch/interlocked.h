/* Interlocked operations and interlocked lists. Each operation on a number or a pointer is a full
   barrier (on x86-64, the only supported processor) and is inline. In driver code that is compiled
   with IRPVERBS_CHECKED_INLINES 1, a simulated run may switch to another actor before each
   operation; in other code it does not. IRQL: any. Source: WDK InterlockedXxx, ExInterlockedXxx. */
#ifndef IRPVERBS_DISPATCH_INTERLOCKED_H
#define IRPVERBS_DISPATCH_INTERLOCKED_H

#include <dispatch/spin_lock.h>

NT_EXTERN_C_BEGIN
/* Called only by the inline functions below. IRQL: any. */
NT_API void InterlockedSchedulingPoint(const volatile VOID* Target) NT_NOEXCEPT;
NT_EXTERN_C_END
static inline void InterlockedPoint(const volatile VOID* target) NT_NOEXCEPT {
#if IRPVERBS_CHECKED_INLINES
    InterlockedSchedulingPoint(target);
#else
    (void)target;
#endif
}

static inline LONG InterlockedIncrement(LONG volatile* addend) NT_NOEXCEPT {
    InterlockedPoint(addend);
    const LONG result = __atomic_add_fetch(addend, 1, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG InterlockedDecrement(LONG volatile* addend) NT_NOEXCEPT {
    InterlockedPoint(addend);
    const LONG result = __atomic_sub_fetch(addend, 1, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG InterlockedExchangeAdd(LONG volatile* addend, LONG value) NT_NOEXCEPT {
    InterlockedPoint(addend);
    const LONG result = __atomic_fetch_add(addend, value, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG InterlockedExchange(LONG volatile* target, LONG value) NT_NOEXCEPT {
    InterlockedPoint(target);
    const LONG result = __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG InterlockedCompareExchange(LONG volatile* target, LONG exchange,
                                              LONG comparand) NT_NOEXCEPT {
    InterlockedPoint(target);
    __atomic_compare_exchange_n(target, &comparand, exchange, 0, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return comparand;
}
static inline LONG InterlockedAnd(LONG volatile* target, LONG value) NT_NOEXCEPT {
    InterlockedPoint(target);
    const LONG result = __atomic_fetch_and(target, value, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG InterlockedOr(LONG volatile* target, LONG value) NT_NOEXCEPT {
    InterlockedPoint(target);
    const LONG result = __atomic_fetch_or(target, value, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG64 InterlockedIncrement64(LONG64 volatile* addend) NT_NOEXCEPT {
    InterlockedPoint(addend);
    const LONG64 result = __atomic_add_fetch(addend, 1, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG64 InterlockedDecrement64(LONG64 volatile* addend) NT_NOEXCEPT {
    InterlockedPoint(addend);
    const LONG64 result = __atomic_sub_fetch(addend, 1, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG64 InterlockedExchangeAdd64(LONG64 volatile* addend, LONG64 value) NT_NOEXCEPT {
    InterlockedPoint(addend);
    const LONG64 result = __atomic_fetch_add(addend, value, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG64 InterlockedExchange64(LONG64 volatile* target, LONG64 value) NT_NOEXCEPT {
    InterlockedPoint(target);
    const LONG64 result = __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline LONG64 InterlockedCompareExchange64(LONG64 volatile* target, LONG64 exchange,
                                                  LONG64 comparand) NT_NOEXCEPT {
    InterlockedPoint(target);
    __atomic_compare_exchange_n(target, &comparand, exchange, 0, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return comparand;
}
static inline PVOID InterlockedExchangePointer(PVOID volatile* target, PVOID value) NT_NOEXCEPT {
    InterlockedPoint(target);
    PVOID result = __atomic_exchange_n(target, value, __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return result;
}
static inline PVOID InterlockedCompareExchangePointer(PVOID volatile* target, PVOID exchange,
                                                      PVOID comparand) NT_NOEXCEPT {
    InterlockedPoint(target);
    __atomic_compare_exchange_n(target, &comparand, exchange, 0, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    InterlockedPoint(NULL);
    return comparand;
}

NT_EXTERN_C_BEGIN

/* Change a list under a spin lock that these functions acquire and release. IRQL: <=
   DISPATCH_LEVEL. NULL: the list was empty (before the insertion). Source: WDK
   ExInterlockedInsertTailList, ExInterlockedInsertHeadList, ExInterlockedRemoveHeadList. */
NT_API PLIST_ENTRY ExInterlockedInsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry,
                                               PKSPIN_LOCK Lock);
NT_API PLIST_ENTRY ExInterlockedInsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY ListEntry,
                                               PKSPIN_LOCK Lock);
NT_API PLIST_ENTRY ExInterlockedRemoveHeadList(PLIST_ENTRY ListHead, PKSPIN_LOCK Lock);

typedef SINGLE_LIST_ENTRY SLIST_ENTRY, *PSLIST_ENTRY;

/* An interlocked stack: many processors may push and pop at the same time. Opaque. */
typedef struct _SLIST_HEADER {
    ULONG_PTR Head; /* first entry; bit 0: a pop is in progress */
    ULONG Depth;
} SLIST_HEADER, *PSLIST_HEADER;

/* Push returns the former first entry; pop returns the first entry or NULL; flush returns the whole
   chain, newest entry first. IRQL: any, but all uses of one list must be in one range of levels.
   Source: WDK InterlockedPushEntrySList, InterlockedPopEntrySList, InterlockedFlushSList. */
NT_API void InitializeSListHead(PSLIST_HEADER ListHead);
NT_API PSLIST_ENTRY InterlockedPushEntrySList(PSLIST_HEADER ListHead, PSLIST_ENTRY ListEntry);
NT_API PSLIST_ENTRY InterlockedPopEntrySList(PSLIST_HEADER ListHead);
NT_API PSLIST_ENTRY InterlockedFlushSList(PSLIST_HEADER ListHead);
NT_API USHORT QueryDepthSList(PSLIST_HEADER ListHead);
#define ExInitializeSListHead InitializeSListHead
#define ExInterlockedPushEntrySList(head, entry, lock) InterlockedPushEntrySList(head, entry)
#define ExInterlockedPopEntrySList(head, lock) InterlockedPopEntrySList(head)
#define ExInterlockedFlushSList InterlockedFlushSList
#define ExQueryDepthSList QueryDepthSList

NT_EXTERN_C_END

#endif
