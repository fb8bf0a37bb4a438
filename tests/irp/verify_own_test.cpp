// Rules on IRPs of the driver's own and on their memory, one violation and one correct use for
// each.
#include "verified.hpp"

#include <dispatch/support/sanitizers.hpp>

#include <irp/build.h>
#include <irp/mdl.h>

#include <array>
#include <cstdlib>
#include <vector>

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

/// The findings when `use` gets a new IRP, which it frees or passes on.
std::vector<reported_finding> own(const std::function<void(IRP*, const lambda_driver&)>& use) {
    return found_in([&](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        IRP* irp = IoAllocateIrp(1, FALSE);
        IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
        use(irp, driver);
    });
}
NTSTATUS take(DEVICE_OBJECT*, IRP*, void*) { return STATUS_MORE_PROCESSING_REQUIRED; }
NTSTATUS leave(DEVICE_OBJECT*, IRP*, void*) { return STATUS_CONTINUE_COMPLETION; }

void send_and_free(IRP* irp, const lambda_driver& driver) {
    IoSetCompletionRoutine(irp, take, nullptr, TRUE, TRUE, TRUE);
    IoCallDriver(driver.device(), irp);
    IoFreeIrp(irp);
}

TEST(IoAllocateComplete, Broken_IsReported) {
    EXPECT_TRUE(is(own([](IRP* irp, const lambda_driver&) {
                       complete(irp, STATUS_SUCCESS);
                       IoFreeIrp(irp);
                   }),
                   "IoAllocateComplete", io_violation, 0x4952100E));
}
TEST(IoAllocateComplete, Kept_IsNotReported) { EXPECT_TRUE(nothing(own(send_and_free))); }

TEST(IoAllocateForward, Broken_IsReported) {
    EXPECT_TRUE(
        is(own([](IRP* irp, const lambda_driver& driver) { IoCallDriver(driver.device(), irp); }),
           "IoAllocateForward", io_violation, 0x4952100F));
    EXPECT_TRUE(is(own([](IRP* irp, const lambda_driver& driver) {
                       IoSetCompletionRoutine(irp, leave, nullptr, TRUE, TRUE, TRUE);
                       IoCallDriver(driver.device(), irp);
                   }),
                   "IoAllocateForward", io_violation, 0x4952100F));
}
TEST(IoAllocateForward, Kept_IsNotReported) { EXPECT_TRUE(nothing(own(send_and_free))); }

/// An IRP in memory of the caller's own.
struct own_memory {
    IRP* irp = static_cast<IRP*>(std::aligned_alloc(64, IoSizeOfIrp(1)));
    own_memory() { IoInitializeIrp(irp, IoSizeOfIrp(1), 1); }
    ~own_memory() { std::free(irp); }
    own_memory(const own_memory&) = delete;
    own_memory& operator=(const own_memory&) = delete;
};

TEST(IoAllocateFree, Broken_IsReported) {
    EXPECT_TRUE(is(found_in([](sim_machine&) { IoFreeIrp(own_memory().irp); }), "IoAllocateFree",
                   io_violation, 0x01));
    EXPECT_TRUE(is(own([](IRP* irp, const lambda_driver&) {
                       IoFreeIrp(irp);
                       IoFreeIrp(irp);
                   }),
                   "IoAllocateFree", io_violation, 0x01));
}
TEST(IoAllocateFree, Kept_IsNotReported) { EXPECT_TRUE(nothing(own(send_and_free))); }

TEST(IrpFreedAsPool, Broken_IsReported) {
    const auto once = own([](IRP* irp, const lambda_driver&) {
        ExFreePoolWithTag(irp, 0x20707249);
        IoFreeIrp(irp);
    });
    EXPECT_TRUE(is(once, "IrpFreedAsPool", DRIVER_VERIFIER_DETECTED_VIOLATION, 0x105));
    EXPECT_EQ(once.size(), 1u) << text_of(once); // the memory is still an IRP
    const auto too_late = own([](IRP* irp, const lambda_driver&) {
        IoFreeIrp(irp);
        ExFreePool(irp);
    });
    EXPECT_TRUE(is(too_late, "IrpFreedAsPool", DRIVER_VERIFIER_DETECTED_VIOLATION, 0x105));
    EXPECT_TRUE(too_late.at(0).has_stack("freed at"));
}
TEST(IrpFreedAsPool, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(own(send_and_free)));
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { // an IRP in pool memory
        void* memory = ExAllocatePool2(POOL_FLAG_NON_PAGED, IoSizeOfIrp(1), 0x20707249);
        IoInitializeIrp(static_cast<IRP*>(memory), IoSizeOfIrp(1), 1);
        ExFreePool(memory);
    })));
}

