// Streams of large tables: records are available as soon as their segments are, in order, once.
#include "scripted_sa.hpp"
#include "segment.hpp"

#include <saa/record_stream.hpp>

#include <support/both_machines.hpp>
#include <support/coroutines.hpp>
#include <support/explore_gtest.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

using namespace irpverbs::testing;
namespace saa = irpverbs::saa;
using boost::asio::awaitable;
using boost::asio::use_awaitable;
using paths_found = saa::found<sa_path_record_t>;
using path_stream = saa::record_stream<sa_path_record_t>;

class SaStreams : public BothMachines {};

constexpr std::size_t segment_data = 200;
constexpr std::size_t stride = 64;
const saa::query_template<sa_path_record_t> all_paths;

sa_reply numbered_paths(unsigned count) {
    std::vector<sa_path_record_t> paths(count);
    for (unsigned i = 0; i < count; ++i)
        paths[i].DLID = static_cast<ib_lid_t>(i + 1);
    return table_of(paths);
}

/// The records that a stream returns until its end, and its final status.
struct taken {
    void take(path_stream& from) {
        for (;;) {
            call_result<paths_found> next;
            from.next(next.handler());
            nt_status = next.status();
            status = next.result().status;
            if (status != IBMF_SUCCESS || next.result().records.empty()) return;
            add(next.result());
        }
    }
    void add(const paths_found& part) {
        for (const sa_path_record_t& each : part.records)
            EXPECT_EQ(each.DLID, ++count);
    }

    unsigned count = 0;
    int status = IBMF_FAILURE;
    NTSTATUS nt_status = STATUS_SUCCESS;
};

TEST_P(SaStreams, FirstSegmentReceived_ReturnsItsRecords) {
    wire joined;
    std::atomic<int> sent{0};
    std::atomic<bool> acknowledges{false};
    joined.tap = [&](unsigned from, const auto& bytes) {
        const segment what(bytes);
        if (from == 1 && what.is_data()) sent = std::max(sent.load(), what.number);
        return from == 1 || !what.is_ack() || acknowledges.load();
    };
    scripted_sa sa([](const sa_request&) { return numbered_paths(1000); });
    const session_scope session;
    path_stream stream(session.handle, all_paths);
    call_result<paths_found> first;
    stream.next(first.handler());
    EXPECT_EQ(first.result().status, IBMF_SUCCESS);
    EXPECT_EQ(first.result().records.size(), segment_data / stride);
    EXPECT_EQ(sent, 1);
    acknowledges = true;
    taken all;
    all.add(first.result());
    all.take(stream);
    EXPECT_EQ(all.status, IBMF_SUCCESS);
    EXPECT_EQ(all.count, 1000u);
    EXPECT_EQ(sent, 1000 * stride / segment_data);
}

// Too long for a schedule of the simulator.
class SaStreamWindow : public BothMachines {};

TEST_P(SaStreamWindow, UnreadRecords_BoundedByClosedRmppWindow) {
    constexpr unsigned count = 60'000;
    wire joined;
    KEVENT held_up;
    KeInitializeEvent(&held_up, NotificationEvent, FALSE);
    std::atomic<std::size_t> sent{0};
    joined.tap = [&](unsigned from, const auto& bytes) {
        const segment what(bytes);
        const auto number = static_cast<std::size_t>(what.number);
        if (from == 1 && what.is_data()) {
            if (number <= sent) return false; // a probe of the closed window would open it
            sent = number;
        }
        if (from == 0 && what.is_ack() && what.number != 0 && what.window_last() == what.number)
            KeSetEvent(&held_up, IO_NO_INCREMENT, FALSE);
        return true;
    };
    scripted_sa sa([](const sa_request&) { return numbered_paths(count); });
    const session_scope session;
    path_stream stream(session.handle, all_paths);
    KeWaitForSingleObject(&held_up, Executive, KernelMode, FALSE, nullptr);
    constexpr std::size_t kept = (std::size_t{1} << 20) / sizeof(sa_path_record_t) * stride;
    constexpr std::size_t on_the_way = (64u << 10) + 2 * 64 * segment_data;
    EXPECT_GE(sent * segment_data, kept);
    EXPECT_LE(sent * segment_data, kept + on_the_way + 4096);
    taken all;
    all.take(stream);
    EXPECT_EQ(all.status, IBMF_SUCCESS);
    EXPECT_EQ(all.count, count);
}

