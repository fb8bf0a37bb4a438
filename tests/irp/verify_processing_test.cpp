// Rules on the use of an IRP in dispatch and completion routines, one violation and one correct use
// for each.
#include "verified.hpp"

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

/// The findings when one request goes to a driver with that dispatch routine.
std::vector<reported_finding> ask(lambda_driver::routine dispatch) {
    return found_in([&](sim_machine&) {
        lambda_driver driver(dispatch);
        request(1).send(driver);
    });
}

/// The findings when one request goes through a filter with that dispatch routine.
std::vector<reported_finding> ask_filter(
    const std::function<NTSTATUS(DEVICE_OBJECT* self, DEVICE_OBJECT* lower, IRP* irp)>& dispatch,
    const lambda_driver::routine& bottom = succeed_at_once) {
    return found_in([&](sim_machine&) {
        lambda_driver below(bottom);
        lambda_driver filter(below, [&](DEVICE_OBJECT* self, IRP* irp) {
            return dispatch(self, below.device(), irp);
        });
        request(2).send(filter);
    });
}

/// The findings when one request goes through a filter with that completion routine.
std::vector<reported_finding> ask_with(PIO_COMPLETION_ROUTINE routine) {
    return ask_filter([routine](DEVICE_OBJECT*, DEVICE_OBJECT* lower, IRP* irp) {
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, routine, nullptr, TRUE, TRUE, TRUE);
        return IoCallDriver(lower, irp);
    });
}

NTSTATUS go_on(DEVICE_OBJECT*, IRP* irp, void*) {
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    return STATUS_CONTINUE_COMPLETION;
}
NTSTATUS keep_irp(DEVICE_OBJECT*, IRP*, void*) { return STATUS_MORE_PROCESSING_REQUIRED; }

TEST(DoubleCompletion, Broken_IsReported) {
    const auto found = ask([](DEVICE_OBJECT*, IRP* irp) {
        complete(irp, STATUS_SUCCESS);
        return complete(irp, STATUS_SUCCESS);
    });
    EXPECT_TRUE(
        is(found, "DoubleCompletion", MULTIPLE_IRP_COMPLETE_REQUESTS, found.at(0).parameters[1]));
    EXPECT_TRUE(found[0].has_stack("first completed at"));
    EXPECT_TRUE(found[0].has_stack("here"));
    EXPECT_NE(found[0].history.find("completed, location 1, device#1, STATUS_SUCCESS"),
              std::string::npos)
        << found[0].history;
}
TEST(DoubleCompletion, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask(succeed_at_once))); }

NTSTATUS complete_and_go_on(DEVICE_OBJECT*, IRP* irp, void*) {
    complete(irp, STATUS_SUCCESS);
    return STATUS_CONTINUE_COMPLETION;
}
NTSTATUS complete_and_take(DEVICE_OBJECT*, IRP* irp, void*) {
    complete(irp, STATUS_SUCCESS);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

TEST(CompleteRequest, Broken_IsReported) {
    EXPECT_TRUE(is(ask_with(complete_and_go_on), "CompleteRequest", MULTIPLE_IRP_COMPLETE_REQUESTS,
                   0x49521003));
}
TEST(CompleteRequest, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask_with(complete_and_take))); }

TEST(CompleteRequestStatusCheck, Broken_IsReported) {
    EXPECT_TRUE(is(ask([](DEVICE_OBJECT*, IRP* irp) {
                       complete(irp, STATUS_SUCCESS);
                       return STATUS_UNSUCCESSFUL;
                   }),
                   "CompleteRequestStatusCheck", io_violation, 0x224));
}
TEST(CompleteRequestStatusCheck, Kept_IsNotReported) {
    EXPECT_TRUE(
        nothing(ask([](DEVICE_OBJECT*, IRP* irp) { return complete(irp, STATUS_UNSUCCESSFUL); })));
}