std::vector<reported_finding> complete_initialized(bool sent) {
    return found_in([sent](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        own_memory memory;
        IoGetNextIrpStackLocation(memory.irp)->MajorFunction = IRP_MJ_READ;
        IoSetCompletionRoutine(memory.irp, take, nullptr, TRUE, TRUE, TRUE);
        if (sent)
            IoCallDriver(driver.device(), memory.irp);
        else
            complete(memory.irp, STATUS_SUCCESS);
    });
}
TEST(CompletedNeverSent, Broken_IsReported) {
    EXPECT_TRUE(is(complete_initialized(false), "CompletedNeverSent", io_violation, 0x239));
}
TEST(CompletedNeverSent, Kept_IsNotReported) { EXPECT_TRUE(nothing(complete_initialized(true))); }

TEST(IoReuseIrp, Broken_IsReported) {
    EXPECT_TRUE(is(found_in([](sim_machine&) { IoReuseIrp(own_memory().irp, STATUS_SUCCESS); }),
                   "IoReuseIrp", io_violation, 0x311));
}
TEST(IoReuseIrp, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(own([](IRP* irp, const lambda_driver& driver) {
        IoReuseIrp(irp, STATUS_SUCCESS);
        IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
        send_and_free(irp, driver);
    })));
}

std::vector<reported_finding> while_pended(const std::function<void(IRP*)>& misuse) {
    return found_in([&](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver driver(pend_in(pended));
        request asked;
        asked.send(driver);
        misuse(pended);
        complete(pended, STATUS_SUCCESS);
    });
}
TEST(FreedInUse, Broken_IsReported) {
    EXPECT_TRUE(is(while_pended(IoFreeIrp), "FreedInUse", io_violation, 0x20A));
}
TEST(FreedInUse, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(while_pended([](IRP*) {})));
    // with a location of the originator's own on top
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        IRP* irp = IoAllocateIrp(2, FALSE);
        IoSetNextIrpStackLocation(irp);
        IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_READ;
        send_and_free(irp, driver);
    })));
}
TEST(InitializedInUse, Broken_IsReported) {
    EXPECT_TRUE(is(while_pended([](IRP* irp) { IoReuseIrp(irp, STATUS_SUCCESS); }),
                   "InitializedInUse", io_violation, 0x310));
}
TEST(InitializedInUse, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(while_pended([](IRP*) {})));
}

TEST(InitializedAllocated, Broken_IsReported) {
    EXPECT_TRUE(is(own([](IRP* irp, const lambda_driver&) {
                       keep_lost(irp);
                       IoInitializeIrp(irp, IoSizeOfIrp(1), 1);
                   }),
                   "InitializedAllocated", io_violation, 0x20D));
}
TEST(InitializedAllocated, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        own_memory memory;
        IoInitializeIrp(memory.irp, IoSizeOfIrp(1), 1);
    })));
}

std::vector<reported_finding> lock_and_free(bool unlocks) {
    return found_in([&](sim_machine&) {
        static std::array<char, 64> buffer;
        MDL* mdl = IoAllocateMdl(buffer.data(), buffer.size(), FALSE, FALSE, nullptr);
        MmProbeAndLockPages(mdl, KernelMode, IoWriteAccess);
        if (unlocks) MmUnlockPages(mdl);
        IoFreeMdl(mdl);
    });
}
TEST(LockedPages, Broken_IsReported) {
    EXPECT_TRUE(
        is(lock_and_free(false), "LockedPages", DRIVER_VERIFIER_DETECTED_VIOLATION, 0x4952102A));
}
TEST(LockedPages, Kept_IsNotReported) { EXPECT_TRUE(nothing(lock_and_free(true))); }

