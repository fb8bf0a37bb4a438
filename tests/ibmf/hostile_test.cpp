// Datagrams that violate the protocol, and clients that violate the interface.
#include "table_agent.hpp"

#include <support/both_machines.hpp>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;

class IbmfMalformedInput : public BothMachines {};

std::vector<std::uint8_t> noise(std::size_t size, std::uint64_t seed) {
    std::vector<std::uint8_t> bytes(size);
    irpverbs::dispatch::detail::generator random(seed);
    for (std::uint8_t& each : bytes)
        each = static_cast<std::uint8_t>(random.next());
    return bytes;
}

void free_it(ibmf_handle_t handle, ibmf_msg_t* msg, void*) {
    EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
}

// Random datagrams, first as they are, then with the header of an expected request or response.
TEST_P(IbmfMalformedInput, RandomDatagramsOfAnyLength_CountedAndDropped) {
    wire joined;
    const client_scope agent(0, SUBN_ADM_AGENT, IBMF_REG_FLAG_RMPP | IBMF_REG_FLAG_NO_OFFLOAD);
    agent.listen(free_it, nullptr);
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    test_message waiting(manager.handle, {MAD_MGMT_CLASS_SUBN_ADM, 0x12});
    std::array<UCHAR, IB_MAD_SIZE> request{};
    joined.tap = [&](unsigned from, const auto& bytes) {
        if (from == 0 && bytes[3] == 0x12) request = bytes;
        return false;
    };
    ASSERT_EQ(waiting.send(), IBMF_SUCCESS);
    for (ULONG length = 0; length <= 2048; ++length)
        for (const unsigned shape : {0u, 1u, 2u}) {
            std::vector<std::uint8_t> bytes = noise(length, length * 3u + shape);
            if (shape != 0)
                std::copy_n(request.begin(), std::min<std::size_t>(length, 24), bytes.begin());
            if (shape == 2 && length > 3) bytes[3] |= 0x80;
            joined.inject(0, bytes.data(), length, shape == 2 ? wire::lids[1] : ib_lid_t{9});
        }
    for (std::uint64_t kind = 0; kind < 3000; ++kind) {
        std::vector<std::uint8_t> bytes = noise(IB_MAD_SIZE, kind);
        std::copy_n(request.begin(), 24, bytes.begin());
        bytes[3] = kind % 2 == 0 ? 0x92 : 0x14;
        bytes[24] = 1;
        bytes[25] = static_cast<std::uint8_t>(1 + kind % 5);
        bytes[26] = static_cast<std::uint8_t>(kind / 7);
        bytes[28] = bytes[29] = bytes[30] = 0;
        bytes[31] &= 7;
        joined.inject(0, bytes.data(), IB_MAD_SIZE, wire::lids[1]);
    }
    joined.await_empty();
    // Datagrams that look like a request or a response reach IBMF; others have no agent.
    EXPECT_GE(manager.stats(B_TRUE).st_malformed, 2u * 2000u);
    ibmf_cancel_msg(manager.handle, waiting.ibmf_msg);
    waiting.wait();
    EXPECT_EQ(waiting.calls(), 1);
}

TEST_P(IbmfMalformedInput, ResponseOfOtherClassOrPeer_IsCountedAndIgnored) {
    wire joined;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, {MAD_MGMT_CLASS_PERF});
    std::array<UCHAR, IB_MAD_SIZE> request{};
    joined.tap = [&](unsigned, const auto& bytes) {
        request = bytes;
        return false;
    };
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    request[3] |= 0x80;
    joined.inject(0, request.data(), IB_MAD_SIZE, 77); // from another LID
    request[1] = MAD_MGMT_CLASS_BM;
    joined.inject(0, request.data(), IB_MAD_SIZE, wire::lids[1]);
    request[1] = MAD_MGMT_CLASS_PERF;
    request[13] ^= 1; // another slot generation
    joined.inject(0, request.data(), IB_MAD_SIZE, wire::lids[1]);
    joined.await_empty();
    EXPECT_EQ(msg.calls(), 0);
    EXPECT_EQ(manager.stats().st_wrong_peer, 1u);
    EXPECT_EQ(manager.stats(B_TRUE).st_wrong_class, 1u);
    EXPECT_EQ(manager.stats(B_TRUE).st_stale, 1u);
    request[13] ^= 1;
    joined.inject(0, request.data(), IB_MAD_SIZE, wire::lids[1]);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
}