TEST(CompletedWithPending, Broken_IsReported) {
    EXPECT_TRUE(is(ask([](DEVICE_OBJECT*, IRP* irp) {
                       complete(irp, STATUS_PENDING);
                       return complete(irp, STATUS_SUCCESS);
                   }),
                   "CompletedWithPending", io_violation, 0x06));
}
TEST(CompletedWithPending, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask(succeed_at_once))); }

TEST(CompletionRoutineRegistered, Broken_IsReported) {
    EXPECT_TRUE(is(ask_filter([](DEVICE_OBJECT* self, DEVICE_OBJECT*, IRP* irp) {
                       IoSetCompletionRoutineEx(self, irp, go_on, nullptr, TRUE, TRUE, TRUE);
                       keep_lost(IoGetNextIrpStackLocation(irp)->Context);
                       return complete(irp, STATUS_SUCCESS);
                   }),
                   "CompletionRoutineRegistered", io_violation, 0x49521004));
}
NTSTATUS set_ex_and_send(DEVICE_OBJECT* device, DEVICE_OBJECT* lower, IRP* irp) {
    IoCopyCurrentIrpStackLocationToNext(irp);
    const NTSTATUS status = IoSetCompletionRoutineEx(device, irp, go_on, nullptr, TRUE, TRUE, TRUE);
    return NT_SUCCESS(status) ? IoCallDriver(lower, irp) : complete(irp, status);
}
TEST(CompletionRoutineRegistered, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(ask_filter(set_ex_and_send)));
}

TEST(IoSetCompletionRoutineExCheckDeviceObject, Broken_IsReported) {
    EXPECT_TRUE(is(ask_filter([](DEVICE_OBJECT*, DEVICE_OBJECT* lower, IRP* irp) {
                       return set_ex_and_send(lower, lower, irp);
                   }),
                   "IoSetCompletionRoutineExCheckDeviceObject", io_violation, 0x49521005));
}
TEST(IoSetCompletionRoutineExCheckDeviceObject, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(ask_filter(set_ex_and_send)));
}

TEST(InformationSize, Broken_IsReported) {
    static ULONG buffer[2];
    const auto found = found_in([](sim_machine&) {
        lambda_driver driver([](DEVICE_OBJECT*, IRP* irp) {
            irp->IoStatus.Status = STATUS_SUCCESS;
            irp->IoStatus.Information = 9;
            IoCompleteRequest(irp, IO_NO_INCREMENT);
            return STATUS_SUCCESS;
        });
        request asked(1, IRP_MJ_DEVICE_CONTROL);
        asked.irp()->AssociatedIrp.SystemBuffer = buffer;
        IoGetNextIrpStackLocation(asked.irp())->Parameters.DeviceIoControl.OutputBufferLength = 8;
        asked.send(driver);
    });
    EXPECT_TRUE(is(found, "InformationSize", io_violation, 0x312));
}
TEST(InformationSize, Kept_IsNotReported) {
    static ULONG buffer[2];
    const auto found = found_in([](sim_machine&) {
        lambda_driver driver([](DEVICE_OBJECT*, IRP* irp) {
            irp->IoStatus.Status = STATUS_SUCCESS;
            irp->IoStatus.Information = 8;
            IoCompleteRequest(irp, IO_NO_INCREMENT);
            return STATUS_SUCCESS;
        });
        request asked(1, IRP_MJ_READ);
        asked.irp()->AssociatedIrp.SystemBuffer = buffer;
        IoGetNextIrpStackLocation(asked.irp())->Parameters.Read.Length = 8;
        asked.send(driver);
    });
    EXPECT_TRUE(nothing(found));
}