TEST(UseAfterFree, Broken_IsReported) {
    const auto use = [](const std::function<void(IRP*, const lambda_driver&)>& misuse) {
        return own([&](IRP* irp, const lambda_driver& driver) {
            IoFreeIrp(irp);
            misuse(irp, driver);
        });
    };
    const auto sent =
        use([](IRP* irp, const lambda_driver& driver) { IoCallDriver(driver.device(), irp); });
    EXPECT_TRUE(is(sent, "UseAfterFree", io_violation, 0x03));
    EXPECT_TRUE(sent.at(0).has_stack("freed at"));
    EXPECT_NE(sent[0].history.find("freed"), std::string::npos);
    EXPECT_TRUE(is(use([](IRP* irp, const lambda_driver&) { IoCompleteRequest(irp, 0); }),
                   "UseAfterFree", io_violation, 0x03));
    EXPECT_TRUE(is(use([](IRP* irp, const lambda_driver&) { IoCancelIrp(irp); }), "UseAfterFree",
                   io_violation, 0x03));
    EXPECT_TRUE(is(use([](IRP* irp, const lambda_driver&) { IoSetCancelRoutine(irp, nullptr); }),
                   "UseAfterFree", io_violation, 0x03));
    EXPECT_TRUE(is(use([](IRP* irp, const lambda_driver&) { IoReuseIrp(irp, STATUS_SUCCESS); }),
                   "UseAfterFree", io_violation, 0x03));
}
TEST(UseAfterFree, Kept_IsNotReported) { EXPECT_TRUE(nothing(own(send_and_free))); }

#if IRPVERBS_ADDRESS_SANITIZER
// The sanitizer itself stops the write.
TEST(WriteAfterFree, Broken_IsReported) {
    EXPECT_DEATH(own([](IRP* irp, const lambda_driver&) {
                     IoFreeIrp(irp);
                     irp->IoStatus.Information = 1;
                 }),
                 "use-after-poison");
}
#else
TEST(WriteAfterFree, Broken_IsReported) {
    EXPECT_TRUE(is(own([](IRP* irp, const lambda_driver&) {
                       IoFreeIrp(irp);
                       irp->IoStatus.Information = 1;
                   }),
                   "WriteAfterFree", io_violation, 0x49521010));
}
#endif
TEST(WriteAfterFree, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) { // more than the quarantine holds
        for (int i = 0; i < 300; ++i)
            IoFreeIrp(IoAllocateIrp(2, FALSE));
    })));
}

/// An asynchronous read that `use` sends and frees.
std::vector<reported_finding> built(const std::function<void(IRP*, const lambda_driver&)>& use) {
    return found_in([&](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        LARGE_INTEGER offset{};
        use(IoBuildAsynchronousFsdRequest(IRP_MJ_READ, driver.device(), nullptr, 0, &offset,
                                          nullptr),
            driver);
    });
}
TEST(IoBuildFsdFree, Broken_IsReported) {
    EXPECT_TRUE(is(built([](IRP* irp, const lambda_driver& driver) {
                       send_and_free(irp, driver);
                       IoFreeIrp(irp);
                   }),
                   "IoBuildFsdFree", io_violation, 0x01));
}
TEST(IoBuildFsdFree, Kept_IsNotReported) { EXPECT_TRUE(nothing(built(send_and_free))); }

TEST(IoBuildFsdComplete, Broken_IsReported) {
    EXPECT_TRUE(is(built([](IRP* irp, const lambda_driver&) {
                       complete(irp, STATUS_SUCCESS);
                       IoFreeIrp(irp);
                   }),
                   "IoBuildFsdComplete", io_violation, 0x49521017));
}
TEST(IoBuildFsdComplete, Kept_IsNotReported) { EXPECT_TRUE(nothing(built(send_and_free))); }
TEST(IoBuildFsdForward, Broken_IsReported) {
    EXPECT_TRUE(
        is(built([](IRP* irp, const lambda_driver& driver) { IoCallDriver(driver.device(), irp); }),
           "IoBuildFsdForward", io_violation, 0x49521018));
}
TEST(IoBuildFsdForward, Kept_IsNotReported) { EXPECT_TRUE(nothing(built(send_and_free))); }

