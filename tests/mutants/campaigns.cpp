// The programs that must find a mistake in the library itself: usage: campaigns NAME. Exit status:
// 0 when every schedule passes, 1 when one fails (its report is printed), 2 for another name.
#include <dispatch/testing/explore.hpp>
#include <irp/cancel_safe_queue.hpp>
#include <irp/completion_port.h>
#include <irp/remove_lock.h>
#include <irp/wdm.h>

#include <cstdio>
#include <string_view>

namespace {

using namespace irpverbs::dispatch;
using irpverbs::irp::cancel_safe_queue;
using irpverbs::irp::pending_irp;

using verdict = std::optional<std::string>;

/// A device that pends in a cancel-safe queue.
class queue_device {
public:
    explicit queue_device(cancel_safe_queue& queue) {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = pend;
        IoCreateDevice(&driver_, sizeof(void*), nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &device_);
        *static_cast<cancel_safe_queue**>(device_->DeviceExtension) = &queue;
    }
    ~queue_device() { IoDeleteDevice(device_); }
    queue_device(const queue_device&) = delete;
    queue_device& operator=(const queue_device&) = delete;

    NTSTATUS send(IRP* irp) const { return IoCallDriver(device_, irp); }

private:
    static NTSTATUS pend(DEVICE_OBJECT* device, IRP* irp) {
        return (*static_cast<cancel_safe_queue**>(device->DeviceExtension))->pend(pending_irp(irp));
    }

    DRIVER_OBJECT driver_{};
    DEVICE_OBJECT* device_ = nullptr;
};

/// An IRP of the campaign's own that counts its completions.
class request {
public:
    request() {
        IoGetNextIrpStackLocation(irp_)->MajorFunction = IRP_MJ_INTERNAL_DEVICE_CONTROL;
        IoSetCompletionRoutine(irp_, completed, this, TRUE, TRUE, TRUE);
    }
    ~request() { IoFreeIrp(irp_); }
    request(const request&) = delete;
    request& operator=(const request&) = delete;

    void send(const queue_device& device) { device.send(irp_); }
    void cancel() { IoCancelIrp(irp_); }
    int completions() const { return completions_; }

private:
    static NTSTATUS completed(DEVICE_OBJECT*, IRP*, void* context) {
        ++static_cast<request*>(context)->completions_;
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    IRP* irp_ = IoAllocateIrp(1, FALSE);
    int completions_ = 0;
};

verdict completed_once(std::initializer_list<const request*> all) {
    for (const request* each : all)
        if (each->completions() != 1)
            return "a request was completed " + std::to_string(each->completions()) + " times";
    return std::nullopt;
}

// Two actors pend three requests, a third cancels one, and the drain DPC runs on a processor of its
// own.
verdict drained(sim_machine& sim) {
    cancel_safe_queue queue(
        [](pending_irp owed, void*) { std::move(owed).complete(STATUS_SUCCESS); }, nullptr);
    KeSetTargetProcessorDpc(queue.drain_dpc(), 1);
    const queue_device device(queue);
    request first;
    request second;
    request third;
    sim.spawn("pend", [&] {
        first.send(device);
        second.send(device);
    });
    sim.spawn("pend another", [&] { third.send(device); });
    sim.spawn("cancel", [&] { first.cancel(); });
    sim.run();
    return completed_once({&first, &second, &third});
}

// One pends, one cancels, two serve; the body serves the rest.
verdict served(sim_machine& sim) {
    cancel_safe_queue queue;
    const queue_device device(queue);
    request first;
    request second;
    const auto serve = [&] {
        while (auto owed = queue.remove_next())
            std::move(*owed).complete(STATUS_SUCCESS);
    };
    sim.spawn("pend", [&] {
        first.send(device);
        second.send(device);
    });
    sim.spawn("cancel", [&] { first.cancel(); });
    sim.spawn("serve", serve);
    sim.spawn("complete all", [&] { queue.cancel_all(); });
    sim.run();
    serve();
    return completed_once({&first, &second});
}

// Both requests are cancelled, one of them twice; only cancellers complete them.
verdict cancelled(sim_machine& sim) {
    cancel_safe_queue queue;
    const queue_device device(queue);
    request first;
    request second;
    sim.spawn("pend", [&] {
        first.send(device);
        second.send(device);
    });
    sim.spawn("cancel", [&] { first.cancel(); });
    sim.spawn("cancel both", [&] {
        second.cancel();
        first.cancel();
    });
    sim.run();
    return completed_once({&first, &second});
}

struct counted_dpc {
    KDPC dpc;
    int runs = 0;