TEST_P(IbmfMalformedInput, ResponseOfOtherMethodOrVersion_IsCountedAndIgnored) {
    struct exchange {
        std::uint8_t mgmt_class, method;
        std::vector<std::uint8_t> wrong;
        std::uint8_t right;
    };
    const std::vector<exchange> exchanges{
        {MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, {0x82, 0x86, 0x92, MAD_METHOD_TRAP_REPRESS}, 0x81},
        {MAD_MGMT_CLASS_PERF, MAD_METHOD_SET, {0x82, 0x86, 0x92}, 0x81},
        {MAD_MGMT_CLASS_PERF, MAD_METHOD_TRAP, {0x81, 0x85}, MAD_METHOD_TRAP_REPRESS},
        {MAD_MGMT_CLASS_PERF, MAD_METHOD_REPORT, {0x81, MAD_METHOD_TRAP_REPRESS}, 0x86},
    };
    for (const exchange& each : exchanges) {
        wire joined;
        const client_scope manager(0, PERF_MANAGER);
        test_message msg(manager.handle, {each.mgmt_class, each.method});
        std::array<UCHAR, IB_MAD_SIZE> asked{};
        joined.tap = [&](unsigned, const auto& bytes) {
            asked = bytes;
            return false;
        };
        ASSERT_EQ(msg.send(), IBMF_SUCCESS);
        const auto respond = [&](std::uint8_t method, std::uint8_t version, std::uint8_t status) {
            std::array<UCHAR, IB_MAD_SIZE> bytes = asked;
            bytes[2] = version;
            bytes[3] = method;
            bytes[5] = status;
            joined.inject(0, bytes.data(), IB_MAD_SIZE, wire::lids[1]);
        };
        for (const std::uint8_t method : each.wrong)
            respond(method, 1, 0);
        respond(each.right, 9, 0); // another class version: not the response
        joined.await_empty();
        EXPECT_EQ(msg.calls(), 0);
        EXPECT_EQ(manager.stats().st_wrong_response, each.wrong.size() + 1);
        respond(each.right, 1, 0);
        EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    }
}

TEST_P(IbmfMalformedInput, ErrorWithRequestsMethod_IsAccepted) {
    wire joined;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, {MAD_MGMT_CLASS_PERF, MAD_METHOD_SET});
    std::array<UCHAR, IB_MAD_SIZE> response{};
    joined.tap = [&](unsigned, const auto& bytes) {
        response = bytes;
        return false;
    };
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    response[3] |= 0x80;
    response[5] = MAD_STATUS_UNSUPP_METHOD;
    joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    EXPECT_EQ(manager.stats().st_wrong_response, 0u);
}

TEST_P(IbmfMalformedInput, ResponseOfOtherOui_IsCountedAndIgnored) {
    wire joined;
    const client_scope manager(vendor{{wire::guids[0], 1, VENDOR_32_MANAGER_AGENT}, 0x001405});
    test_message msg(manager.handle, {0x32});
    msg.set_oui(0x001406); // the request decides, not the requester
    std::array<UCHAR, IB_MAD_SIZE> response{};
    joined.tap = [&](unsigned, const auto& bytes) {
        response = bytes;
        return false;
    };
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    response[3] |= 0x80;
    constexpr std::size_t oui_end = 39;
    response[oui_end] = 0x05;
    joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
    joined.await_empty();
    EXPECT_EQ(msg.calls(), 0);
    EXPECT_EQ(manager.stats().st_wrong_response, 1u);
    response[oui_end] = 0x06;
    joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
}