// AssociatedIrp of an associated IRP is its master, so the size of its buffer is unknown.
TEST(InformationSizeRule, OfAnAssociatedIrp_IsNotAsked) {
    EXPECT_TRUE(nothing(found_in([](sim_machine&) {
        lambda_driver driver([](DEVICE_OBJECT*, IRP* irp) {
            irp->IoStatus.Status = STATUS_SUCCESS;
            irp->IoStatus.Information = 9;
            IoCompleteRequest(irp, IO_NO_INCREMENT);
            return STATUS_SUCCESS;
        });
        IRP* pended = nullptr;
        lambda_driver above(pend_in(pended));
        request master(1, IRP_MJ_DEVICE_CONTROL);
        master.send(above);
        IRP* part = IoMakeAssociatedIrp(pended, 1);
        pended->AssociatedIrp.IrpCount = 1;
        IoGetNextIrpStackLocation(part)->MajorFunction = IRP_MJ_DEVICE_CONTROL;
        IoGetNextIrpStackLocation(part)->Parameters.DeviceIoControl.OutputBufferLength = 8;
        pended->IoStatus.Status = STATUS_SUCCESS;
        IoCallDriver(driver.device(), part); // the last part completes its master
    })));
}

TEST(IrpProcessingComplete, Broken_IsReported) {
    const auto found = found_in([](sim_machine&) {
        IRP* forgotten = nullptr;
        lambda_driver driver([&](DEVICE_OBJECT*, IRP* irp) {
            forgotten = irp;
            return STATUS_SUCCESS;
        });
        request asked;
        asked.send(driver);
        complete(forgotten, STATUS_SUCCESS);
    });
    EXPECT_TRUE(is(found, "IrpProcessingComplete", io_violation, 0x226));
}
TEST(IrpProcessingComplete, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask(succeed_at_once))); }

std::vector<reported_finding> ask_pending_below(NTSTATUS (*judge)(NTSTATUS)) {
    return found_in([judge](sim_machine&) {
        IRP* pended = nullptr;
        lambda_driver below(pend_in(pended));
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            IoSkipCurrentIrpStackLocation(irp);
            return judge(IoCallDriver(below.device(), irp));
        });
        request asked(2);
        asked.send(filter);
        complete(pended, STATUS_SUCCESS);
    });
}
TEST(LowerDriverReturn, Broken_IsReported) {
    EXPECT_TRUE(is(ask_pending_below([](NTSTATUS) -> NTSTATUS { return STATUS_SUCCESS; }),
                   "LowerDriverReturn", io_violation, 0x49521006));
    EXPECT_TRUE(is(ask_filter([](DEVICE_OBJECT*, DEVICE_OBJECT* lower, IRP* irp) {
                       IoSkipCurrentIrpStackLocation(irp);
                       IoCallDriver(lower, irp);
                       return STATUS_UNSUCCESSFUL;
                   }),
                   "LowerDriverReturn", io_violation, 0x49521006));
}
TEST(LowerDriverReturn, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(ask_pending_below([](NTSTATUS below) { return below; })));
}

TEST(IrqlReturn, Broken_IsReported) {
    EXPECT_TRUE(is(ask([](DEVICE_OBJECT*, IRP* irp) {
                       complete(irp, STATUS_SUCCESS);
                       KeRaiseIrqlToDpcLevel();
                       return STATUS_SUCCESS;
                   }),
                   "IrqlReturn", io_violation, 0x05));
}
TEST(IrqlReturn, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(ask([](DEVICE_OBJECT*, IRP* irp) {
        const KIRQL old = KeRaiseIrqlToDpcLevel();
        complete(irp, STATUS_SUCCESS);
        KeLowerIrql(old);
        return STATUS_SUCCESS;
    })));
}

TEST(ApcStateReturn, Broken_IsReported) {
    EXPECT_TRUE(is(ask([](DEVICE_OBJECT*, IRP* irp) {
                       KeEnterCriticalRegion();
                       return complete(irp, STATUS_SUCCESS);
                   }),
                   "ApcStateReturn", violation, 0xC5));
}
TEST(ApcStateReturn, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(ask([](DEVICE_OBJECT*, IRP* irp) {
        KeEnterCriticalRegion();
        complete(irp, STATUS_SUCCESS);
        KeLeaveCriticalRegion();
        return STATUS_SUCCESS;
    })));
}