// Every received record is returned, then the status, as often as the caller reads.
TEST_P(SaStreams, TransferBreaks_ReceivedRecordsReturnedThenStatus) {
    constexpr int last = 50;
    wire joined;
    joined.tap = [&](unsigned, const auto& bytes) {
        const segment what(bytes);
        return !what.is_data() || what.number <= last;
    };
    scripted_sa sa([](const sa_request&) { return numbered_paths(1000); });
    const session_scope session;
    path_stream stream(session.handle, all_paths);
    taken all;
    all.take(stream);
    EXPECT_NE(all.status, IBMF_SUCCESS);
    EXPECT_FALSE(NT_SUCCESS(all.nt_status));
    EXPECT_EQ(all.count, last * segment_data / stride);
    const int status = all.status;
    all.take(stream);
    EXPECT_EQ(all.status, status);
}

TEST_P(SaStreams, StreamDestroyed_CancelsRequest) {
    wire joined;
    joined.tap = [&](unsigned from, const auto& bytes) {
        return from == 1 || !segment(bytes).is_ack();
    };
    scripted_sa sa([](const sa_request&) { return numbered_paths(1000); });
    const session_scope session;
    call_result<paths_found> waiting;
    {
        path_stream stream(session.handle, all_paths);
        call_result<paths_found> first;
        stream.next(first.handler());
        EXPECT_EQ(first.status(), STATUS_SUCCESS);
        stream.next(waiting.handler());
    }
    EXPECT_EQ(waiting.status(), STATUS_CANCELLED);
    LARGE_INTEGER ms{};
    ms.QuadPart = -10'000;
    // The handler may be called before the request's cancellation has ended.
    for (int i = 0; i < 1000 && session.stats().ss_waiting != 0; ++i)
        KeDelayExecutionThread(KernelMode, FALSE, &ms);
    EXPECT_EQ(session.stats().ss_waiting, 0u);
}

TEST_P(SaStreams, CancelledRead_ConsumesNoRecords) {
    wire joined;
    std::atomic<bool> responds{false};
    joined.tap = [&](unsigned from, const auto&) { return from == 0 || responds.load(); };
    scripted_sa sa([](const sa_request&) { return numbered_paths(30); });
    const session_scope session;
    path_stream stream(session.handle, all_paths);
    boost::asio::cancellation_signal signal;
    call_result<paths_found> withdrawn;
    stream.next(boost::asio::bind_cancellation_slot(signal.slot(), withdrawn.handler()));
    signal.emit(boost::asio::cancellation_type::all);
    EXPECT_EQ(withdrawn.status(), STATUS_CANCELLED);
    responds = true;
    taken all;
    all.take(stream);
    EXPECT_EQ(all.status, IBMF_SUCCESS);
    EXPECT_EQ(all.count, 30u);
}

// Responses in one datagram and refusals are reported as for any access.
TEST_P(SaStreams, ShortOrFailedResponse_ReturnsItsStatus) {
    const wire joined;
    sa_reply reply = numbered_paths(2);
    scripted_sa sa([&](const sa_request&) { return reply; });
    const session_scope session;
    const auto take_all = [&](ibmf_saa_handle_t handle) {
        path_stream stream(handle, all_paths);
        taken all;
        all.take(stream);
        return std::pair(all.status, all.count);
    };
    EXPECT_EQ(take_all(session.handle), std::pair(IBMF_SUCCESS, 2u));
    reply = numbered_paths(0);
    EXPECT_EQ(take_all(session.handle), std::pair(IBMF_NO_RECORDS, 0u));
    reply.status = SA_STATUS_ERR_NO_RESOURCES;
    EXPECT_EQ(take_all(session.handle), std::pair(IBMF_NO_RESOURCES, 0u));
    reply = numbered_paths(1000);
    reply.attribute_offset = 1; // shorter than the record
    EXPECT_EQ(take_all(session.handle), std::pair(IBMF_TRANS_FAILURE, 0u));
    EXPECT_EQ(take_all(nullptr), std::pair(IBMF_BAD_HANDLE, 0u));
}

// The last record comes without its padding.
TEST_P(SaStreams, LastRecordWithoutPadding_IsReturned) {
    constexpr unsigned count = 100;
    const wire joined;
    scripted_sa sa([](const sa_request&) {
        std::vector<sa_node_record_t> nodes(count);
        nodes.back().LID = count;
        sa_reply reply = table_of(nodes);
        reply.data.resize(reply.data.size() - 4);
        return reply;
    });
    const session_scope session;
    saa::record_stream<sa_node_record_t> stream(session.handle, {});
    std::size_t came = 0;
    ib_lid_t last = 0;
    for (;;) {
        call_result<saa::found<sa_node_record_t>> next;
        stream.next(next.handler());
        EXPECT_EQ(next.result().status, IBMF_SUCCESS);
        if (next.result().records.empty()) break;
        for (const sa_node_record_t& each : next.result().records)
            last = each.LID;
        came += next.result().records.size();
    }
    EXPECT_EQ(came, count);
    EXPECT_EQ(last, count);
}

