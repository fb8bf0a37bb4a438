// Rules on IRPs that were handed on, about later use by their former owner.
#define IRPVERBS_CHECKED_INLINES 1
#include "verified.hpp"

#include <dispatch/support/sanitizers.hpp>
#include <support/bug_checks.hpp>

#include <functional>
#include <string>
#include <utility>

#if IRPVERBS_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace {

using namespace irpverbs::testing;
using irpverbs::dispatch::sim_machine;

using use = void (*)(DEVICE_OBJECT*, IRP*);

NTSTATUS go_on_up(DEVICE_OBJECT*, IRP* irp, void*) {
    if (irp->PendingReturned) IoMarkIrpPending(irp);
    return STATUS_CONTINUE_COMPLETION;
}
NTSTATUS reclaim(DEVICE_OBJECT*, IRP*, void*) { return STATUS_MORE_PROCESSING_REQUIRED; }

// Every function that changes an IRP and that only its owner may call. The effect of each call is
// undone, or prevented by the finding.
constexpr struct {
    const char* function;
    use call;
} uses[] = {
    {"IoMarkIrpPending", [](DEVICE_OBJECT*, IRP* irp) { IoMarkIrpPending(irp); }},
    {"IoSkipCurrentIrpStackLocation",
     [](DEVICE_OBJECT*, IRP* irp) { IoSkipCurrentIrpStackLocation(irp); }},
    {"IoCopyCurrentIrpStackLocationToNext",
     [](DEVICE_OBJECT*, IRP* irp) { IoCopyCurrentIrpStackLocationToNext(irp); }},
    {"IoSetCompletionRoutine",
     [](DEVICE_OBJECT*, IRP* irp) {
         IoSetCompletionRoutine(irp, go_on_up, nullptr, TRUE, TRUE, TRUE);
     }},
    {"IoSetCompletionRoutineEx",
     [](DEVICE_OBJECT* self, IRP* irp) {
         IoSetCompletionRoutineEx(self, irp, go_on_up, nullptr, TRUE, TRUE, TRUE);
     }},
    {"IoSetNextIrpStackLocation", [](DEVICE_OBJECT*, IRP* irp) { IoSetNextIrpStackLocation(irp); }},
    {"IoMakeAssociatedIrp", [](DEVICE_OBJECT*, IRP* irp) { IoMakeAssociatedIrp(irp, 1); }},
    {"IoSetCompletionContext",
     [](DEVICE_OBJECT*, IRP* irp) { IoSetCompletionContext(irp, nullptr, nullptr); }},
    {"IoCsqInsertIrpEx", [](DEVICE_OBJECT*, IRP* irp) { IoCsqInsertIrp(nullptr, irp, nullptr); }},
    {"IoStartPacket",
     [](DEVICE_OBJECT* self, IRP* irp) { IoStartPacket(self, irp, nullptr, nullptr); }},
};

/// A filter above a driver that pends; the filter's dispatch routine ends with `afterwards`.
struct filtered {
    IRP* pended = nullptr;
    lambda_driver lower;
    lambda_driver upper;
    request asked{2};

    using ending = std::function<NTSTATUS(DEVICE_OBJECT*, IRP*, NTSTATUS)>;

    filtered(PIO_COMPLETION_ROUTINE on_return, const ending& afterwards)
        : filtered(on_return, pend_in(pended), afterwards) {}
    filtered(PIO_COMPLETION_ROUTINE on_return, const lambda_driver::routine& below,
             const ending& afterwards)
        : lower(below), upper(lower, [=, this](DEVICE_OBJECT* self, IRP* irp) {
              IoCopyCurrentIrpStackLocationToNext(irp);
              IoSetCompletionRoutine(irp, on_return, nullptr, TRUE, TRUE, TRUE);
              return afterwards(self, irp, IoCallDriver(lower.device(), irp));
          }) {}
    void finish_lower() { complete(std::exchange(pended, nullptr), STATUS_SUCCESS); }
};

/// Returns the rule that the verifier reports for that call, which then has no effect.
std::string rule_of(use call, DEVICE_OBJECT* self, IRP* irp) {
    const auto report = report_of([=] { call(self, irp); });
    return report ? report->rule : "none";
}

std::string used_after_send(use call) {
    std::string rule;
    EXPECT_TRUE(nothing(found_with("io", [&](sim_machine&) {
        filtered stack(go_on_up, [&](DEVICE_OBJECT* self, IRP* irp, NTSTATUS status) {
            rule = rule_of(call, self, irp);
            return status;
        });
        stack.asked.send(stack.upper);
        stack.finish_lower();
    })));
    return rule;
}

std::string used_after_completion(use call) {
    std::string rule;
    EXPECT_TRUE(nothing(found_with("io", [&](sim_machine&) {
        const lambda_driver driver([&](DEVICE_OBJECT* self, IRP* irp) {
            const NTSTATUS status = complete(irp, STATUS_SUCCESS);
            rule = rule_of(call, self, irp);
            return status;
        });
        request(1).send(driver);
    })));
    return rule;
}

