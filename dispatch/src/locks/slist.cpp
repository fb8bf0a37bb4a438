#include <dispatch/interlocked.h>
#include <dispatch/support/processor.hpp>
#include <dispatch/support/spin.hpp>

#include <algorithm>

using namespace irpverbs::dispatch::detail;

// A pop reads the first entry's link, so the entry must not be removed during the read: the pop
// sets bit 0 of the head, and every other pop, push or flush waits until it is clear. A push
// without contention costs one exchange.
namespace {

constexpr ULONG_PTR popping = 1;

ULONG_PTR settled_head(const SLIST_HEADER* list) {
    ULONG_PTR head = __atomic_load_n(&list->Head, __ATOMIC_RELAXED);
    for (unsigned turn = 0; (head & popping) != 0; ++turn) {
        spin_turn(turn);
        head = __atomic_load_n(&list->Head, __ATOMIC_RELAXED);
    }
    return head;
}

} // namespace

extern "C" {

void InitializeSListHead(PSLIST_HEADER ListHead) {
    ListHead->Head = 0;
    ListHead->Depth = 0;
}

PSLIST_ENTRY InterlockedPushEntrySList(PSLIST_HEADER ListHead, PSLIST_ENTRY ListEntry) {
    sched_point(point::interlocked, ListHead);
    ULONG_PTR head = settled_head(ListHead);
    do {
        head = (head & popping) != 0 ? settled_head(ListHead) : head;
        ListEntry->Next = reinterpret_cast<PSLIST_ENTRY>(head);
    } while (!__atomic_compare_exchange_n(&ListHead->Head, &head,
                                          reinterpret_cast<ULONG_PTR>(ListEntry), true,
                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    __atomic_add_fetch(&ListHead->Depth, 1, __ATOMIC_RELAXED);
    return reinterpret_cast<PSLIST_ENTRY>(head);
}

PSLIST_ENTRY InterlockedPopEntrySList(PSLIST_HEADER ListHead) {
    sched_point(point::interlocked, ListHead);
    ULONG_PTR head = settled_head(ListHead);
    while (head != 0) {
        if (__atomic_compare_exchange_n(&ListHead->Head, &head, head | popping, true,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            auto* first = reinterpret_cast<PSLIST_ENTRY>(head);
            __atomic_store_n(&ListHead->Head, reinterpret_cast<ULONG_PTR>(first->Next),
                             __ATOMIC_RELEASE);
            __atomic_sub_fetch(&ListHead->Depth, 1, __ATOMIC_RELAXED);
            return first;
        }
        if ((head & popping) != 0) head = settled_head(ListHead);
    }
    return nullptr;
}

PSLIST_ENTRY InterlockedFlushSList(PSLIST_HEADER ListHead) {
    sched_point(point::interlocked, ListHead);
    ULONG_PTR head = settled_head(ListHead);
    while (head != 0 && !__atomic_compare_exchange_n(&ListHead->Head, &head, 0, true,
                                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        if ((head & popping) != 0) head = settled_head(ListHead);
    if (head == 0) return nullptr;
    ULONG count = 0;
    for (auto* entry = reinterpret_cast<PSLIST_ENTRY>(head); entry != nullptr; entry = entry->Next)
        ++count;
    __atomic_sub_fetch(&ListHead->Depth, count, __ATOMIC_RELAXED);
    return reinterpret_cast<PSLIST_ENTRY>(head);
}

USHORT QueryDepthSList(PSLIST_HEADER ListHead) {
    // A pop may decrement the depth before the push of the same entry increments it.
    const auto depth = static_cast<LONG>(__atomic_load_n(&ListHead->Depth, __ATOMIC_RELAXED));
    return static_cast<USHORT>(std::clamp(depth, 0, 0xffff));
}

} // extern "C"
