// Rules on marking IRPs pending, one violation and one correct use for each.
#include "verified.hpp"

#include <support/exhaustive_gtest.hpp>
#include <support/reference_drivers.hpp>

#include <malloc.h>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::explore_options;
using irpverbs::dispatch::sim_machine;

NTSTATUS forward(DEVICE_OBJECT*, IRP* irp, const lambda_driver& below) {
    IoCopyCurrentIrpStackLocationToNext(irp);
    return IoCallDriver(below.device(), irp);
}

TEST(MarkIrpPending, Broken_IsReported) {
    const auto found = found_in([](sim_machine&) {
        lambda_driver driver([](DEVICE_OBJECT*, IRP* irp) {
            IoMarkIrpPending(irp);
            complete(irp, STATUS_SUCCESS);
            return STATUS_SUCCESS;
        });
        request(1).send(driver);
    });
    EXPECT_TRUE(is(found, "MarkIrpPending", io_violation, 0x23E));
}

TEST(MarkIrpPending, Kept_IsNotReported) {
    const auto found = found_in([](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver driver(pend_in(pended));
        request asked;
        EXPECT_EQ(asked.send(driver), STATUS_PENDING);
        complete(pended, STATUS_SUCCESS);
    });
    EXPECT_TRUE(nothing(found));
}

TEST(MarkIrpPending2, Broken_IsReported) {
    const auto found = found_in([](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            pended = irp;
            return STATUS_PENDING;
        });
        request asked;
        asked.send(driver);
        complete(pended, STATUS_SUCCESS);
    });
    EXPECT_TRUE(is(found, "MarkIrpPending2", io_violation, 0x23D));
}

TEST(MarkIrpPending2, Kept_IsNotReported) {
    const auto found = found_in([](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver bottom(pend_in(pended));
        lambda_driver filter(
            bottom, [&](DEVICE_OBJECT* device, IRP* irp) { return forward(device, irp, bottom); });
        request asked(2);
        EXPECT_EQ(asked.send(filter), STATUS_PENDING); // passed down: the lower driver marks it
        complete(pended, STATUS_SUCCESS);
    });
    EXPECT_TRUE(nothing(found));
}

void set_nothing(DEVICE_OBJECT*, IRP* irp) { IoReleaseCancelSpinLock(irp->CancelIrql); }

// The driver sets the cancel routine, which makes the IRP cancellable, before it marks the IRP
// pending.
std::vector<reported_finding> queue_one(bool locked) {
    return found_in([locked](sim_machine&) {
        KSPIN_LOCK lock;
        KeInitializeSpinLock(&lock);
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            KIRQL old = PASSIVE_LEVEL;
            if (locked) KeAcquireSpinLock(&lock, &old);
            IoSetCancelRoutine(irp, set_nothing);
            IoMarkIrpPending(irp);
            if (locked) KeReleaseSpinLock(&lock, old);
            return STATUS_PENDING;
        });
        request asked;
        asked.send(driver);
        IoSetCancelRoutine(asked.irp(), nullptr);
        complete(asked.irp(), STATUS_SUCCESS);
    });
}

TEST(MarkingQueuedIrps, Broken_IsReported) {
    EXPECT_TRUE(is(queue_one(false), "MarkingQueuedIrps", io_violation, 0x49521001));
}
TEST(MarkingQueuedIrps, Kept_IsNotReported) { EXPECT_TRUE(nothing(queue_one(true))); }

// A driver that inserts into an interlocked list, which another actor empties.
struct interlocked_driver {
    LIST_ENTRY list{};
    KSPIN_LOCK lock{};
    bool mark_first;
    lambda_driver driver;

    explicit interlocked_driver(bool first)
        : mark_first(first), driver([this](DEVICE_OBJECT*, IRP* irp) { return queue(irp); }) {
        InitializeListHead(&list);
        KeInitializeSpinLock(&lock);
    }
    NTSTATUS queue(IRP* irp) {
        // Like IoMarkIrpPending, but always on the driver's own location.
        IO_STACK_LOCATION* own = IoGetCurrentIrpStackLocation(irp);
        if (mark_first) IoMarkIrpPending(irp);
        ExInterlockedInsertTailList(&list, &irp->Tail.Overlay.ListEntry, &lock);
        if (!mark_first) own->Control |= SL_PENDING_RETURNED;
        return STATUS_PENDING;
    }
    void serve() {
        while (LIST_ENTRY* entry = ExInterlockedRemoveHeadList(&list, &lock))
            complete(CONTAINING_RECORD(entry, IRP, Tail.Overlay.ListEntry), STATUS_SUCCESS);
    }
};

void queue_and_serve(sim_machine& sim, bool mark_first) {
    interlocked_driver queue(mark_first);
    request asked;
    sim.spawn("queue", [&] { asked.send(queue.driver); });
    sim.spawn("serve", [&] { queue.serve(); });
    sim.run();
    queue.serve();
}