// Such a table has no end to wait for.
TEST_P(SaStreams, UnreadableTable_TransferStopsWithFailure) {
    wire joined;
    sa_reply reply;
    std::atomic<int> sent{0};
    joined.tap = furthest_of_end_1(sent);
    scripted_sa sa([&](const sa_request&) { return reply; });
    const session_scope session;
    const auto expect_stopped = [&] {
        sent = 0;
        path_stream stream(session.handle, all_paths);
        taken all;
        all.take(stream);
        EXPECT_EQ(all.status, IBMF_TRANS_FAILURE);
        EXPECT_EQ(all.count, 0u);
        EXPECT_LE(sent, 2 * segment::most_in_window);
    };
    for (const std::uint16_t no_stride : std::array<std::uint16_t, 3>{0, 1, 7}) {
        reply = numbered_paths(3000);
        reply.attribute_offset = no_stride;
        expect_stopped();
    }
    reply = numbered_paths(3000);
    reply.attribute = SA_NODERECORD_ATTRID;
    expect_stopped();
    reply = numbered_paths(3);
    path_stream next(session.handle, all_paths);
    taken all;
    all.take(next);
    EXPECT_EQ(all.status, IBMF_SUCCESS);
    EXPECT_EQ(all.count, 3u);
}

TEST_P(SaStreams, EqualStreamsInCoroutine_AreNotMerged) {
    const wire joined;
    scripted_sa sa([](const sa_request&) { return numbered_paths(500); });
    const session_scope session;
    path_stream other(session.handle, all_paths);
    run_to_end(machine(), [&]() -> awaitable<void> {
        path_stream stream(session.handle, all_paths);
        taken all;
        for (;;) {
            const paths_found part = co_await stream.next(use_awaitable);
            if (part.records.empty()) break;
            all.add(part);
        }
        EXPECT_EQ(all.count, 500u);
    });
    taken all;
    all.take(other);
    EXPECT_EQ(all.count, 500u);
    EXPECT_EQ(session.stats().ss_merged, 0u);
}

TEST_P(SaStreams, TypeChosenAtRunTime_ReturnsItsRecords) {
    const wire joined;
    sa_reply reply = numbered_paths(500);
    scripted_sa sa([&](const sa_request&) { return reply; });
    const session_scope session;
    const auto ask = [&](std::uint16_t attribute) {
        const saa::record_type* const type = saa::find_record(attribute);
        return saa::any_record_stream(
            session.handle,
            {attribute, 0, std::vector<std::uint64_t>(type != nullptr ? type->host_size / 8 : 1)});
    };
    ib_lid_t last = 0;
    std::size_t count = 0;
    saa::any_record_stream paths = ask(SA_PATHRECORD_ATTRID);
    for (;;) {
        call_result<saa::any_found> call;
        paths.next(call.handler());
        const saa::any_found& part = call.result();
        EXPECT_EQ(part.type, saa::find_record(std::uint16_t{SA_PATHRECORD_ATTRID}));
        if (part.size() == 0) break;
        count += part.size();
        last = static_cast<const sa_path_record_t*>(part[part.size() - 1])->DLID;
    }
    EXPECT_EQ(count, 500u);
    EXPECT_EQ(last, 500);
    call_result<saa::any_found> call;
    saa::any_record_stream unknown = ask(0xFF40);
    unknown.next(call.handler());
    EXPECT_EQ(call.result().status, IBMF_REQ_INVALID);
    EXPECT_EQ(call.result().size(), 0u);
}

IRPVERBS_ON_BOTH_MACHINES(SaStreams);
IRPVERBS_ON_THE_REAL_MACHINE(SaStreamWindow);

// Segments are lost and reordered, and the stream is closed at any time: it returns the start of
// the table, and the whole table when it ends successfully.
TEST(SaStreamRaces, LossReorderingAndClose_RecordsReturnedInOrderOnce) {
    using namespace irpverbs::dispatch;
    explore_options options;
    options.random_runs = 200;
    options.pct_runs = 100;
    irpverbs::testing::expect_explored(options, [](sim_machine& sim) {
        const wire joined({20, 20, 100});
        scripted_sa sa([](const sa_request&) { return numbered_paths(60); });
        const session_scope session;
        std::optional<path_stream> closed(std::in_place, session.handle, all_paths);
        path_stream read(session.handle, all_paths);
        call_result<paths_found> waiting;
        closed->next(waiting.handler());
        sim.spawn("closes", [&] { closed.reset(); });
        taken all;
        all.take(read);
        EXPECT_TRUE(all.status != IBMF_SUCCESS || all.count == 60);
        sim.run();
        EXPECT_TRUE(waiting.done());
    });
}

} // namespace