TEST_P(IbmfMalformedInput, BadVersionResponseOfOtherVersion_IsAccepted) {
    wire joined;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, {MAD_MGMT_CLASS_PERF});
    std::array<UCHAR, IB_MAD_SIZE> response{};
    joined.tap = [&](unsigned, const auto& bytes) {
        response = bytes;
        return false;
    };
    ASSERT_EQ(msg.send(), IBMF_SUCCESS);
    response[2] = 2;
    response[3] |= 0x80;
    response[5] = MAD_STATUS_BAD_VERSION;
    joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    EXPECT_EQ(manager.stats().st_wrong_response, 0u);
}

TEST_P(IbmfMalformedInput, RequestWithoutReceiver_IsCounted) {
    wire joined;
    const client_scope agent(0, PERF_AGENT); // no callback
    const client_scope smp(0, SUBN_MANAGER);
    std::array<std::uint8_t, IB_MAD_SIZE> bytes{1, MAD_MGMT_CLASS_PERF, 1, MAD_METHOD_GET};
    joined.inject(0, bytes.data(), IB_MAD_SIZE, 2);
    bytes[1] = MAD_MGMT_CLASS_SUBN_LID_ROUTED; // for an agent that is not registered
    joined.inject(0, bytes.data(), IB_MAD_SIZE, 2);
    joined.await_empty();
    EXPECT_EQ(agent.stats().st_no_callback, 1u);
    EXPECT_EQ(agent.stats(B_TRUE).st_no_client, 1u);
}

// U8: an agent and a manager share Get and Set of SMPs; SMInfo goes to the manager.
TEST_P(IbmfMalformedInput, SubnetAgentAndManager_EachReceivesItsRequests) {
    wire joined;
    std::atomic<int> requests_received[2] = {};
    const client_scope agent(0, SUBN_AGENT);
    const client_scope manager(0, SUBN_MANAGER);
    const auto count = [](ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        ++*static_cast<std::atomic<int>*>(context);
        free_it(handle, msg, nullptr);
    };
    agent.listen(count, &requests_received[0]);
    manager.listen(count, &requests_received[1]);
    const auto inject = [&](std::uint8_t mgmt_class, std::uint8_t method, std::uint8_t attribute) {
        std::array<std::uint8_t, IB_MAD_SIZE> bytes{1, mgmt_class, 1, method};
        bytes[17] = attribute;
        joined.inject(0, bytes.data(), IB_MAD_SIZE, 2);
    };
    inject(0x01, MAD_METHOD_GET, 0x11);
    inject(0x81, MAD_METHOD_SET, 0x15);
    inject(0x81, MAD_METHOD_GET, 0x20); // SMInfo
    inject(0x01, MAD_METHOD_TRAP, 0x02);
    inject(0x01, MAD_METHOD_GET, 0x20);
    joined.await_empty();
    ibmf_tear_down_async_cb(agent.handle, nullptr, 0);
    ibmf_tear_down_async_cb(manager.handle, nullptr, 0);
    EXPECT_EQ(requests_received[0] + static_cast<int>(agent.stats().st_no_callback), 2);
    EXPECT_EQ(requests_received[1] + static_cast<int>(manager.stats().st_no_callback), 3);
}

// A peer's control packet or single segment of a transfer is not a message: found by the fuzzer.
TEST_P(IbmfMalformedInput, UnmatchedResponse_DeliveredOnlyIfWhole) {
    wire joined;
    std::atomic<int> requests_received{0};
    const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
    manager.listen(
        [](ibmf_handle_t handle, ibmf_msg_t* msg, void* count) {
            ++*static_cast<std::atomic<int>*>(count);
            free_it(handle, msg, nullptr);
        },
        &requests_received);
    std::array<UCHAR, IB_MAD_SIZE> response{};
    joined.tap = [&](unsigned from, const auto& bytes) {
        if (from == 0) response = bytes;
        return false;
    };
    test_message msg(manager.handle, {MAD_MGMT_CLASS_SUBN_ADM});
    ASSERT_EQ(msg.send(0), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_SUCCESS);
    response[3] |= MAD_RESPONSE_BIT;
    joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
    response[24] = 1;
    response[26] = 3; // active, first
    response[31] = 1;
    for (const std::uint8_t type : std::initializer_list<std::uint8_t>{1, 2, 3, 4}) {
        response[25] = type;
        joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
    }
    joined.await_empty();
    EXPECT_EQ(manager.stats().st_msgs_received, 1u);
    EXPECT_EQ(manager.stats().st_stale, 4u);
    ibmf_tear_down_async_cb(manager.handle, nullptr, 0);
    EXPECT_EQ(requests_received + static_cast<int>(manager.stats().st_no_callback), 1);
}