NTSTATUS stay_raised(DEVICE_OBJECT*, IRP*, void*) {
    KeRaiseIrqlToDpcLevel();
    return STATUS_CONTINUE_COMPLETION;
}
NTSTATUS stay_in_region(DEVICE_OBJECT*, IRP*, void*) {
    KeEnterGuardedRegion();
    return STATUS_CONTINUE_COMPLETION;
}
TEST(CompletionRoutineIrql, Broken_IsReported) {
    EXPECT_TRUE(is(ask_with(stay_raised), "CompletionRoutineIrql", violation, 0xFA));
}
TEST(CompletionRoutineIrql, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask_with(go_on))); }
TEST(CompletionRoutineApcs, Broken_IsReported) {
    EXPECT_TRUE(is(ask_with(stay_in_region), "CompletionRoutineApcs", violation, 0xFB));
}
TEST(CompletionRoutineApcs, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask_with(go_on))); }

TEST(IoCompleteRequestIrql, Broken_IsReported) {
    EXPECT_TRUE(is(ask([](DEVICE_OBJECT*, IRP* irp) {
                       KIRQL old = PASSIVE_LEVEL;
                       KeRaiseIrql(HIGH_LEVEL, &old);
                       complete(irp, STATUS_SUCCESS);
                       KeLowerIrql(old);
                       return STATUS_SUCCESS;
                   }),
                   "IoCompleteRequestIrql", io_violation, 0x0E));
}
TEST(IoCompleteRequestIrql, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask(succeed_at_once))); }

/// An IRP that its originator sends at that level.
std::vector<reported_finding> send_at(KIRQL level, UCHAR major) {
    return found_in([&](sim_machine&) {
        lambda_driver driver(succeed_at_once);
        request asked(1, major);
        KIRQL old = PASSIVE_LEVEL;
        KeRaiseIrql(level, &old);
        asked.send(driver);
        KeLowerIrql(old);
    });
}
TEST(IoCallDriverIrql, Broken_IsReported) {
    EXPECT_TRUE(is(send_at(HIGH_LEVEL, IRP_MJ_READ), "IoCallDriverIrql", io_violation, 0x10));
}
TEST(IoCallDriverIrql, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(send_at(DISPATCH_LEVEL, IRP_MJ_READ)));
}
TEST(ForwardedAtBadIrqlAllocate, Broken_IsReported) {
    EXPECT_TRUE(is(send_at(DISPATCH_LEVEL, IRP_MJ_CREATE), "ForwardedAtBadIrqlAllocate",
                   io_violation, 0x23A));
}
TEST(ForwardedAtBadIrqlAllocate, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(send_at(APC_LEVEL, IRP_MJ_CREATE)));
}

/// A filter that forwards at that level.
std::vector<reported_finding> forward_at(KIRQL level) {
    return found_in([&](sim_machine&) {
        lambda_driver below(succeed_at_once);
        lambda_driver filter(below, [&](DEVICE_OBJECT*, IRP* irp) {
            KIRQL old = PASSIVE_LEVEL;
            KeRaiseIrql(level, &old);
            IoSkipCurrentIrpStackLocation(irp);
            const NTSTATUS status = IoCallDriver(below.device(), irp);
            KeLowerIrql(old);
            return status;
        });
        request(2, IRP_MJ_CREATE).send(filter);
    });
}
TEST(ForwardedAtBadIrql, Broken_IsReported) {
    EXPECT_TRUE(is(forward_at(DISPATCH_LEVEL), "ForwardedAtBadIrql", io_violation, 0x23A));
}
TEST(ForwardedAtBadIrql, Kept_IsNotReported) { EXPECT_TRUE(nothing(forward_at(PASSIVE_LEVEL))); }

TEST(ControlNotZeroed, Broken_IsReported) {
    EXPECT_TRUE(is(ask_filter([](DEVICE_OBJECT*, DEVICE_OBJECT* lower, IRP* irp) {
                       IoMarkIrpPending(irp);
                       IoSkipCurrentIrpStackLocation(irp);
                       IoCallDriver(lower, irp);
                       return STATUS_PENDING;
                   }),
                   "ControlNotZeroed", io_violation, 0x206));
}
TEST(ControlNotZeroed, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(ask_filter([](DEVICE_OBJECT*, DEVICE_OBJECT* lower, IRP* irp) {
        IoMarkIrpPending(irp);
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoCallDriver(lower, irp);
        return STATUS_PENDING;
    })));
}

