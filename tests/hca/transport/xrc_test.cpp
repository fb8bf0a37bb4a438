// XRC: an initiator sends to any shared receive queue of its target's domain; the number that a
// packet names, the domain of keys, the completions, and the queue that ends.
#include "simulated_pair.hpp"

#include <transport/acknowledgement.hpp>

namespace {

using namespace irpverbs::testing;

constexpr ULONG first_srq = 0x800007;
constexpr ULONG second_srq = 0x800009;
constexpr ULONG other_domains_srq = 0x80000B;

class Xrc : public ::testing::Test {
protected:
    Xrc() {
        initiator.attr.qp_type = IB_QPT_XRC_INI;
        target.attr.qp_type = IB_QPT_XRC_TGT;
        target.attr.h_xrcd = &domain;
        initiator.attr.rq_depth = initiator.attr.rq_sge = 0;
        target.attr.sq_depth = target.attr.sq_sge = target.attr.sq_max_inline = 0;
        target.attr.rq_depth = target.attr.rq_sge = 0;
        target.srqs = {
            {first_srq, &first}, {second_srq, &second}, {other_domains_srq, &of_other_domain}};
        pair.connect();
    }
    void post(ib_send_wr_t what, ULONG srq) {
        what.remote_srq = srq;
        EXPECT_EQ(initiator.send(what), STATUS_SUCCESS);
    }
    void send(ULONG srq, ULONG length = 700, ULONGLONG wr_id = 1) {
        ib_local_ds_t segment = segment_of(local, length);
        post(work_request(WR_SEND, segment, wr_id), srq);
    }
    void request(ib_wr_type_t type, const region& remote, ULONG srq = first_srq) {
        const bool is_atomic = type == WR_FETCH_ADD || type == WR_COMPARE_SWAP;
        ib_local_ds_t segment = segment_of(local, is_atomic ? 8 : 700);
        post(remote_request(type, segment, remote), srq);
    }
    ULONG last_status() { return initiator.sent.empty() ? ~0u : initiator.sent.back().Status; }
    bool has_event(IB_ASYNC_EVENT event) { return std::ranges::count(target.events, event) != 0; }

