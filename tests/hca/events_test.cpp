// How events reach their clients: by IRP, by up-call, by both, and later.
#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <hca/software.h>

#include <deque>

namespace {

using namespace irpverbs::testing;

struct heard {
    int fatal = 0;
    std::vector<std::pair<int, int>> ports; // port, event
    KIRQL level = HIGH_LEVEL;
    std::vector<std::unique_ptr<verb_call>> closing;
    bool close_inside = false;
};

void on_fatal(IB_CA*, void* context) { ++static_cast<heard*>(context)->fatal; }

void on_port(IB_CA* ca, void* context, UCHAR port, IB_ASYNC_EVENT event) {
    auto& all = *static_cast<heard*>(context);
    all.ports.emplace_back(port, event);
    all.level = KeGetCurrentIrql();
    if (!all.close_inside) return;
    all.closing.push_back(
        std::make_unique<verb_call>([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); }));
}

constexpr IB_CA_DISPATCH calls{on_fatal, on_port};

class Events : public BothMachines {
protected:
    std::unique_ptr<verb_call> wait_for_port(IB_CA* ca, UCHAR port = 1) {
        return std::make_unique<verb_call>(
            [=](IRP* irp) { return CiGetCaPortEvent(ca, port, irp); });
    }

    attached hcas;
};

