// Queries in C++: attributes of any size arrive whole, or the query fails.
#include "fake_hca.hpp"

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>

#include <ci/async.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

namespace {

namespace asio = boost::asio;
using namespace irpverbs;
using namespace std::chrono_literals;
using irpverbs::testing::call_result;
using irpverbs::testing::fake_hca;

// Answers with a port of gid_count GIDs; GID n has the GUID n.
NTSTATUS complete_query(IRP* irp, ULONG gid_count) {
    const auto& asked = IoGetCurrentIrpStackLocation(irp)->Parameters.Others;
    std::vector<ib_gid_t> all(gid_count);
    for (ULONG i = 0; i < gid_count; ++i)
        all[i] = {IB_DEFAULT_GID_PREFIX, i};
    const ib_pkey_t pkey = IB_PKEY_DEFAULT_FULL;
    IB_PORT_ATTR fixed{};
    fixed.GidCount = static_cast<USHORT>(gid_count);
    fixed.PKeyCount = 1;
    const HCA_PORT_TABLES tables{all.data(), &pkey};
    return HcaCopyPortAttributes(&fixed, &tables, static_cast<IB_PORT_ATTR*>(asked.Argument2),
                                 reinterpret_cast<SIZE_T>(asked.Argument3), irp);
}

class AsyncPortQuery : public irpverbs::testing::BothMachines {
protected:
    AsyncPortQuery() {
        ci::open_ca(hca.fdo, opening.handler());
        ca = std::move(opening.result());
    }
    ~AsyncPortQuery() override {
        call_result<void> closing;
        ca.async_close(closing.handler());
        EXPECT_EQ(closing.status(), STATUS_SUCCESS);
    }

    template <class Token>
    void query(Token&& token) {
        ci::query_port(ca, 1, std::forward<Token>(token));
    }
    // Pends the query until the IRP is cancelled, or the test answers it.
    NTSTATUS pend(IRP* irp) {
        pended = irp;
        IoMarkIrpPending(irp);
        IoSetCancelRoutine(irp, [](DEVICE_OBJECT*, IRP* cancelled) {
            IoReleaseCancelSpinLock(cancelled->CancelIrql);
            HcaComplete(cancelled, STATUS_CANCELLED, 0);
        });
        if (irp->Cancel && IoSetCancelRoutine(irp, nullptr) != nullptr)
            HcaComplete(irp, STATUS_CANCELLED, 0);
        return STATUS_PENDING;
    }
    IRP* take_pended() {
        IoSetCancelRoutine(pended, nullptr);
        return std::exchange(pended, nullptr);
    }
    void complete_pended(ULONG gid_count) {
        IRP* irp = take_pended();
        const NTSTATUS status = complete_query(irp, gid_count);
        HcaComplete(irp, status, irp->IoStatus.Information);
    }

    fake_hca hca;
    call_result<ci::channel_adapter> opening;
    ci::channel_adapter ca;
    IRP* pended = nullptr;
    ULONG asked = 0;
    call_result<ci::port_attributes> outcome;
};

void expect_gids(const ci::port_attributes& port, std::size_t count) {
    ASSERT_FALSE(port.empty());
    const auto gids = ci::gids(*port);
    ASSERT_EQ(gids.size(), count);
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(gids[i].gid_guid, i);
    ASSERT_EQ(ci::pkeys(*port).size(), 1u);
    EXPECT_EQ(ci::pkeys(*port)[0], IB_PKEY_DEFAULT_FULL);
}

TEST_P(AsyncPortQuery, TableOfUsualSize_QueriedOnce) {
    hca.on_query = [&](IRP* irp) { return ++asked, complete_query(irp, 2); };
    query(outcome.handler());
    EXPECT_EQ(outcome.status(), STATUS_SUCCESS);
    expect_gids(outcome.result(), 2);
    EXPECT_EQ(asked, 1u);
}

TEST_P(AsyncPortQuery, TableLargerThanBuffer_QueriedAgainWithNeededSize) {
    hca.on_query = [&](IRP* irp) { return ++asked, complete_query(irp, 1000); };
    query(outcome.handler());
    EXPECT_EQ(outcome.status(), STATUS_SUCCESS);
    expect_gids(outcome.result(), 1000);
    EXPECT_EQ(asked, 2u);
}

TEST_P(AsyncPortQuery, TableGrowsBetweenQueries_ReturnsFinalTable) {
    hca.on_query = [&](IRP* irp) {
        return ++asked, complete_query(irp, asked < 5 ? 100 * asked : 400);
    };
    query(outcome.handler());
    EXPECT_EQ(outcome.status(), STATUS_SUCCESS);
    expect_gids(outcome.result(), 400);
    EXPECT_EQ(asked, 5u);
}

TEST_P(AsyncPortQuery, EachVerbPends_ReturnsWholeTable) {
    hca.on_query = [&](IRP* irp) { return pend(irp); };
    query(outcome.handler());
    {
        const irpverbs::testing::at_dispatch_level raised;
        complete_pended(1000);
    }
    EXPECT_FALSE(outcome.done());
    complete_pended(1000);
    EXPECT_EQ(outcome.status(), STATUS_SUCCESS);
    expect_gids(outcome.result(), 1000);
}

TEST_P(AsyncPortQuery, DriverFails_ReturnsErrorAndNoTable) {
    hca.on_query = [](IRP*) { return STATUS_IO_DEVICE_ERROR; };
    query(outcome.handler());
    EXPECT_EQ(outcome.status(), STATUS_IO_DEVICE_ERROR);
    EXPECT_TRUE(outcome.result().empty());
}

// A driver that keeps reporting a wrong size is not queried for ever.
TEST_P(AsyncPortQuery, ReportedSizeInsufficient_ReturnsBufferOverflow) {
    hca.on_query = [&](IRP* irp) {
        ++asked;
        complete_query(irp, 1);
        return STATUS_BUFFER_OVERFLOW;
    };
    query(outcome.handler());
    EXPECT_EQ(outcome.status(), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(asked, 1u);
}

TEST_P(AsyncPortQuery, CancelDuringSecondVerb_CompletesCancelled) {
    hca.on_query = [&](IRP* irp) { return pend(irp); };
    asio::cancellation_signal cancel;
    query(asio::bind_cancellation_slot(cancel.slot(), outcome.handler()));
    complete_pended(1000); // the library queries again
    cancel.emit(asio::cancellation_type::terminal);
    EXPECT_EQ(outcome.status(), STATUS_CANCELLED);
    EXPECT_TRUE(outcome.result().empty());
}

TEST_P(AsyncPortQuery, DeadlineAcrossRepeatedVerbs_CompletesWithTimeout) {
    hca.on_query = [&](IRP* irp) { return pend(irp); };
    query(irp::within(5ms, outcome.handler()));
    if (simulated()) complete_pended(1000); // real time may have passed already
    EXPECT_EQ(outcome.status(), STATUS_IO_TIMEOUT);
}

IRPVERBS_ON_BOTH_MACHINES(AsyncPortQuery);

} // namespace
