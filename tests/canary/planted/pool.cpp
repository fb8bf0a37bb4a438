#include "planted.hpp"

#include <dispatch/pool.h>
#include <dispatch/support/fetched_words.hpp>
#include <dispatch/support/leftovers.hpp>
#include <dispatch/support/live_objects.hpp>
#include <dispatch/thread.h>

#include <array>
#include <cstdint>
#include <cstring>

namespace planted {
namespace {

constexpr ULONG tag = 0x746E6C50; // "Plnt"

template <class Type>
Type* allocated(POOL_FLAGS kind = POOL_FLAG_NON_PAGED) {
    return static_cast<Type*>(ExAllocatePool2(kind, sizeof(Type), tag));
}

void use_blocks() {
    auto* block = static_cast<char*>(
        ExAllocatePool2(POOL_FLAG_NON_PAGED, planted("PoolZeroBytes") ? 0 : 20, tag));
    std::memset(block, 1, planted("PoolOverrun") ? 21 : planted("PoolZeroBytes") ? 0 : 20);
    if (planted("PoolBadAddress")) ExFreePool(block + 16);
    if (planted("PoolLeak")) return;
    ExFreePoolWithTag(block, planted("PoolWrongTag") ? tag + 1 : tag);
    if (planted("PoolFreedTwice")) ExFreePool(block);
    if (planted("FreedMemoryWritten")) block[8] = 1;
}

void use_timer() {
    auto* timer = allocated<KTIMER>();
    KeInitializeTimer(timer);
    LARGE_INTEGER far;
    far.QuadPart = -36'000'000'000;
    KeSetTimer(timer, far, nullptr);
    if (planted("TimerReinitialised")) KeInitializeTimer(timer);
    if (!planted("TimerFreed")) KeCancelTimer(timer);
    ExFreePool(timer);
    if (planted("FreedMemoryUsed")) KeSetTimer(timer, far, nullptr);
}

void use_dpc() {
    auto* dpc = allocated<KDPC>();
    KeInitializeDpc(
        dpc, [](KDPC*, void*, void*, void*) {}, nullptr);
    KIRQL level = PASSIVE_LEVEL;
    KeRaiseIrql(DISPATCH_LEVEL, &level);
    KeInsertQueueDpc(dpc, nullptr, nullptr);
    if (planted("DpcReinitialised"))
        KeInitializeDpc(
            dpc, [](KDPC*, void*, void*, void*) {}, nullptr);
    if (!planted("DpcFreed")) KeRemoveQueueDpc(dpc);
    ExFreePool(dpc);
    KeLowerIrql(level);
}

void begin(void* begun) { KeSetEvent(static_cast<KEVENT*>(begun), IO_NO_INCREMENT, FALSE); }

void use_work_item() {
    KEVENT begun;
    KeInitializeEvent(&begun, NotificationEvent, FALSE);
    auto* item = allocated<WORK_QUEUE_ITEM>(planted("WorkItemPaged") ? POOL_FLAG_PAGED
                                                                     : POOL_FLAG_NON_PAGED);
    ExInitializeWorkItem(item, begin, &begun);
    ExQueueWorkItem(item, DelayedWorkQueue);
    if (planted("WorkItemReinitialised")) ExInitializeWorkItem(item, begin, &begun);
    if (planted("WorkItemFreed")) ExFreePool(item);
    KeWaitForSingleObject(&begun, Executive, KernelMode, FALSE, nullptr);
    if (!planted("WorkItemFreed")) ExFreePool(item);
}

void use_lookaside() {
    auto* list = allocated<NPAGED_LOOKASIDE_LIST>();
    ExInitializeNPagedLookasideList(list, nullptr, nullptr, 0, 32, tag, 0);
    ExFreeToNPagedLookasideList(list, ExAllocateFromNPagedLookasideList(list));
    if (planted("LookasideReinitialised"))
        ExInitializeNPagedLookasideList(list, nullptr, nullptr, 0, 32, tag, 0);
    if (!planted("LookasideFreed")) ExDeleteNPagedLookasideList(list);
    ExFreePool(list);
}

void use_lock() {
    auto* lock = allocated<KSPIN_LOCK>();
    KeInitializeSpinLock(lock);
    const KIRQL level = KeAcquireSpinLockRaiseToDpc(lock);
    if (planted("LockFreed")) ExFreePool(lock);
    KeReleaseSpinLock(lock, level);
    ExFreePool(lock);
}

// ERESOURCEs and interrupts are those of the packages above.
namespace core = irpverbs::dispatch::detail;

void use_live_object(core::live_object_kind kind, bool left) {
    auto* object = allocated<KEVENT>();
    core::add_live_object(core::this_processor(), kind, object, core::routine_address(begin));
    if (!left) core::remove_live_object(kind, object);
    const std::array image{std::span(reinterpret_cast<const char*>(begin), 1)};
    if (kind == core::live_object_kind::interrupt) core::check_unloaded_image(image);
    ExFreePool(object);
}

void wait_for(void* event) { KeWaitForSingleObject(event, Executive, KernelMode, FALSE, nullptr); }

void use_thread() {
    KEVENT end;
    KeInitializeEvent(&end, NotificationEvent, FALSE);
    HANDLE handle = nullptr;
    PVOID thread = nullptr;
    PsCreateSystemThread(&handle, 0, nullptr, nullptr, nullptr, wait_for, &end);
    ObReferenceObjectByHandle(handle, 0, nullptr, KernelMode, &thread, nullptr);
    ZwClose(handle);
    const std::array image{std::span(reinterpret_cast<const char*>(wait_for), 1)};
    if (planted("ThreadOutlivesDriver")) core::check_unloaded_image(image);
    KeSetEvent(&end, IO_NO_INCREMENT, FALSE);
    KeWaitForSingleObject(thread, Executive, KernelMode, FALSE, nullptr);
    core::check_unloaded_image(image);
    ObDereferenceObject(thread);
}

void use_event() {
    HANDLE handle = nullptr;
    PVOID event = nullptr;
    ZwCreateEvent(&handle, 0, nullptr, NotificationEvent, FALSE);
    ObReferenceObjectByHandle(handle, 0, nullptr, KernelMode, &event, nullptr);
    if (!planted("HandleLeak")) ZwClose(handle);
    if (!planted("ObjectLeak")) ObDereferenceObject(event);
}

void load_shared_words() {
    constexpr std::uint64_t shared[] = {8, 1}; // a length, and a message
    irpverbs::dispatch::detail::fetched_words loaded;
    loaded.begin();
    for (const std::uint64_t& each : shared)
        loaded.load(&each, sizeof(each));
    if (planted("DoubleFetch")) loaded.load(&shared[0], sizeof(shared[0]));
}

} // namespace

void uses_pool(sim_machine& sim) {
    sim.spawn("blocks", [] {
        use_blocks();
        use_timer();
        use_dpc();
        load_shared_words();
    });
    sim.spawn("objects", [] {
        use_work_item();
        use_lookaside();
        use_lock();
        use_resource();
        use_dma_adapter();
        use_user_buffer();
        use_thread();
        use_live_object(core::live_object_kind::resource, planted("ResourceFreed"));
        use_live_object(core::live_object_kind::interrupt, planted("InterruptOutlivesDriver"));
        use_live_object(core::live_object_kind::wmi_registration, planted("WmiRegistration"));
    });
    use_event();
    sim.run();
    core::check_leftovers();
}

} // namespace planted