// IDs of IBMF's own transactions have that bit, too: IBMF distinguishes unsequenced sends from
// them.
TEST_P(IbmfMalformedInput, ResponseToUnsequencedSend_WithHighestIdBit_IsDelivered) {
    wire joined;
    const client_scope manager(0, PERF_MANAGER);
    std::array<UCHAR, IB_MAD_SIZE> response{};
    joined.tap = [&](unsigned, const auto& bytes) {
        response = bytes;
        return false;
    };
    test_message msg(manager.handle, {MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, 0xFFFFFFFF});
    ASSERT_EQ(msg.send_and_wait(0), IBMF_SUCCESS);
    response[3] |= MAD_RESPONSE_BIT;
    joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
    response[15] ^= 1; // answers no sent request
    joined.inject(0, response.data(), IB_MAD_SIZE, wire::lids[1]);
    joined.await_empty();
    EXPECT_EQ(manager.stats().st_no_callback, 1u); // would be delivered to a callback
    EXPECT_EQ(manager.stats(B_TRUE).st_stale, 1u);
}

// U8 for the other classes: the method decides, and for a BM Send bit 0 of its modifier.
TEST_P(IbmfMalformedInput, AgentAndManagerOfAnyClass_EachReceivesItsRequests) {
    constexpr ibmf_client_type_t boards[] = {BM_AGENT, BM_MANAGER};
    constexpr ibmf_client_type_t devices[] = {DEV_MGT_AGENT, DEV_MGT_MANAGER};
    constexpr ibmf_client_type_t subnet[] = {SUBN_ADM_AGENT, SUBN_ADM_MANAGER};
    constexpr ibmf_client_type_t performance[] = {PERF_AGENT, PERF_MANAGER};
    struct request {
        std::span<const ibmf_client_type_t, 2> pair;
        std::uint8_t mgmt_class, method, high, low; // bytes of the modifier
        int received_by;
    };
    const request kinds[] = {
        {boards, MAD_MGMT_CLASS_BM, MAD_METHOD_SEND, 0, 0, 0},
        {boards, MAD_MGMT_CLASS_BM, MAD_METHOD_SEND, 0, 1, 1},
        {boards, MAD_MGMT_CLASS_BM, MAD_METHOD_SEND, 0xFF, 0xFE, 0},
        {boards, MAD_MGMT_CLASS_BM, MAD_METHOD_GET, 0, 1, 0},
        {boards, MAD_MGMT_CLASS_BM, MAD_METHOD_SET, 0, 0, 0},
        {boards, MAD_MGMT_CLASS_BM, MAD_METHOD_TRAP, 0, 0, 1},
        {devices, MAD_MGMT_CLASS_DEV_MGT, MAD_METHOD_GET, 0, 1, 0},
        {devices, MAD_MGMT_CLASS_DEV_MGT, MAD_METHOD_TRAP, 0, 0, 1},
        {subnet, MAD_MGMT_CLASS_SUBN_ADM, MAD_METHOD_GET, 0, 1, 0},
        {subnet, MAD_MGMT_CLASS_SUBN_ADM, MAD_METHOD_REPORT, 0, 0, 1},
        {performance, MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, 0, 1, 0},
        {performance, MAD_MGMT_CLASS_PERF, MAD_METHOD_SET, 0, 0, 0},
    };
    for (const request& each : kinds) {
        wire joined;
        const client_scope agent(0, each.pair[0]);
        // neither has a callback: the datagram is counted
        const client_scope manager(0, each.pair[1]);
        const std::uint8_t version = each.mgmt_class == MAD_MGMT_CLASS_SUBN_ADM ? 2 : 1;
        std::array<std::uint8_t, IB_MAD_SIZE> bytes{1, each.mgmt_class, version, each.method};
        bytes[20] = each.high;
        bytes[23] = each.low;
        joined.inject(0, bytes.data(), IB_MAD_SIZE, 2);
        joined.await_empty();
        EXPECT_EQ(agent.stats().st_no_callback, each.received_by == 0 ? 1u : 0u);
        EXPECT_EQ(manager.stats().st_no_callback, each.received_by == 1 ? 1u : 0u);
    }
}