TEST(UseAfterSend, Broken_IsReported) {
    for (const auto& each : uses)
        EXPECT_EQ(used_after_send(each.call), "UseAfterSend") << each.function;
}

// The filter owns the IRP again when its completion routine has reclaimed it.
TEST(UseAfterSend, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_with("io", [&](sim_machine&) {
        filtered stack(reclaim, succeed_at_once, [&](DEVICE_OBJECT*, IRP* irp, NTSTATUS) {
            IoMarkIrpPending(irp);
            IoSetCompletionRoutine(irp, go_on_up, nullptr, TRUE, TRUE, TRUE);
            complete(irp, STATUS_SUCCESS);
            return STATUS_PENDING;
        });
        stack.asked.send(stack.upper);
    })));
}

TEST(UseAfterCompletion, Broken_IsReported) {
    for (const auto& each : uses)
        EXPECT_EQ(used_after_completion(each.call), "UseAfterCompletion") << each.function;
}
TEST(UseAfterCompletion, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(found_with("io", [](sim_machine&) {
        const lambda_driver driver([](DEVICE_OBJECT*, IRP* irp) {
            IoMarkIrpPending(irp);
            complete(irp, STATUS_SUCCESS);
            return STATUS_PENDING;
        });
        request(1).send(driver);
    })));
}

// AddressSanitizer would stop this store.
#if defined(__GNUC__)
__attribute__((no_sanitize("address")))
#endif
void store(IO_STACK_LOCATION* location) {
    location->Parameters.Others.Argument1 = location;
}

std::vector<reported_finding> written_while_below(bool by_filter) {
    return found_with("io", [=](sim_machine&) {
        filtered stack(go_on_up, [](DEVICE_OBJECT*, IRP*, NTSTATUS status) { return status; });
        stack.asked.send(stack.upper);
        // The lower driver's location is current; its filter's is above it.
        IO_STACK_LOCATION* lower = IoGetCurrentIrpStackLocation(stack.pended);
        store(by_filter ? lower + 1 : lower);
        stack.finish_lower();
    });
}

TEST(WriteAfterSend, Broken_IsReported) {
    const auto all = written_while_below(true);
    EXPECT_TRUE(is(all, "WriteAfterSend", io_violation, 0x49521024));
    EXPECT_TRUE(all.at(0).has_stack("sent last at"));
}
TEST(WriteAfterSend, Kept_IsNotReported) {
    EXPECT_TRUE(nothing(written_while_below(false)));
    // The filter may access its location before the send and after it has reclaimed the IRP.
    EXPECT_TRUE(nothing(found_with("io", [](sim_machine&) {
        filtered stack(reclaim, succeed_at_once, [](DEVICE_OBJECT*, IRP* irp, NTSTATUS) {
            IoGetCurrentIrpStackLocation(irp)->Parameters.Others.Argument1 = irp;
            return complete(irp, STATUS_SUCCESS);
        });
        stack.asked.send(stack.upper);
    })));
}

#if IRPVERBS_ADDRESS_SANITIZER
// Loads are trapped too, exactly as long as a lower driver has the IRP.
TEST(SentIrpAccess, SentIrp_LocationIsPoisonedUntilReturned) {
    EXPECT_TRUE(nothing(found_with("io", [](sim_machine&) {
        IO_STACK_LOCATION* own = nullptr;
        const auto poisoned = [&] { return __asan_address_is_poisoned(own) != 0; };
        filtered stack(go_on_up, [&](DEVICE_OBJECT*, IRP*, NTSTATUS status) {
            EXPECT_TRUE(poisoned());
            return status;
        });
        own = IoGetNextIrpStackLocation(stack.asked.irp());
        stack.asked.send(stack.upper);
        EXPECT_TRUE(poisoned());
        stack.finish_lower();
        EXPECT_FALSE(poisoned());
    })));
}

// Switching off the verifier while a location is poisoned leaves no location poisoned.
TEST(SentIrpAccess, VerifierTurnedOff_LocationIsReadable) {
    filtered* stack = nullptr;
    {
        const irpverbs::irp::verifier_scope verified("io");
        stack =
            new filtered(go_on_up, [](DEVICE_OBJECT*, IRP*, NTSTATUS status) { return status; });
        stack->asked.send(stack->upper);
    }
    stack->finish_lower();
    EXPECT_EQ(stack->asked.completions(), 1);
    delete stack;
}
#endif

// A cancel routine belongs to the lower driver as long as that driver has the IRP: clearing it is
// reported too.
TEST(SentIrpAccess, ClearCancelRoutineOfLowerDriver_IsReported) {
    const auto all = found_with("io,cancel", [](sim_machine&) {
        filtered stack(go_on_up, [](DEVICE_OBJECT*, IRP* irp, NTSTATUS status) {
            IoSetCancelRoutine(irp, nullptr);
            return status;
        });
        stack.asked.send(stack.upper);
        stack.finish_lower();
    });
    EXPECT_TRUE(is(all, "CancelRoutineBelow", io_violation, 0x229));
}

} // namespace
