// The cancel-safe queue: each function by itself, and all of them under every schedule of three
// actors.
#include <support/both_machines.hpp>
#include <support/exhaustive_gtest.hpp>
#include <support/irp_stack.hpp>
#include <support/reference_drivers.hpp>

#include <dispatch/machine.hpp>
#include <irp/wdm.h>

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

namespace {

using namespace irpverbs::dispatch;

using irpverbs::testing::counted_request;
using irpverbs::testing::queue_driver;

// One actor queues an IRP, one cancels it, one serves it; it is completed exactly once.
std::optional<std::string> race(sim_machine& sim) {
    queue_driver driver;
    counted_request only(driver.device());
    sim.spawn("pend", [&] { only.send(); });
    sim.spawn("cancel", [&] { only.cancel(); });
    sim.spawn("serve", [&] { driver.serve(); });
    sim.run();
    driver.serve();
    if (only.completions != 1) return "completed " + std::to_string(only.completions) + " times";
    return std::nullopt;
}

TEST(CsqRaces, InsertCancelAndRemoveNextRace_CompletesOnce) {
    explore_options options;
    options.exhaustive_runs = 200000;
    options.preemption_bound = 2;
    irpverbs::testing::expect_exhausted(options, race);
}

using irpverbs::testing::outcome;
using irpverbs::testing::record_outcome;
using irpverbs::testing::recorded_request;

// Selects IRPs by a value in their location; refuses one kind.
class choosy_queue : public queue_driver {
public:
    IO_CSQ_IRP_CONTEXT key{};
    bool with_key = false;
    ULONG refused = 99;
    void* insert_context_seen = nullptr;

    choosy_queue() {
        driver_.MajorFunction[IRP_MJ_INTERNAL_DEVICE_CONTROL] = dispatch_ex;
        IoCsqInitializeEx(&csq_, insert_ex, remove, peek_kind, acquire, release,
                          complete_cancelled);
    }

    IO_CSQ* csq() { return &csq_; }
    bool empty() const { return IsListEmpty(&waiting_); }

private:
    static choosy_queue& of(IO_CSQ* csq) {
        return static_cast<choosy_queue&>(queue_driver::of(csq));
    }
    static ULONG kind_of(IRP* irp) {
        return IoGetCurrentIrpStackLocation(irp)->Parameters.DeviceIoControl.IoControlCode;
    }
    static NTSTATUS insert_ex(IO_CSQ* csq, IRP* irp, void* insert_context) {
        of(csq).insert_context_seen = insert_context;
        if (kind_of(irp) == of(csq).refused) return STATUS_DEVICE_BUSY;
        insert(csq, irp);
        return STATUS_SUCCESS;
    }
    static IRP* peek_kind(IO_CSQ* csq, IRP* irp, void* kind) {
        IRP* next = peek(csq, irp, nullptr);
        while (kind != nullptr && next != nullptr && kind_of(next) != *static_cast<ULONG*>(kind))
            next = peek(csq, next, nullptr);
        return next;
    }
    static NTSTATUS dispatch_ex(DEVICE_OBJECT* device, IRP* irp) {
        auto& self =
            static_cast<choosy_queue&>(**static_cast<queue_driver**>(device->DeviceExtension));
        const NTSTATUS status =
            IoCsqInsertIrpEx(&self.csq_, irp, self.with_key ? &self.key : nullptr, &self);
        if (NT_SUCCESS(status)) return STATUS_PENDING;
        return irpverbs::testing::complete(irp, status);
    }
};

class Csq : public irpverbs::testing::BothMachines {
protected:
    ~Csq() override {
        while (IRP* irp = IoCsqRemoveNextIrp(driver.csq(), nullptr))
            irpverbs::testing::complete(irp, STATUS_SUCCESS);
        for (IRP* irp : irps)
            IoFreeIrp(irp);
    }

    NTSTATUS send(std::size_t index, ULONG kind = 0) {
        IRP* irp = irps.at(index);
        IoGetNextIrpStackLocation(irp)->Parameters.DeviceIoControl.IoControlCode = kind;
        return IoCallDriver(driver.device(), irp);
    }