TEST(MarkingInterlockedQueuedIrps, Broken_IsReported) {
    const irpverbs::irp::verifier_scope verified("default");
    const auto summary = expect_found({}, [](sim_machine& sim) { queue_and_serve(sim, false); });
    ASSERT_TRUE(summary.failure);
    EXPECT_NE(summary.failure->what.find("MarkingInterlockedQueuedIrps"), std::string::npos)
        << summary.failure->what;
    EXPECT_NE(summary.failure->report.find("replay:"), std::string::npos);
}
TEST(MarkingInterlockedQueuedIrps, Kept_IsNotReported) {
    const irpverbs::irp::verifier_scope verified("default");
    explore_options options;
    options.exhaustive_runs = 20000;
    expect_exhausted(options, [](sim_machine& sim) { queue_and_serve(sim, true); });
}

std::vector<reported_finding> complete_and_pend(const char* options) {
    return found_with(options, [](sim_machine&) {
        lambda_driver driver([](DEVICE_OBJECT*, IRP* irp) {
            IoMarkIrpPending(irp);
            complete(irp, STATUS_SUCCESS);
            return STATUS_PENDING;
        });
        request(1).send(driver);
    });
}

// The mark is made in the location of the originator, which lies behind the others.
TEST(MarkIrpPending, MarkAfterCompletion_StaysInTheIrpsMemory) {
    std::size_t room = 0;
    std::size_t end = 0;
    found_in([&](sim_machine&) {
        IRP* irp = IoAllocateIrp(1, FALSE);
        room = malloc_usable_size(irp);
        end = static_cast<std::size_t>(
            reinterpret_cast<const char*>(IoGetCurrentIrpStackLocation(irp) + 1) -
            reinterpret_cast<const char*>(irp));
        IoFreeIrp(irp);
    });
    EXPECT_LE(end, room);
}

TEST(PendedCompletedRequest, Broken_IsReported) {
    EXPECT_TRUE(is(complete_and_pend("default,pended_completed=fail"), "PendedCompletedRequest",
                   io_violation, 0x49521002));
}
TEST(PendedCompletedRequest, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(complete_and_pend("default"))); // a warning, as WDK texts differ
    EXPECT_TRUE(nothing(complete_and_pend("default,pended_completed=allow")));
}

struct cancelled_queue {
    IO_CSQ csq{};
    LIST_ENTRY list{};
    cancelled_queue() {
        InitializeListHead(&list);
        IoCsqInitialize(
            &csq, [](IO_CSQ* queue, IRP* irp) { InsertTailList(&of(queue).list, &entry_of(irp)); },
            [](IO_CSQ*, IRP* irp) { RemoveEntryList(&entry_of(irp)); },
            [](IO_CSQ*, IRP*, void*) -> IRP* { return nullptr; }, [](IO_CSQ*, KIRQL*) {},
            [](IO_CSQ*, KIRQL) {}, [](IO_CSQ*, IRP* irp) { complete(irp, STATUS_CANCELLED); });
    }
    static cancelled_queue& of(IO_CSQ* queue) {
        return *CONTAINING_RECORD(queue, cancelled_queue, csq);
    }
    static LIST_ENTRY& entry_of(IRP* irp) { return irp->Tail.Overlay.ListEntry; }
};

// The queue completes an IRP that was cancelled before; STATUS_PENDING is all that its inserter may
// return.
TEST(PendedCompletedRequestRule, QueueCompletesCancelledIrp_IsAccepted) {
    EXPECT_TRUE(nothing(found_with("default,pended_completed=fail", [](sim_machine&) {
        cancelled_queue queue;
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            IoCsqInsertIrp(&queue.csq, irp, nullptr);
            return STATUS_PENDING;
        });
        request asked(1);
        asked.irp()->Cancel = TRUE;
        asked.send(driver);
    })));
}

// A device that pends a request in a cancel-safe queue under a key.
class keyed_queue : public queue_driver {
public:
    explicit keyed_queue(bool on_stack) : on_stack_(on_stack) {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = pend;
    }

    /// Lets the IRP wait without its key, whose memory is gone.
    void drop_key(IRP* irp) { irp->Tail.Overlay.DriverContext[3] = &csq_; }

private:
    static NTSTATUS pend(DEVICE_OBJECT* device, IRP* irp) {
        auto& mine =
            static_cast<keyed_queue&>(**static_cast<queue_driver**>(device->DeviceExtension));
        IO_CSQ_IRP_CONTEXT local{};
        IoCsqInsertIrp(&mine.csq_, irp, mine.on_stack_ ? &local : &mine.key_);
        return STATUS_PENDING;
    }

    bool on_stack_;
    IO_CSQ_IRP_CONTEXT key_{};
};

auto queue_with_key(bool on_stack) {
    return found_in([=](sim_machine&) {
        keyed_queue driver(on_stack);
        request asked(1);
        IoCallDriver(driver.device(), asked.irp());
        if (on_stack) driver.drop_key(asked.irp());
        driver.serve();
    });
}