struct blocker {
    KEVENT done;
    ibmf_handle_t manager = nullptr;
    int status = IBMF_FAILURE;
    int unregistered = IBMF_SUCCESS;
};

// A callback that blocks, one that sends from inside, and one that calls unregister, which is
// refused there.
TEST_P(IbmfMalformedInput, BlockingSendInCallback_RefusedOnlyWithoutOffload) {
    for (const uint_t flags :
         {0u, unsigned{IBMF_REG_FLAG_SINGLE_OFFLOAD}, unsigned{IBMF_REG_FLAG_NO_OFFLOAD}}) {
        const wire joined;
        const echo_agent far(1);
        const client_scope manager(0, PERF_MANAGER, flags);
        blocker state;
        KeInitializeEvent(&state.done, NotificationEvent, FALSE);
        test_message inner(manager.handle, {MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, 2});
        struct both {
            blocker& state;
            test_message& inner;
        } given{state, inner};
        test_message outer(manager.handle, {MAD_MGMT_CLASS_PERF});
        const auto call = [](ibmf_handle_t handle, ibmf_msg_t*, void* context) {
            auto& [caller, message] = *static_cast<both*>(context);
            caller.status = message.send_and_wait();
            ibmf_handle_t copy = handle;
            caller.unregistered = ibmf_unregister(&copy, 0);
            KeSetEvent(&caller.done, IO_NO_INCREMENT, FALSE);
        };
        ASSERT_EQ(ibmf_msg_transport(manager.handle, nullptr, outer.ibmf_msg, nullptr, call, &given,
                                     IBMF_MSG_TRANS_FLAG_SEQ),
                  IBMF_SUCCESS);
        KeWaitForSingleObject(&state.done, Executive, KernelMode, FALSE, nullptr);
        EXPECT_EQ(state.status,
                  flags == IBMF_REG_FLAG_NO_OFFLOAD ? IBMF_INVALID_ARG : IBMF_SUCCESS);
        EXPECT_EQ(state.unregistered, IBMF_BUSY);
    }
}

TEST_P(IbmfMalformedInput, ConcurrentSendsOfOneMessage_OneReturnsBusy) {
    wire joined;
    const client_scope manager(0, PERF_MANAGER);
    test_message msg(manager.handle, {MAD_MGMT_CLASS_PERF});
    std::atomic<int> begun{0};
    std::atomic<int> busy{0};
    {
        const auto send = [&] {
            const int status = ibmf_msg_transport(
                manager.handle, nullptr, msg.ibmf_msg, nullptr,
                [](ibmf_handle_t, ibmf_msg_t*, void* count) {
                    ++*static_cast<std::atomic<int>*>(count);
                },
                &begun, IBMF_MSG_TRANS_FLAG_SEQ);
            if (status == IBMF_BUSY) ++busy;
        };
        system_thread first(send);
        system_thread second(send);
    }
    EXPECT_EQ(busy, 1);
    EXPECT_EQ(ibmf_cancel_msg(manager.handle, msg.ibmf_msg), IBMF_SUCCESS);
    while (manager.stats().st_callbacks_active != 0)
        KeStallExecutionProcessor(10);
    EXPECT_EQ(begun, 1);
}