TEST_P(Events, OneEventCompletesTheOldestIrpAndNoOther) {
    IB_CA* ca = open_ca(hcas.fdo());
    const auto first = wait_for_port(ca);
    const auto second = wait_for_port(ca);
    EXPECT_EQ(first->returned(), STATUS_PENDING);
    HcaSoftwareClientReregister(hcas.guid(), 1);
    EXPECT_TRUE(first->done());
    EXPECT_FALSE(second->done());
    EXPECT_EQ(first->information(), static_cast<ULONG_PTR>(IB_AE_CLIENT_REREGISTER));
    HcaSoftwareClientReregister(hcas.guid(), 1);
    EXPECT_EQ(second->status(), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(Events, OfAnotherPortCompleteNothing) {
    IB_CA* ca = open_ca(hcas.fdo());
    const auto other = wait_for_port(ca, 2);
    HcaSoftwareClientReregister(hcas.guid(), 1);
    EXPECT_FALSE(other->done());
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    EXPECT_EQ(other->status(), STATUS_CANCELLED);
}

TEST_P(Events, WithoutATakerAreLatchedEachTypeOnce) {
    IB_CA* ca = open_ca(hcas.fdo());
    HcaSoftwareChangeSm(hcas.guid(), 1, 9, 0);
    HcaSoftwareClientReregister(hcas.guid(), 1);
    HcaSoftwareChangeSm(hcas.guid(), 1, 10, 0);
    const auto first = wait_for_port(ca);
    const auto second = wait_for_port(ca);
    const auto third = wait_for_port(ca);
    EXPECT_EQ(first->information(), static_cast<ULONG_PTR>(IB_AE_CLIENT_REREGISTER));
    EXPECT_EQ(second->information(), static_cast<ULONG_PTR>(IB_AE_SM_CHANGE)); // the later of two
    EXPECT_FALSE(third->done());
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// Whoever reads the latched events of a link in their order ends with the state it has now.
TEST_P(Events, LatchedOnesEndWithTheLatest) {
    IB_CA* ca = open_ca(hcas.fdo());
    HcaSoftwareFlapLink(hcas.guid(), 1);
    HcaSoftwareSetLink(hcas.guid(), 1, FALSE);
    EXPECT_EQ(wait_for_port(ca)->information(), static_cast<ULONG_PTR>(IB_AE_PORT_ACTIVE));
    EXPECT_EQ(wait_for_port(ca)->information(), static_cast<ULONG_PTR>(IB_AE_PORT_ERROR));
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(Events, GoToTheUpCallAndToAnIrp) {
    heard all;
    IB_CA* ca = open_ca(hcas.fdo(), &calls, &all);
    {
        const auto waiting = wait_for_port(ca);
        HcaSoftwareFlapLink(hcas.guid(), 1);
        EXPECT_EQ(waiting->information(), static_cast<ULONG_PTR>(IB_AE_PORT_ERROR));
    }
    const std::vector<std::pair<int, int>> expected{{1, IB_AE_PORT_ERROR}, {1, IB_AE_PORT_ACTIVE}};
    EXPECT_EQ(all.ports, expected);
    EXPECT_EQ(all.level, DISPATCH_LEVEL);
    const auto later = wait_for_port(ca); // an event that an up-call took is not latched
    EXPECT_FALSE(later->done());
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(Events, ReachEveryOpenCa) {
    heard all;
    IB_CA* listening = open_ca(hcas.fdo(), &calls, &all);
    IB_CA* silent = open_ca(hcas.fdo());
    HcaSoftwareSetLink(hcas.guid(), 1, FALSE);
    EXPECT_EQ(all.ports.size(), 1u);
    EXPECT_EQ(wait_for_port(silent)->information(), static_cast<ULONG_PTR>(IB_AE_PORT_ERROR));
    EXPECT_EQ(close_ca(listening), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(silent), STATUS_SUCCESS);
}

TEST_P(Events, ACancelledWaiterCompletesOnceAndTakesNoEvent) {
    IB_CA* ca = open_ca(hcas.fdo());
    const auto cancelled = wait_for_port(ca);
    const auto next = wait_for_port(ca);
    EXPECT_TRUE(cancelled->cancel());
    EXPECT_EQ(cancelled->status(), STATUS_CANCELLED);
    HcaSoftwareClientReregister(hcas.guid(), 1);
    EXPECT_EQ(next->status(), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

TEST_P(Events, CloseCancelsEveryWaiterBeforeItReturns) {
    IB_CA* ca = open_ca(hcas.fdo());
    std::deque<verb_call> waiting;
    waiting.emplace_back([&](IRP* irp) { return CiGetCaFatalEvent(ca, irp); });
    waiting.emplace_back([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
    waiting.emplace_back([&](IRP* irp) { return CiGetCaPortEvent(ca, 2, irp); });
    waiting.emplace_back([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
    verb_call close([&](IRP* irp) {
        const NTSTATUS status = CiCloseCa(ca, nullptr, irp);
        for (verb_call& each : waiting)
            EXPECT_TRUE(each.done());
        return status;
    });
    for (verb_call& each : waiting)
        EXPECT_EQ(each.status(), STATUS_CANCELLED);
    EXPECT_EQ(close.status(), STATUS_SUCCESS);
}

// The close pends until the up-call that it was called from has returned.
TEST_P(Events, CloseFromInsideAnUpCallPendsUntilItReturns) {
    heard all;
    all.close_inside = true;
    open_ca(hcas.fdo(), &calls, &all);
    HcaSoftwareFlapLink(hcas.guid(), 1);
    ASSERT_EQ(all.closing.size(), 1u);
    EXPECT_EQ(all.closing[0]->returned(), STATUS_PENDING);
    EXPECT_EQ(all.closing[0]->status(), STATUS_SUCCESS);
    EXPECT_EQ(all.ports.size(), 1u); // none after it
}

struct closer {
    IB_CA* ca;
    std::unique_ptr<verb_call> close;
};

NTSTATUS close_in_completion(DEVICE_OBJECT*, IRP*, void* context) {
    auto& which = *static_cast<closer*>(context);
    which.close =
        std::make_unique<verb_call>([&](IRP* irp) { return CiCloseCa(which.ca, nullptr, irp); });
    return STATUS_MORE_PROCESSING_REQUIRED;
}

TEST_P(Events, CloseFromInsideACompletionRoutineIsLegal) {
    closer which{open_ca(hcas.fdo()), nullptr};
    IRP* irp = IoAllocateIrp(1, FALSE);
    IoSetCompletionRoutine(irp, close_in_completion, &which, TRUE, TRUE, TRUE);
    CiGetCaPortEvent(which.ca, 1, irp);
    HcaSoftwareClientReregister(hcas.guid(), 1);
    ASSERT_NE(which.close, nullptr);
    EXPECT_EQ(which.close->status(), STATUS_SUCCESS);
    EXPECT_EQ(irp->IoStatus.Status, STATUS_SUCCESS);
    IoFreeIrp(irp);
}

TEST_P(Events, TheFatalOneIsToldOnceAndLatched) {
    heard all;
    IB_CA* listening = open_ca(hcas.fdo(), &calls, &all);
    IB_CA* silent = open_ca(hcas.fdo());
    HcaSoftwareFail(hcas.guid());
    HcaSoftwareFail(hcas.guid());
    EXPECT_EQ(all.fatal, 1);
    const auto fatal = [&] {
        return std::make_unique<verb_call>(
            [&](IRP* irp) { return CiGetCaFatalEvent(silent, irp); });
    };
    EXPECT_EQ(fatal()->status(), STATUS_SUCCESS);
    const auto second = fatal();
    EXPECT_FALSE(second->done());
    EXPECT_EQ(close_ca(listening), STATUS_SUCCESS);
    EXPECT_EQ(close_ca(silent), STATUS_SUCCESS);
    EXPECT_EQ(second->status(), STATUS_CANCELLED);
}

TEST_P(Events, LatchedBeforeTheFatalOneAreNotLost) {
    IB_CA* ca = open_ca(hcas.fdo());
    HcaSoftwareClientReregister(hcas.guid(), 1);
    HcaSoftwareFail(hcas.guid());
    EXPECT_EQ(wait_for_port(ca)->information(), static_cast<ULONG_PTR>(IB_AE_CLIENT_REREGISTER));
    EXPECT_EQ(wait_for_port(ca)->status(), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// Each hand of the control interface raises its event, and what can be queried has changed.
TEST_P(Events, OfEveryKindComeFromTheFabric) {
    heard all;
    IB_CA* ca = open_ca(hcas.fdo(), &calls, &all);
    const ib_guid_t guid = hcas.guid();
    HcaSoftwareChangeSm(guid, 1, 77, 3);
    HcaSoftwareChangeLid(guid, 1, 78);
    HcaSoftwareChangePKey(guid, 1, 0, 0x8001);
    HcaSoftwareChangePrefix(guid, 1, 0xFEC0000000000001);
    HcaSoftwareClientReregister(guid, 1);
    HcaSoftwarePortError(guid, 1);
    std::vector<int> events;
    for (const auto& [port, event] : all.ports)
        events.push_back(event);
    EXPECT_EQ(events, (std::vector<int>{IB_AE_SM_CHANGE, IB_AE_LID_CHANGE, IB_AE_PKEY_CHANGE,
                                        IB_AE_GID_CHANGE, IB_AE_CLIENT_REREGISTER, IB_AE_PORT_ERROR,
                                        IB_AE_PORT_ACTIVE}));
    const port_block now(ca, 1);
    EXPECT_EQ(now->SmLid, 77);
    EXPECT_EQ(now->SmSl, 3);
    EXPECT_EQ(now->Lid, 78);
    EXPECT_EQ(IbPortPKey(&*now, 0), 0x8001);
    EXPECT_EQ(IbPortGid(&*now, 0)->gid_prefix, 0xFEC0000000000001u);
    EXPECT_EQ(HcaSoftwareChangePKey(guid, 1, 10000, 1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaSoftwareChangeLid(guid, 9, 1), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(HcaSoftwareChangeLid(12345, 1, 1), STATUS_OBJECT_NAME_NOT_FOUND);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

// host1's port 1 and switch1 lose the cable; the hosts at other ports notice nothing.
TEST_P(Events, PortStatesFollowTheCable) {
    IB_CA* ca = open_ca(hcas.fdo());
    HcaSoftwareSetLink(hcas.guid(), 1, FALSE);
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_DOWN);
    EXPECT_EQ(port_block(ca, 1)->PhysicalState, IB_PORT_PHYS_POLLING);
    EXPECT_EQ(port_block(ca, 2)->State, IB_PORT_ACTIVE);
    HcaSoftwareSetLink(hcas.guid(), 1, TRUE);
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_ACTIVE);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_ARMED), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_DOWN), STATUS_SUCCESS);
    EXPECT_EQ(port_block(ca, 1)->State, IB_PORT_INIT);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_ACTIVE), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_ARMED), STATUS_SUCCESS);
    EXPECT_EQ(HcaSoftwareSetPortState(hcas.guid(), 1, IB_PORT_ACTIVE), STATUS_SUCCESS);
    HCA_SOFTWARE_COUNTERS counters{};
    EXPECT_EQ(HcaSoftwareCounters(hcas.guid(), 1, &counters), STATUS_SUCCESS);
    EXPECT_EQ(counters.LinkDowned, 2u);
    EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(Events);

} // namespace