    explicit counted_dpc(CCHAR processor = 1) {
        KeInitializeDpc(
            &dpc,
            [](KDPC*, void* context, void*, void*) { ++static_cast<counted_dpc*>(context)->runs; },
            this);
        KeSetTargetProcessorDpc(&dpc, processor);
    }
    bool insert() { return KeInsertQueueDpc(&dpc, nullptr, nullptr) != FALSE; }
};

// A DPC runs as often as an insertion succeeds.
verdict inserted(sim_machine& sim) {
    counted_dpc shared;
    counted_dpc other;
    int successes = 0;
    const auto insert = [&] { successes += shared.insert(); };
    sim.spawn("one", insert);
    sim.spawn("another", insert);
    sim.spawn("third", [&] { other.insert(); });
    sim.run();
    KeFlushQueuedDpcs();
    if (shared.runs != successes)
        return std::to_string(successes) + " insertions, and the DPC ran " +
               std::to_string(shared.runs) + " times";
    if (other.runs != 1) return "the other DPC ran " + std::to_string(other.runs) + " times";
    return std::nullopt;
}

// A spin lock keeps others out; the cancel spin lock does.
verdict excluded(sim_machine& sim) {
    int inside = 0;
    bool together = false;
    const auto enter = [&] {
        KIRQL level = PASSIVE_LEVEL;
        IoAcquireCancelSpinLock(&level);
        together = together || ++inside > 1;
        sim.yield();
        --inside;
        IoReleaseCancelSpinLock(level);
    };
    sim.spawn("one", enter);
    sim.spawn("another", enter);
    sim.run();
    if (together) return "two were inside the lock";
    return std::nullopt;
}

// A thread waits at a completion port, another posts.
verdict posted(sim_machine& sim) {
    void* port = nullptr;
    IoCreateIoCompletion(&port, 0);
    int removed = 0;
    sim.spawn("remove", [&] {
        void* key = nullptr;
        void* apc = nullptr;
        IO_STATUS_BLOCK block;
        removed += IoRemoveIoCompletion(port, &key, &apc, &block, nullptr) == STATUS_SUCCESS;
    });
    sim.spawn("post", [&] { IoSetIoCompletion(port, nullptr, nullptr, STATUS_SUCCESS, 0, FALSE); });
    sim.run();
    IoCloseIoCompletion(port);
    if (removed != 1) return "the packet was not removed";
    return std::nullopt;
}

// Users race with a remover, which returns when the last of them has released the lock.
verdict removed(sim_machine& sim) {
    IO_REMOVE_LOCK lock;
    IoInitializeRemoveLock(&lock, 0, 0, 0);
    bool gone = false;
    bool late = false;
    for (int user = 0; user < 2; ++user)
        sim.spawn("user", [&] {
            if (IoAcquireRemoveLock(&lock, &sim) != STATUS_SUCCESS) return;
            sim.yield();
            late = late || gone;
            IoReleaseRemoveLock(&lock, &sim);
        });
    sim.spawn("remover", [&] {
        IoAcquireRemoveLock(&lock, &lock);
        IoReleaseRemoveLockAndWait(&lock, &lock);
        gone = true;
    });
    sim.run();
    if (late) return "the remover did not wait for a user";
    return std::nullopt;
}

// Three work items are queued while workers look for one. Each runs once.
verdict worked(sim_machine& sim) {
    struct counted_item {
        WORK_QUEUE_ITEM item;
        int runs = 0;
    };
    counted_item items[3];
    for (counted_item& each : items) {
        ExInitializeWorkItem(
            &each.item, [](void* context) { ++static_cast<counted_item*>(context)->runs; }, &each);
        sim.spawn("queue", [&each] { ExQueueWorkItem(&each.item, DelayedWorkQueue); });
    }
    sim.run();
    for (const counted_item& each : items)
        if (each.runs != 1) return "a work item ran " + std::to_string(each.runs) + " times";
    return std::nullopt;
}

// A thread waits for an event, and another sets it.
verdict waited(sim_machine& sim) {
    KEVENT event;
    KeInitializeEvent(&event, SynchronizationEvent, FALSE);
    bool woken = false;
    sim.spawn("wait", [&] {
        KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, nullptr);
        woken = true;
    });
    sim.spawn("set", [&] { KeSetEvent(&event, IO_NO_INCREMENT, FALSE); });
    sim.run();
    if (!woken) return "the wait did not end";
    return std::nullopt;
}

// A handle is looked up while it is closed and its slot is used again.
verdict looked_up(sim_machine& sim) {
    const auto create = [] {
        HANDLE handle = nullptr;
        PsCreateSystemThread(
            &handle, 0, nullptr, nullptr, nullptr, [](void*) {}, nullptr);
        return handle;
    };
    const auto object_of = [](HANDLE handle) {
        void* object = nullptr;
        ObReferenceObjectByHandle(handle, 0, nullptr, KernelMode, &object, nullptr);
        return object;
    };
    const HANDLE first = create();
    void* const of_first = object_of(first);
    void* found = nullptr;
    HANDLE second = nullptr;
    sim.spawn("look up", [&] { found = object_of(first); });
    sim.spawn("replace", [&] {
        ZwClose(first);
        second = create();
    });
    sim.run();
    const bool other = found != nullptr && found != of_first;
    if (found != nullptr) ObDereferenceObject(found);
    ObDereferenceObject(of_first);
    ZwClose(second);
    if (other) return "the handle of one thread named another";
    return std::nullopt;
}

// Two devices are attached to one stack.
verdict attached(sim_machine& sim) {
    DRIVER_OBJECT driver{};
    DEVICE_OBJECT* devices[3] = {};
    for (DEVICE_OBJECT*& each : devices)
        IoCreateDevice(&driver, 0, nullptr, FILE_DEVICE_UNKNOWN, 0, FALSE, &each);
    for (int which : {1, 2})
        sim.spawn("attach",
                  [&, which] { IoAttachDeviceToDeviceStack(devices[which], devices[0]); });
    sim.run();
    const bool both = devices[0]->AttachedDevice != nullptr &&
                      devices[0]->AttachedDevice->AttachedDevice != nullptr;
    if (!both) return "a device is not on the stack that it was attached to";
    DEVICE_OBJECT* const middle = devices[0]->AttachedDevice;
    IoDetachDevice(middle);
    IoDetachDevice(devices[0]);
    for (DEVICE_OBJECT* each : devices)
        IoDeleteDevice(each);
    return std::nullopt;
}

struct campaign {
    std::string_view name;
    verdict (*body)(sim_machine& sim);
};
constexpr campaign campaigns[] = {
    {"drained", drained},     {"served", served},    {"inserted", inserted},
    {"excluded", excluded},   {"posted", posted},    {"removed", removed},
    {"cancelled", cancelled}, {"worked", worked},    {"waited", waited},
    {"looked_up", looked_up}, {"attached", attached}};

} // namespace

int main(int argc, char** argv) {
    const std::string_view name = argc == 2 ? argv[1] : "";
    for (const campaign& each : campaigns) {
        if (each.name != name) continue;
        explore_options options;
        options.shrink_budget = 100;
        const explore_summary summary =
            explore(options, [&each](sim_machine& sim) { return each.body(sim); });
        std::printf("%s\n", (summary.failure ? summary.failure->what : summary.text()).c_str());
        return summary.passed() ? 0 : 1;
    }
    std::fprintf(stderr, "campaigns: no campaign '%s'\n", argc == 2 ? argv[1] : "");
    return 2;
}