TEST(CopiedCompletionRoutine, Broken_IsReported) {
    const auto found = ask_filter([](DEVICE_OBJECT*, DEVICE_OBJECT* lower, IRP* irp) {
        keep_lost(irp);
        *IoGetNextIrpStackLocation(irp) = *IoGetCurrentIrpStackLocation(irp);
        return IoCallDriver(lower, irp);
    });
    EXPECT_TRUE(is(found, "CopiedCompletionRoutine", io_violation, 0x207));
}
TEST(CopiedCompletionRoutine, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask_with(go_on))); }

TEST(ForwardedTwice, Broken_IsReported) {
    EXPECT_TRUE(is(ask_filter([](DEVICE_OBJECT*, DEVICE_OBJECT* lower, IRP* irp) {
                       const NTSTATUS status = complete(irp, STATUS_SUCCESS);
                       IoCallDriver(lower, irp);
                       return status;
                   }),
                   "ForwardedTwice", io_violation, 0x205));
}
// The filter sends an IRP again after its completion routine has reclaimed it.
TEST(ForwardedTwice, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(ask_filter([](DEVICE_OBJECT*, DEVICE_OBJECT* lower, IRP* irp) {
        IoCopyCurrentIrpStackLocationToNext(irp);
        IoSetCompletionRoutine(irp, keep_irp, nullptr, TRUE, TRUE, TRUE);
        IoCallDriver(lower, irp);
        IoCopyCurrentIrpStackLocationToNext(irp);
        return IoCallDriver(lower, irp);
    })));
}

/// A request to the top of three devices; the lower two pass and complete it correctly.
std::vector<reported_finding> ask_three(CCHAR depth, bool skips) {
    return found_in([=](sim_machine&) {
        lambda_driver bottom(succeed_at_once);
        lambda_driver middle(bottom, [&](DEVICE_OBJECT*, IRP* irp) {
            IoSkipCurrentIrpStackLocation(irp);
            return IoCallDriver(bottom.device(), irp);
        });
        lambda_driver top(middle, [&](DEVICE_OBJECT*, IRP* irp) {
            IoSkipCurrentIrpStackLocation(irp);
            return IoCallDriver((skips ? bottom : middle).device(), irp);
        });
        request(depth).send(top);
    });
}
// Enough locations for drivers that skip theirs, but not for the stack.
TEST(IrpStackLocations, Broken_IsReported) {
    EXPECT_TRUE(is(ask_three(1, false), "IrpStackLocations", io_violation, 0x208));
}
TEST(IrpStackLocations, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask_three(3, false))); }
TEST(SkippedDevice, Broken_IsReported) {
    EXPECT_TRUE(is(ask_three(3, true), "SkippedDevice", io_violation, 0x211));
}
TEST(SkippedDevice, Kept_IsNotReported) { EXPECT_TRUE(nothing(ask_three(3, false))); }

std::vector<reported_finding> complete_after(void (*use)(IO_STACK_LOCATION*)) {
    return found_in([use](sim_machine&) {
        lambda_driver driver([use](DEVICE_OBJECT*, IRP* irp) {
            use(IoGetCurrentIrpStackLocation(irp));
            return complete(irp, STATUS_SUCCESS);
        });
        request(1).send(driver);
    });
}
TEST(TrashedLocation, Broken_IsReported) {
    EXPECT_TRUE(is(complete_after([](IO_STACK_LOCATION* location) { *location = {}; }),
                   "TrashedLocation", io_violation, 0x212));
}
TEST(TrashedLocation, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(complete_after(
        [](IO_STACK_LOCATION* location) { location->Parameters.DeviceIoControl = {}; })));
}

} // namespace
