// Rules that single packets show: their number, their order, and what an end does with those that
// no correct peer would send.
#include "simulated_pair.hpp"

#include <transport/acknowledgement.hpp>

namespace {

using namespace irpverbs::testing;
using transport::opcode_of;
using transport::service;

class Packets : public ::testing::Test {
protected:
    Packets() {
        pair.connect();
        pair.on_transmit = [this](const packet& what) { seen.push_back(what.row().what); };
    }
    /// A request of the one, with the number that the two expects `ahead` of it.
    packet request(operation what, transport::position where, ULONG size, ULONG ahead = 0) {
        packet made;
        made.opcode = opcode_of(service::reliable_connection, what, where, {});
        made.to_qp = two.attr.num;
        made.number = two.engine->expected_number() + ahead;
        made.rdma = {remote.base, remote.key, size};
        if (what != operation::read) made.content.append({local.bytes.data(), size});
        return made;
    }
    NTSTATUS write(ULONG length) {
        ib_local_ds_t segment = segment_of(local, length);
        return one.send(remote_request(WR_RDMA_WRITE, segment, remote));
    }

    simulated_pair pair;
    simulated_end& one = pair.one();
    simulated_end& two = pair.two();
    region& local = one.memory.add(100'000);
    region& remote = two.memory.add(100'000);
    std::vector<operation> seen;
};

TEST_F(Packets, PeerSilent_AtMost128AreUnacknowledged) {
    pair.drop = [](const packet&) { return true; };
    EXPECT_EQ(write(256 * 200), STATUS_SUCCESS);
    EXPECT_EQ(seen.size(), 128u);
}

TEST_F(Packets, LastDataSegmentInvalid_NoneIsSent) {
    ib_local_ds_t parts[2] = {segment_of(local, 1000), {local.base, 8, local.key ^ 0x100}};
    ib_send_wr_t what = remote_request(WR_RDMA_WRITE, parts[0], remote);
    what.num_ds = 2;
    EXPECT_EQ(one.send(what), STATUS_SUCCESS);
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
    EXPECT_EQ(seen.size(), 0u);
}

TEST_F(Packets, DataSegmentInvalid_EarlierWorkRequestCompletesFirst) {
    EXPECT_EQ(write(1000), STATUS_SUCCESS);
    ib_local_ds_t wrong{local.base, 8, local.key ^ 0x100};
    EXPECT_EQ(one.send(remote_request(WR_RDMA_WRITE, wrong, remote, 0, 2)), STATUS_SUCCESS);
    pair.run();
    ASSERT_EQ(one.sent.size(), 2u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(one.sent[1].WrId, 2u);
    EXPECT_EQ(one.sent[1].Status, ULONG{IB_WC_LOCAL_PROTECTION_ERROR});
}

TEST_F(Packets, RnrNak_CausesARetryWithoutATimeOut) {
    one.attr.local_ack_timeout = 0; // no time-out
    ib_local_ds_t segment = segment_of(local, 600);
    EXPECT_EQ(one.send(work_request(WR_SEND, segment)), STATUS_SUCCESS);
    pair.run(4); // not ready
    EXPECT_EQ(two.receive(1, remote, 1000), STATUS_SUCCESS);
    pair.run();
    ASSERT_EQ(one.sent.size(), 1u);
    EXPECT_EQ(one.sent[0].Status, ULONG{IB_WC_SUCCESS});
}

TEST_F(Packets, AcknowledgementRepeated_BringsCredits) {
    EXPECT_EQ(two.receive(1, remote, 1000), STATUS_SUCCESS);
    ib_local_ds_t segment = segment_of(local, 8);
    EXPECT_EQ(one.send(work_request(WR_SEND, segment)), STATUS_SUCCESS);
    pair.run();
    packet again;
    again.opcode =
        opcode_of(service::reliable_connection, operation::acknowledge, transport::only, {});
    again.to_qp = one.attr.num;
    again.number = one.engine->next_number() - 1;
    again.acknowledge = {transport::credit_code(2), 1};
    pair.inject(one, again);
    pair.drop = [](const packet&) { return true; };
    seen.clear();
    for (ULONGLONG i = 0; i < 4; ++i)
        EXPECT_EQ(one.send(work_request(WR_SEND, segment, i)), STATUS_SUCCESS);
    EXPECT_EQ(seen.size(), 3u) << "two with credits, and one without";
}

TEST_F(Packets, ReadRepeatedAfterItsKeyEnded_IsDropped) {
    const packet read = request(operation::read, transport::only, 100);
    pair.inject(two, read);
    ASSERT_EQ(seen, std::vector{operation::read_response});
    two.memory.invalidate(remote.key);
    pair.inject(two, read);
    EXPECT_EQ(seen.size(), 1u);
    EXPECT_EQ(two.engine->state(), IB_QPS_RTS);
}

TEST_F(Packets, WriteWithinASend_IsRefused) {
    EXPECT_EQ(two.receive(1, remote, 1000), STATUS_SUCCESS);
    pair.inject(two, request(operation::send, transport::first, 256));
    EXPECT_EQ(two.engine->state(), IB_QPS_RTS);
    pair.inject(two, request(operation::write, transport::only, 100));
    EXPECT_EQ(two.engine->state(), IB_QPS_ERROR);
}

TEST_F(Packets, ErrorWithinAMessage_FlushesItsReceiveFirst) {
    for (ULONGLONG id = 1; id <= 3; ++id)
        EXPECT_EQ(two.receive(id, remote, 1000), STATUS_SUCCESS);
    pair.inject(two, request(operation::send, transport::first, 256));
    two.engine->enter(IB_QPS_ERROR);
    ASSERT_EQ(two.received.size(), 3u);
    for (ULONGLONG id = 1; id <= 3; ++id) {
        EXPECT_EQ(two.received[id - 1].WrId, id);
        EXPECT_EQ(two.received[id - 1].Status, ULONG{IB_WC_FLUSHED});
    }
}

TEST_F(Packets, ResponsesOfARead_PrecedeTheAcknowledgementOfALaterWrite) {
    two.engine->receive(request(operation::read, transport::only, 300));
    packet write = request(operation::write, transport::only, 100);
    write.ack_request = true;
    two.engine->receive(write);
    two.engine->run();
    EXPECT_EQ(seen, (std::vector{operation::read_response, operation::read_response,
                                 operation::acknowledge}));
}

} // namespace