    simulated_pair pair;
    simulated_end& initiator = pair.one();
    simulated_end& target = pair.two();
    simulated_memory of_srqs; // the protection domain of the shared receive queues
    region& local = initiator.memory.add(5000);
    region& inbox = of_srqs.add(5000);
    IB_XRCD domain{};
    IB_XRCD other_domain{};
    simulated_srq first{of_srqs, domain};
    simulated_srq second{of_srqs, domain};
    simulated_srq of_other_domain{of_srqs, other_domain};
};

TEST_F(Xrc, Send_TakesAReceiveOfTheQueueThatItNames) {
    std::fill_n(local.bytes.begin(), 700, UCHAR{0x5A});
    EXPECT_EQ(first.receive(7, inbox, 1000), STATUS_SUCCESS);
    EXPECT_EQ(second.receive(8, inbox, 1000), STATUS_SUCCESS);
    send(second_srq);
    pair.run();
    EXPECT_EQ(last_status(), ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(first.received.empty());
    ASSERT_EQ(second.received.size(), 1u);
    EXPECT_EQ(second.received[0].WrId, 8u);
    EXPECT_EQ(second.received[0].ByteCount, 700u);
    EXPECT_EQ(second.received[0].QpNumber, target.attr.num);
    EXPECT_EQ(second.received[0].SourceQp, initiator.attr.num);
    EXPECT_EQ(inbox.bytes[699], 0x5A);
    EXPECT_EQ(inbox.bytes[700], 0);
    EXPECT_TRUE(target.received.empty());
}

TEST_F(Xrc, EveryRequest_NamesTheQueueAndEveryResponseDoesNot) {
    unsigned requests = 0;
    pair.on_transmit = [&](const packet& what) {
        EXPECT_EQ(transport::service_of(what.opcode),
                  transport::service::extended_reliable_connection);
        if (!what.row().has(transport::has_shared_receive)) return;
        EXPECT_EQ(what.to_srq, first_srq);
        ++requests;
    };
    EXPECT_EQ(first.receive(7, inbox, 1000), STATUS_SUCCESS);
    send(first_srq, 700); // 3 packets, as the write
    for (const ib_wr_type_t type : {WR_RDMA_WRITE, WR_RDMA_READ, WR_FETCH_ADD, WR_COMPARE_SWAP})
        request(type, inbox);
    pair.run();
    EXPECT_EQ(requests, 9u);
    EXPECT_EQ(initiator.sent.size(), 5u);
    EXPECT_EQ(last_status(), ULONG{IB_WC_SUCCESS});
}

// Source: IBA annex A14 (the protection domain of an XRC target's accesses).
TEST_F(Xrc, Keys_AreThoseOfTheSharedReceiveQueuesDomain) {
    region& of_target = target.memory.add(5000); // with the same key as `inbox`
    ASSERT_EQ(of_target.key, inbox.key);
    std::fill_n(local.bytes.begin(), 700, UCHAR{0x33});
    request(WR_RDMA_WRITE, inbox);
    request(WR_FETCH_ADD, inbox);
    pair.run();
    EXPECT_EQ(last_status(), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(inbox.bytes[100], 0x33);
    EXPECT_EQ(of_target.bytes[100], 0);
}

TEST_F(Xrc, WriteWithImmediate_CompletesInTheNamedQueue) {
    EXPECT_EQ(second.receive(8, inbox, 0), STATUS_SUCCESS);
    ib_local_ds_t segment = segment_of(local, 100);
    ib_send_wr_t what = remote_request(WR_RDMA_WRITE, segment, inbox);
    what.send_opt |= IB_SEND_OPT_IMMEDIATE;
    what.immediate_data = 0x11223344;
    post(what, second_srq);
    pair.run();
    ASSERT_EQ(second.received.size(), 1u);
    EXPECT_EQ(second.received[0].Opcode, ULONG{IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE});
    EXPECT_EQ(second.received[0].Immediate, 0x11223344u);
}

TEST_F(Xrc, EmptyQueue_SenderRetriesUntilReceive) {
    send(first_srq);
    pair.run(8);
    EXPECT_TRUE(initiator.sent.empty());
    EXPECT_EQ(first.receive(7, inbox, 1000), STATUS_SUCCESS);
    pair.run();
    EXPECT_EQ(last_status(), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(first.received.size(), 1u);
}

TEST_F(Xrc, Acknowledgements_GiveNoCredits) {
    bool seen = false;
    pair.on_transmit = [&](const packet& what) {
        if (what.row().what != operation::acknowledge) return;
        seen = true;
        EXPECT_EQ(what.acknowledge.syndrome & transport::syndrome_value_mask,
                  transport::no_credits);
    };
    EXPECT_EQ(first.receive(7, inbox, 1000), STATUS_SUCCESS);
    send(first_srq);
    pair.run();
    EXPECT_TRUE(seen);
}

TEST_F(Xrc, Initiator_NeedsNoCredits) {
    unsigned sent = 0;
    pair.on_transmit = [&](const packet& what) { sent += what.row().what == operation::send; };
    for (unsigned i = 0; i < 4; ++i)
        send(first_srq, 100);
    EXPECT_EQ(sent, 4u);
}

TEST_F(Xrc, NumberOfNoQueue_IsAnInvalidRequest) {
    send(0x800123);
    pair.run();
    EXPECT_EQ(last_status(), ULONG{IB_WC_REMOTE_INVALID_REQUEST_ERROR});
    EXPECT_EQ(target.engine->state(), ULONG{IB_QPS_ERROR});
    EXPECT_TRUE(has_event(IB_AE_INVALID_XRCETH));
    EXPECT_TRUE(has_event(IB_AE_LAST_WQE_REACHED));
}

TEST_F(Xrc, QueueOfAnotherDomain_IsAnInvalidRequest) {
    EXPECT_EQ(of_other_domain.receive(7, inbox, 1000), STATUS_SUCCESS);
    for (const ib_wr_type_t type : {WR_RDMA_READ, WR_RDMA_WRITE, WR_FETCH_ADD}) {
        pair.connect();
        target.events.clear();
        request(type, inbox, other_domains_srq);
        pair.run();
        EXPECT_EQ(last_status(), ULONG{IB_WC_REMOTE_INVALID_REQUEST_ERROR});
        EXPECT_TRUE(has_event(IB_AE_XRC_DOMAIN_FATAL));
    }
    EXPECT_TRUE(of_other_domain.received.empty());
}

// A packet of no correct peer.
TEST_F(Xrc, MessageThatChangesItsQueue_IsAnInvalidRequest) {
    EXPECT_EQ(first.receive(7, inbox, 1000), STATUS_SUCCESS);
    EXPECT_EQ(second.receive(8, inbox, 1000), STATUS_SUCCESS);
    packet part;
    part.opcode = opcode_of(transport::service::extended_reliable_connection, operation::send,
                            transport::first);
    part.to_qp = target.attr.num;
    part.number = target.engine->expected_number();
    part.to_srq = first_srq;
    part.content.append({local.bytes.data(), 256});
    pair.inject(target, part);
    part.opcode = opcode_of(transport::service::extended_reliable_connection, operation::send,
                            transport::last);
    ++part.number;
    part.to_srq = second_srq;
    pair.inject(target, part);
    EXPECT_EQ(target.engine->state(), ULONG{IB_QPS_ERROR});
    ASSERT_EQ(first.received.size(), 1u);
    EXPECT_EQ(first.received[0].Status, ULONG{IB_WC_LOCAL_QP_OPERATION_ERROR});
    EXPECT_TRUE(second.received.empty());
}

// As when the shared receive queue is destroyed.
TEST_F(Xrc, QueueEndsInTheMiddleOfAMessage_ItsReceiveIsDropped) {
    EXPECT_EQ(first.receive(7, inbox, 1000), STATUS_SUCCESS);
    unsigned seen = 0;
    pair.on_transmit = [&](const packet& what) {
        if (what.row().what == operation::send && ++seen == 2) target.srqs.erase(first_srq);
    };
    send(first_srq);
    pair.run();
    EXPECT_EQ(last_status(), ULONG{IB_WC_REMOTE_INVALID_REQUEST_ERROR});
    EXPECT_TRUE(first.received.empty());
}

TEST_F(Xrc, QueueEndsBeforeTheResponsesOfARead_ReaderHasNoAccess) {
    bool seen = false;
    pair.on_transmit = [&](const packet& what) {
        if (what.row().what != operation::read_response || seen) return;
        seen = true;
        target.srqs.erase(first_srq);
    };
    request(WR_RDMA_READ, inbox);
    pair.run();
    EXPECT_TRUE(seen);
    EXPECT_EQ(last_status(), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

TEST_F(Xrc, CompletionQueueFull_TargetFails) {
    first.room = 0;
    EXPECT_EQ(first.receive(7, inbox, 1000), STATUS_SUCCESS);
    send(first_srq);
    pair.run();
    EXPECT_EQ(target.engine->state(), ULONG{IB_QPS_ERROR});
    EXPECT_TRUE(has_event(IB_AE_WQ_FATAL));
    EXPECT_EQ(last_status(), ULONG{IB_WC_RETRY_EXCEEDED});
}

TEST_F(Xrc, Limit_IsTheNamedQueues) {
    bool reached = false;
    for (const ULONGLONG id : {7u, 8u})
        EXPECT_EQ(first.receive(id, inbox, 1000), STATUS_SUCCESS);
    EXPECT_EQ(first.queue.modify({IB_MOD_SRQ_LIMIT, 0, 2}, reached), STATUS_SUCCESS);
    send(first_srq);
    pair.run();
    EXPECT_EQ(first.limits, 1u);
    EXPECT_EQ(second.limits, 0u);
    EXPECT_FALSE(has_event(IB_AE_SRQ_LIMIT_REACHED));
}

TEST_F(Xrc, TargetWithASendAndInitiatorWithARequest_RefuseThem) {
    ib_local_ds_t segment = segment_of(local, 100);
    EXPECT_EQ(target.send(work_request(WR_SEND, segment)), STATUS_INVALID_DEVICE_REQUEST);
    packet request;
    request.opcode = opcode_of(transport::service::extended_reliable_connection, operation::send,
                               transport::only);
    request.to_qp = initiator.attr.num;
    request.number = initiator.engine->expected_number();
    pair.inject(initiator, request);
    EXPECT_EQ(initiator.engine->state(), ULONG{IB_QPS_RTS});
    EXPECT_TRUE(initiator.events.empty());
}

// Acknowledgements of another service do not acknowledge.
TEST_F(Xrc, AcknowledgementOfARc_IsIgnored) {
    send(first_srq, 10);
    packet wrong;
    wrong.opcode =
        opcode_of(transport::service::reliable_connection, operation::acknowledge, transport::only);
    wrong.to_qp = initiator.attr.num;
    wrong.number = psn(initiator.attr.sq_psn);
    wrong.acknowledge = {transport::no_credits, 1};
    pair.inject(initiator, wrong);
    EXPECT_TRUE(initiator.sent.empty());
}

// Loss, repetition and disorder cost no message, and no message arrives twice.
TEST_F(Xrc, FaultyCarrier_EveryMessageArrivesOnceInItsQueue) {
    pair.faults = {20, 20, 40, 20, 30, 0};
    for (unsigned round = 0; round < 200; ++round) {
        simulated_srq& to = round % 2 == 0 ? first : second;
        EXPECT_EQ(to.receive(round, inbox, 1000), STATUS_SUCCESS);
        send(round % 2 == 0 ? first_srq : second_srq, 1 + round * 4, round);
        request(WR_FETCH_ADD, inbox, second_srq);
        pair.run();
    }
    EXPECT_EQ(initiator.sent.size(), 400u);
    for (simulated_srq* each : {&first, &second}) {
        ASSERT_EQ(each->received.size(), 100u);
        for (std::size_t i = 0; i < 100; ++i) {
            const ULONGLONG round = 2 * i + (each == &second ? 1 : 0);
            EXPECT_EQ(each->received[i].WrId, round);
            EXPECT_EQ(each->received[i].ByteCount, 1 + round * 4);
        }
    }
}

} // namespace