    choosy_queue driver;
    std::array<outcome, 3> outcomes;
    std::array<IRP*, 3> irps{recorded_request(driver.device(), outcomes[0]),
                             recorded_request(driver.device(), outcomes[1]),
                             recorded_request(driver.device(), outcomes[2])};
};

TEST_P(Csq, SeveralInserted_RemovedInOrderAndMarkedPending) {
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(send(i), STATUS_PENDING);
    for (std::size_t i = 0; i < 3; ++i) {
        IRP* irp = IoCsqRemoveNextIrp(driver.csq(), nullptr);
        EXPECT_EQ(irp, irps.at(i));
        EXPECT_EQ(irp->CancelRoutine, nullptr);
        EXPECT_FALSE(IoCancelIrp(irp)); // the driver has removed it
        irpverbs::testing::complete(irp, STATUS_SUCCESS);
        EXPECT_EQ(outcomes.at(i).status, STATUS_SUCCESS);
        EXPECT_TRUE(outcomes.at(i).pending_returned);
    }
    EXPECT_EQ(IoCsqRemoveNextIrp(driver.csq(), nullptr), nullptr);
}

TEST_P(Csq, PeekContext_SelectsMatchingIrp) {
    send(0, 1);
    send(1, 2);
    send(2, 1);
    ULONG kind = 2;
    IRP* irp = IoCsqRemoveNextIrp(driver.csq(), &kind);
    EXPECT_EQ(irp, irps[1]);
    EXPECT_EQ(IoCsqRemoveNextIrp(driver.csq(), &kind), nullptr);
    irpverbs::testing::complete(irp, STATUS_SUCCESS);
}

TEST_P(Csq, CancelQueuedIrp_IsRemovedAndCompletesCancelled) {
    send(0);
    send(1);
    EXPECT_TRUE(IoCancelIrp(irps[0]));
    EXPECT_EQ(outcomes[0].status, STATUS_CANCELLED);
    EXPECT_EQ(outcomes[1].completions, 0);
    EXPECT_FALSE(IoCancelIrp(irps[0]));
    EXPECT_EQ(outcomes[0].completions, 1);
    EXPECT_EQ(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

TEST_P(Csq, CancelledBeforeInsert_CompletesCancelled) {
    EXPECT_FALSE(IoCancelIrp(irps[0]));
    EXPECT_EQ(send(0), STATUS_PENDING);
    EXPECT_EQ(outcomes[0].status, STATUS_CANCELLED);
    EXPECT_TRUE(outcomes[0].pending_returned);
    EXPECT_TRUE(driver.empty());
}

TEST_P(Csq, RejectedByInsertIrpEx_NotQueuedNorMarkedPending) {
    driver.refused = 7;
    EXPECT_EQ(send(0, 7), STATUS_DEVICE_BUSY);
    EXPECT_EQ(driver.insert_context_seen, &driver);
    EXPECT_EQ(outcomes[0].status, STATUS_DEVICE_BUSY);
    EXPECT_FALSE(outcomes[0].pending_returned);
    EXPECT_TRUE(driver.empty());
}

// Tests the context of one IRP: it removes that IRP once, and nothing when the IRP has left
// otherwise.
TEST_P(Csq, IrpContext_RemovesItsIrpOnce) {
    driver.with_key = true;
    send(0);
    driver.with_key = false;
    send(1);
    EXPECT_EQ(driver.key.Irp, irps[0]);
    EXPECT_EQ(IoCsqRemoveIrp(driver.csq(), &driver.key), irps[0]);
    EXPECT_EQ(IoCsqRemoveIrp(driver.csq(), &driver.key), nullptr);
    irpverbs::testing::complete(irps[0], STATUS_SUCCESS);

    driver.with_key = true;
    send(2);
    EXPECT_TRUE(IoCancelIrp(irps[2]));
    EXPECT_EQ(IoCsqRemoveIrp(driver.csq(), &driver.key), nullptr);
}

TEST_P(Csq, IoCsqRemoveNextIrp_InvalidatesIrpContext) {
    driver.with_key = true;
    send(0);
    IRP* irp = IoCsqRemoveNextIrp(driver.csq(), nullptr);
    EXPECT_EQ(irp, irps[0]);
    EXPECT_EQ(IoCsqRemoveIrp(driver.csq(), &driver.key), nullptr);
    irpverbs::testing::complete(irp, STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(Csq);

// A remover by context, a canceller and a server race for one IRP.
std::optional<std::string> race_for_key(sim_machine& sim) {
    choosy_queue driver;
    driver.with_key = true;
    outcome result;
    IRP* irp = recorded_request(driver.device(), result);
    sim.spawn("pend", [&] { IoCallDriver(driver.device(), irp); });
    sim.spawn("cancel", [&] { IoCancelIrp(irp); });
    sim.spawn("key", [&] {
        if (IRP* mine = IoCsqRemoveIrp(driver.csq(), &driver.key))
            irpverbs::testing::complete(mine, STATUS_SUCCESS);
    });
    sim.spawn("serve", [&] { driver.serve(); });
    sim.run();
    driver.serve();
    const bool once = result.completions == 1;
    IoFreeIrp(irp);
    if (!once) return "completed " + std::to_string(result.completions) + " times";
    return std::nullopt;
}

TEST(CsqRaces, RemoveByContextCancelAndRemoveNextRace_CompletesOnce) {
    explore_options options;
    options.random_runs = options.pct_runs = 500;
    options.required_probes = {"csq.cancelled_before_pend", "csq.cancelled_during_pend",
                               "csq.key_lost_to_cancel", "csq.remove_next_skipped_cancelled"};
    irpverbs::testing::expect_explored(options, race_for_key);
}

} // namespace