TEST(CsqContextOnStack, Broken_IsReported) {
    EXPECT_TRUE(is(queue_with_key(true), "CsqContextOnStack", DRIVER_VERIFIER_DETECTED_VIOLATION,
                   0x49521027));
}
TEST(CsqContextOnStack, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(queue_with_key(false)));
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { // the IRP leaves the queue before the return
        IO_CSQ_IRP_CONTEXT* key = nullptr;
        cancelled_queue queue;
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            IO_CSQ_IRP_CONTEXT local{};
            key = &local;
            IoCsqInsertIrp(&queue.csq, irp, key);
            complete(IoCsqRemoveIrp(&queue.csq, key), STATUS_SUCCESS);
            return STATUS_PENDING;
        });
        request asked(1);
        asked.send(driver);
    })));
}

// A filter that completes an IRP after it has passed it down.
TEST(PendedCompletedRequest2, Broken_IsReported) {
    const auto found = found_in([](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver bottom(pend_in(pended));
        lambda_driver filter(bottom, [&](DEVICE_OBJECT* device, IRP* irp) {
            forward(device, irp, bottom);
            return complete(irp, STATUS_CANCELLED);
        });
        request asked(2);
        asked.send(filter);
        complete(pended, STATUS_SUCCESS);
    });
    EXPECT_TRUE(is(found, "PendedCompletedRequest2", io_violation, 0x209));
}

NTSTATUS wake(DEVICE_OBJECT*, IRP*, void* event) {
    KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

// The filter waits for the IRP's return before it completes it.
TEST(PendedCompletedRequest2, Kept_IsNotReported) {
    const auto found = found_in([](sim_machine& sim) {
        IRP* pended = nullptr;
        lambda_driver bottom(pend_in(pended));
        lambda_driver filter(bottom, [&](DEVICE_OBJECT*, IRP* irp) {
            KEVENT back;
            KeInitializeEvent(&back, NotificationEvent, FALSE);
            IoCopyCurrentIrpStackLocationToNext(irp);
            IoSetCompletionRoutine(irp, wake, &back, TRUE, TRUE, TRUE);
            if (IoCallDriver(bottom.device(), irp) == STATUS_PENDING)
                KeWaitForSingleObject(&back, Executive, KernelMode, FALSE, nullptr);
            return complete(irp, STATUS_CANCELLED);
        });
        request asked(2);
        sim.spawn("ask", [&] { asked.send(filter); });
        sim.spawn("serve", [&] {
            while (pended == nullptr)
                sim.yield();
            complete(pended, STATUS_SUCCESS);
        });
        sim.run();
    });
    EXPECT_TRUE(nothing(found));
}

NTSTATUS forget_mark(DEVICE_OBJECT*, IRP*, void*) { return STATUS_CONTINUE_COMPLETION; }
NTSTATUS pass_mark(DEVICE_OBJECT*, IRP* irp, void*) {
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    return STATUS_CONTINUE_COMPLETION;
}

std::vector<reported_finding> filter_with(PIO_COMPLETION_ROUTINE routine) {
    return found_in([routine](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver bottom(pend_in(pended));
        lambda_driver filter(bottom, [&](DEVICE_OBJECT*, IRP* irp) {
            IoCopyCurrentIrpStackLocationToNext(irp);
            IoSetCompletionRoutine(irp, routine, nullptr, TRUE, TRUE, TRUE);
            return IoCallDriver(bottom.device(), irp);
        });
        request asked(2);
        asked.send(filter);
        complete(pended, STATUS_SUCCESS);
    });
}

TEST(PendingPropagated, Broken_IsReported) {
    EXPECT_TRUE(is(filter_with(forget_mark), "PendingPropagated", io_violation, 0x228));
}
TEST(PendingPropagated, Kept_IsNotReported) { EXPECT_TRUE(nothing(filter_with(pass_mark))); }

NTSTATUS switch_and_pass_mark(DEVICE_OBJECT* device, IRP* irp, void* context) {
    KSPIN_LOCK lock;
    KeInitializeSpinLock(&lock);
    KeReleaseSpinLock(&lock, KeAcquireSpinLockRaiseToDpc(&lock));
    return pass_mark(device, irp, context);
}

// The filter returns STATUS_PENDING while its completion routine has not marked the IRP yet.
TEST(MarkIrpPending2, ReturnDuringTheCompletionRoutine_IsNotReported) {
    const irpverbs::irp::verifier_scope verified("default");
    explore_options options;
    options.exhaustive_runs = 20000;
    options.preemption_bound = 2;
    expect_exhausted(options, [](sim_machine& sim) {
        interlocked_driver queue(true);
        lambda_driver filter(queue.driver, [&](DEVICE_OBJECT*, IRP* irp) {
            IoCopyCurrentIrpStackLocationToNext(irp);
            IoSetCompletionRoutine(irp, switch_and_pass_mark, nullptr, TRUE, TRUE, TRUE);
            return IoCallDriver(queue.driver.device(), irp);
        });
        request asked(2);
        sim.spawn("send", [&] { asked.send(filter); });
        sim.spawn("serve", [&] { queue.serve(); });
        sim.run();
        queue.serve();
    });
}

} // namespace
