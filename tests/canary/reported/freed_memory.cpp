// Defects around freed pool blocks, deleted devices and freed IRPs.
#define IRPVERBS_CHECKED_INLINES 1
#include "reported.hpp"

#include <irp/wdm.h>

namespace reported {
namespace {

using irpverbs::dispatch::sim_machine;

constexpr ULONG freed_tag = 0x64657246; // "Fred"

template <class Type>
Type* allocate() {
    return static_cast<Type*>(ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof(Type), freed_tag));
}

template <class Extension>
DEVICE_OBJECT* create_device(DRIVER_OBJECT& driver) {
    DEVICE_OBJECT* device = nullptr;
    IoCreateDevice(&driver, sizeof(Extension), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device);
    return device;
}

template <class Extension>
Extension& extension_of(DEVICE_OBJECT* device) {
    return *static_cast<Extension*>(device->DeviceExtension);
}

LARGE_INTEGER in_ms(std::int64_t time) {
    LARGE_INTEGER due;
    due.QuadPart = -time * 10'000;
    return due;
}

// The remover does not cancel the timer.
outcome timer_in_a_deleted_device(sim_machine& sim) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = create_device<KTIMER>(driver);
    auto& timer = extension_of<KTIMER>(device);
    KeInitializeTimer(&timer);
    sim.spawn("start", [&] { KeSetTimerEx(&timer, in_ms(1), 1, nullptr); });
    sim.run();
    IoDeleteDevice(device);
    return std::nullopt;
}

struct guarded {
    KSPIN_LOCK lock;
    LONG value;
};

void change(guarded& what) {
    const KIRQL level = KeAcquireSpinLockRaiseToDpc(&what.lock);
    ++what.value;
    KeReleaseSpinLock(&what.lock, level);
}

// A worker that holds no reference uses the extension after the removal.
outcome lock_in_a_deleted_device(sim_machine& sim) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* device = create_device<guarded>(driver);
    KeInitializeSpinLock(&extension_of<guarded>(device).lock);
    sim.spawn("work", [&] { change(extension_of<guarded>(device)); });
    sim.spawn("remove", [&] { IoDeleteDevice(device); });
    sim.run();
    return std::nullopt;
}

outcome lock_in_freed_pool(sim_machine& sim) {
    auto* shared = allocate<guarded>();
    KeInitializeSpinLock(&shared->lock);
    sim.spawn("work", [&] { change(*shared); });
    sim.spawn("free", [&] { ExFreePool(shared); });
    sim.run();
    return std::nullopt;
}

struct node {
    node* next;
    LONG value;
};

// The reader follows a link that it read before the block was freed.
outcome stale_link(sim_machine& sim) {
    auto* second = allocate<node>();
    auto* first = allocate<node>();
    *second = {nullptr, 2};
    *first = {second, 1};
    LONG sum = 0;
    sim.spawn("read", [&] {
        for (const node* each = first; each != nullptr; each = each->next) {
            sum += each->value;
            sim.yield();
        }
    });
    sim.spawn("free", [&] {
        sim.yield();
        ExFreePool(second);
        ExFreePool(first);
    });
    sim.run();
    return std::nullopt;
}

// The count is an entry of a block that the last user frees, and the first writes to.
outcome write_to_a_freed_block(sim_machine& sim) {
    auto* block = allocate<guarded>();
    sim.spawn("write", [&] {
        sim.yield();
        block->value = 1;
    });
    sim.spawn("free", [&] { ExFreePool(block); });
    sim.run();
    return std::nullopt;
}

outcome event_of_a_freed_request(sim_machine& sim) {
    struct request {
        KEVENT done;
    };
    auto* asked = allocate<request>();
    KeInitializeEvent(&asked->done, NotificationEvent, FALSE);
    sim.spawn("wait", [&] {
        LARGE_INTEGER limit = in_ms(1);
        KeWaitForSingleObject(&asked->done, Executive, KernelMode, FALSE, &limit);
        ExFreePool(asked);
    });
    sim.spawn("complete", [&] { KeSetEvent(&asked->done, IO_NO_INCREMENT, FALSE); });
    sim.run();
    return std::nullopt;
}

outcome dpc_in_freed_pool(sim_machine& sim) {
    auto* dpc = allocate<KDPC>();
    KeInitializeDpc(
        dpc, [](KDPC*, void*, void*, void*) {}, nullptr);
    sim.spawn("interrupt", [&] { KeInsertQueueDpc(dpc, nullptr, nullptr); });
    sim.spawn("free", [&] { ExFreePool(dpc); });
    sim.run();
    return std::nullopt;
}

outcome lookaside_list_in_a_freed_block(sim_machine& sim) {
    auto* list = allocate<NPAGED_LOOKASIDE_LIST>();
    ExInitializeNPagedLookasideList(list, nullptr, nullptr, 0, 32, freed_tag, 0);
    sim.spawn("use",
              [&] { ExFreeToNPagedLookasideList(list, ExAllocateFromNPagedLookasideList(list)); });
    sim.spawn("free", [&] {
        ExDeleteNPagedLookasideList(list);
        ExFreePool(list);
    });
    sim.run();
    return std::nullopt;
}

// Nothing keeps the canceller from an IRP that its owner frees.
outcome cancels_a_freed_irp(sim_machine& sim) {
    IRP* irp = IoAllocateIrp(1, FALSE);
    sim.spawn("cancel", [&] { IoCancelIrp(irp); });
    sim.spawn("free", [&] { IoFreeIrp(irp); });
    sim.run();
    return std::nullopt;
}

// IoAllocateIrp may fail.
outcome uses_no_irp(sim_machine& sim) {
    sim.spawn("send", [] {
        IRP* irp = IoAllocateIrp(1, FALSE);
        IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
        IoFreeIrp(irp);
    });
    sim.run();
    return std::nullopt;
}

} // namespace

const std::vector<defect>& freed_memory_defects() {
    static const std::vector<defect> all{
        {"timer_in_a_deleted_device", timer_in_a_deleted_device, true, "TimerFreed"},
        {"lock_in_a_deleted_device", lock_in_a_deleted_device, true, "freed memory"},
        {"lock_in_freed_pool", lock_in_freed_pool, true, "FreedMemoryUsed"},
        {"stale_link", stale_link, true, "read from freed memory"},
        {"write_to_a_freed_block", write_to_a_freed_block, true, "FreedMemoryWritten"},
        {"event_of_a_freed_request", event_of_a_freed_request, true, "freed memory"},
        {"dpc_in_freed_pool", dpc_in_freed_pool, true, ""},
        {"lookaside_list_in_a_freed_block", lookaside_list_in_a_freed_block, true, ""},
        {"cancels_a_freed_irp", cancels_a_freed_irp, true, "UseAfterFree"},
        {"uses_no_irp", uses_no_irp, true, "SIGSEGV", true},
    };
    return all;
}

} // namespace reported