/// Injects what the peer of a transaction may send into it: any length, and any RMPP header.
void inject_noise(wire& joined, const std::array<UCHAR, IB_MAD_SIZE>& request) {
    for (ULONG length = 0; length <= 2048; length += length < 300 ? 1 : 97) {
        std::vector<std::uint8_t> bytes = noise(length, length);
        std::copy_n(request.begin(), std::min<std::size_t>(length, 24), bytes.begin());
        if (length > 3) bytes[3] |= MAD_RESPONSE_BIT;
        // A single datagram would end the transaction: those follow at the end.
        if (length > 26) bytes[26] |= 1;
        joined.inject(0, bytes.data(), length, wire::lids[1]);
    }
    for (std::uint64_t kind = 0; kind < 500; ++kind) {
        std::vector<std::uint8_t> bytes = noise(IB_MAD_SIZE, kind + 5000);
        std::copy_n(request.begin(), 24, bytes.begin());
        bytes[3] |= MAD_RESPONSE_BIT;
        bytes[24] = kind % 9 != 0;
        bytes[25] = static_cast<std::uint8_t>(kind % 6);
        bytes[26] = static_cast<std::uint8_t>(kind % 8) | 1;
        bytes[28] = bytes[29] = bytes[30] = 0;
        bytes[31] &= 7;
        joined.inject(0, bytes.data(), IB_MAD_SIZE, wire::lids[1]);
    }
    joined.await_empty();
}

/// A state of a transaction, and the way to reach it: `lost` selects the datagrams of either end
/// that do not arrive.
struct state_of_one {
    const char* name;
    request_of what;
    uint_t flags;
    std::function<bool(unsigned from, const std::array<UCHAR, IB_MAD_SIZE>&)> lost;
};

bool is_data(const std::array<UCHAR, IB_MAD_SIZE>& bytes) {
    return (bytes[26] & 1) != 0 && bytes[25] == 1;
}

// Arbitrary datagrams in each state: each transaction ends once, and the client continues to work.
TEST_P(IbmfMalformedInput, RandomDatagramsInAnyState_TransactionEndsOnce) {
    constexpr uint_t sequenced = IBMF_MSG_TRANS_FLAG_SEQ;
    constexpr uint_t both_ends = IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP;
    constexpr request_of table{MAD_MGMT_CLASS_SUBN_ADM, 0x12, 5};
    constexpr request_of multi{MAD_MGMT_CLASS_SUBN_ADM, 0x14, 5, wire::lids[1], 5000};
    const state_of_one states[]{
        {"waiting", table, sequenced, [](unsigned from, const auto&) { return from == 0; }},
        {"receiving", table, sequenced,
         [](unsigned from, const auto& bytes) { return from == 1 && bytes[31] > 3; }},
        {"sending", multi, both_ends, [](unsigned from, const auto&) { return from == 1; }},
        {"turned", multi, both_ends,
         [](unsigned from, const auto& bytes) { return from == 1 && is_data(bytes); }},
        {"over", table, sequenced, [](unsigned, const auto&) { return false; }},
    };
    for (const state_of_one& each : states) {
        wire joined;
        std::array<UCHAR, IB_MAD_SIZE> request{};
        joined.tap = [&](unsigned from, const auto& bytes) {
            if (from == 0 && bytes[3] == each.what.method && request[3] == 0) request = bytes;
            return !each.lost(from, bytes);
        };
        table_agent agent(1);
        agent.resize(5000);
        const client_scope manager(0, SUBN_ADM_MANAGER, IBMF_REG_FLAG_RMPP);
        {
            test_message msg(manager.handle, each.what);
            ASSERT_EQ(msg.send(each.flags), IBMF_SUCCESS) << each.name;
            inject_noise(joined, request);
            ibmf_cancel_msg(manager.handle, msg.ibmf_msg);
            msg.wait();
            EXPECT_EQ(msg.calls(), 1) << each.name;
        }
        agent.await_responses();
        joined.await_empty();
        joined.tap = nullptr;
        test_message after(manager.handle, table);
        EXPECT_EQ(after.send_and_wait(), IBMF_SUCCESS) << each.name;
        EXPECT_TRUE(std::ranges::equal(after.received(), agent.table())) << each.name;
    }
}