NTSTATUS free_it(DEVICE_OBJECT*, IRP* irp, void*) {
    keep_lost(irp);
    IoFreeIrp(irp); // refused
    return STATUS_MORE_PROCESSING_REQUIRED;
}
NTSTATUS set_event(DEVICE_OBJECT*, IRP*, void* event) {
    KeSetEvent(static_cast<KEVENT*>(event), IO_NO_INCREMENT, FALSE);
    return STATUS_CONTINUE_COMPLETION;
}

/// A request bound to its thread, with that completion routine; null: none.
std::vector<reported_finding> bound(bool control, PIO_COMPLETION_ROUTINE routine,
                                    KIRQL level = PASSIVE_LEVEL) {
    return found_in([=](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        KEVENT done;
        IO_STATUS_BLOCK status{};
        LARGE_INTEGER offset{};
        KeInitializeEvent(&done, NotificationEvent, FALSE);
        IRP* irp = control ? IoBuildDeviceIoControlRequest(0, driver.device(), nullptr, 0, nullptr,
                                                           0, FALSE, &done, &status)
                           : IoBuildSynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, driver.device(),
                                                          nullptr, 0, &offset, &done, &status);
        if (routine != nullptr) IoSetCompletionRoutine(irp, routine, &done, TRUE, TRUE, TRUE);
        KIRQL old = PASSIVE_LEVEL;
        KeRaiseIrql(level, &old);
        IoCallDriver(driver.device(), irp);
        KeLowerIrql(old);
        if (routine == free_it) return;
        KeWaitForSingleObject(&done, Executive, KernelMode, FALSE, nullptr);
    });
}
TEST(IoBuildDeviceControlNoFree, Broken_IsReported) {
    EXPECT_TRUE(is(bound(true, free_it), "IoBuildDeviceControlNoFree", io_violation, 0x02));
}
TEST(IoBuildDeviceControlNoFree, Kept_IsNotReported) { EXPECT_TRUE(nothing(bound(true, nullptr))); }
TEST(IoBuildSynchronousFsdRequestNoFree, Broken_IsReported) {
    EXPECT_TRUE(
        is(bound(false, free_it), "IoBuildSynchronousFsdRequestNoFree", io_violation, 0x02));
}
TEST(IoBuildSynchronousFsdRequestNoFree, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(bound(false, nullptr)));
}
TEST(IoBuildDeviceIoControlSetEvent, Broken_IsReported) {
    EXPECT_TRUE(is(bound(true, set_event), "IoBuildDeviceIoControlSetEvent", io_violation, 0x307));
}
TEST(IoBuildDeviceIoControlSetEvent, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(bound(true, leave)));
}
TEST(ThreadBoundIrql, Broken_IsReported) {
    EXPECT_TRUE(is(bound(true, nullptr, APC_LEVEL), "ThreadBoundIrql", io_violation, 0x302));
}
TEST(ThreadBoundIrql, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(bound(true, nullptr, PASSIVE_LEVEL)));
}
TEST(ForwardedAtBadIrqlFsdSync, Broken_IsReported) {
    EXPECT_TRUE(is(bound(false, nullptr, DISPATCH_LEVEL), "ForwardedAtBadIrqlFsdSync", io_violation,
                   0x23A));
}
TEST(ForwardedAtBadIrqlFsdSync, Kept_IsNotReported) { EXPECT_TRUE(nothing(bound(false, nullptr))); }

std::vector<reported_finding> flush_at(KIRQL level) {
    return found_in([level](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        IRP* irp = IoBuildAsynchronousFsdRequest(IRP_MJ_FLUSH_BUFFERS, driver.device(), nullptr, 0,
                                                 nullptr, nullptr);
        KIRQL old = PASSIVE_LEVEL;
        KeRaiseIrql(level, &old);
        send_and_free(irp, driver);
        KeLowerIrql(old);
    });
}
TEST(ForwardedAtBadIrqlFsdAsync, Broken_IsReported) {
    EXPECT_TRUE(is(flush_at(DISPATCH_LEVEL), "ForwardedAtBadIrqlFsdAsync", io_violation, 0x23A));
}
TEST(ForwardedAtBadIrqlFsdAsync, Kept_IsNotReported) { EXPECT_TRUE(nothing(flush_at(APC_LEVEL))); }

} // namespace