// A transaction that waits for its first send has no valid response.
TEST_P(IbmfMalformedInput, ResponseToQueuedTransaction_IsIgnored) {
    wire joined;
    std::array<UCHAR, IB_MAD_SIZE> first{};
    joined.tap = [&](unsigned, const auto& bytes) {
        first = bytes;
        return false;
    };
    const client_scope manager(0, PERF_MANAGER);
    ASSERT_EQ(ibmf_limit_port(manager.handle, 1), IBMF_SUCCESS);
    test_message ahead(manager.handle, {MAD_MGMT_CLASS_PERF});
    test_message behind(manager.handle, {MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, 2});
    ASSERT_EQ(ahead.send(), IBMF_SUCCESS);
    ASSERT_EQ(behind.send(), IBMF_SUCCESS);
    first[3] |= MAD_RESPONSE_BIT;
    ++first[15]; // the next slot's key
    joined.inject(0, first.data(), IB_MAD_SIZE, wire::lids[1]);
    joined.await_empty();
    EXPECT_EQ(manager.stats(B_TRUE).st_stale, 1u);
    for (test_message* each : {&ahead, &behind}) {
        EXPECT_EQ(each->calls(), 0);
        EXPECT_EQ(ibmf_cancel_msg(manager.handle, each->ibmf_msg), IBMF_SUCCESS);
    }
}

/// The datagrams that a client of a vendor's class has received.
struct header_log {
    static void note(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<header_log*>(context);
        const ib_mad_hdr_t& header = *msg->im_msgbufs_recv.im_bufs_mad_hdr;
        self.versions.push_back(header.ClassVersion);
        self.methods.push_back(header.R_Method);
        free_it(handle, msg, nullptr);
    }
    std::vector<std::uint8_t> versions;
    std::vector<std::uint8_t> methods;
};

// A datagram with a base version other than 1 is dropped; class versions and methods are left to
// the client; another vendor's datagrams have no receiver.
TEST_P(IbmfMalformedInput, OtherBaseVersionOrOui_IsDropped) {
    wire joined;
    header_log log;
    const client_scope vendors(vendor{{wire::guids[0], 1, VENDOR_32_MANAGER_AGENT}, 0x001405},
                               IBMF_REG_FLAG_NO_OFFLOAD);
    vendors.listen(header_log::note, &log);
    std::array<std::uint8_t, IB_MAD_SIZE> bytes{1, 0x32, 1, MAD_METHOD_GET};
    const auto inject = [&](std::size_t at, std::uint8_t changed) {
        const std::uint8_t kept = std::exchange(bytes[at], changed);
        joined.inject(0, bytes.data(), IB_MAD_SIZE, wire::lids[1]);
        joined.await_empty();
        bytes[at] = kept;
    };
    bytes[38] = 0x14;
    bytes[39] = 0x05;
    inject(0, 0);
    inject(0, 2);
    EXPECT_EQ(vendors.stats(B_TRUE).st_malformed, 2u);
    inject(2, 0);
    inject(2, 255);
    inject(3, 0x7F);
    inject(3, 0); // which no agent receives
    inject(39, 6);
    inject(1, 0x33);
    inject(3, 0xFF); // a response to no request
    EXPECT_EQ(ibmf_tear_down_async_cb(vendors.handle, nullptr, 0), IBMF_SUCCESS);
    const auto dropped = vendors.stats().st_no_callback; // by the tear-down
    EXPECT_EQ(log.versions.size() + dropped, 3u);
    if (dropped == 0) {
        EXPECT_EQ(log.versions, (std::vector<std::uint8_t>{0, 255, 1}));
        EXPECT_EQ(log.methods.back(), 0x7F);
    }
}

IRPVERBS_ON_BOTH_MACHINES(IbmfMalformedInput);

} // namespace
