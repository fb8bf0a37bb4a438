// Connections of the software HCA with the kernel's rdma_cm on soft-RoCE, in both roles: rping,
// whose bytes are compared, ucmatose and udaddy. Runs in the guest.
#include "kernel_program.hpp"
#include "roce_ends.hpp"
#include "rping_end.hpp"

#include <cm/cm_end.hpp>

#include <fstream>
#include <memory>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr USHORT rping_port = 7174; // udaddy's, too
constexpr USHORT ucmatose_port = 7471;
constexpr ULONG ucmatose_messages = 10;
constexpr ULONG ucmatose_size = 100;

/// Faults of both ends of the cable, in the words of netem.
struct faults {
    const char* netem = "limit 1000"; // none
    bool lose = false;
};

constexpr faults one_percent_lost{"loss 1%", true};
constexpr faults five_percent_lost{"loss 5%", true};
constexpr faults many_lost{"loss 30%", true};
constexpr faults duplicates_and_overtaking{"delay 1ms reorder 10% duplicate 10%"};

/// The parameters of CmConnect for an rdma_cm: its times, and IP addressing.
struct connect_to_port : connect_to {
    connect_to_port(IB_CM* cm, IB_QP* qp, const ib_gid_t& address, USHORT port)
        : connect_to(qp, path_from(cm, address), IbCmServiceId(IB_CM_PS_TCP, port)),
          ip(CmIpOfPath(&path, 49152)) {
        p_ip = &ip;
        max_cm_retries = 15;
        remote_resp_timeout = local_resp_timeout = 18; // 1.1 s
    }
    static sa_path_record_t path_from(IB_CM* cm, const ib_gid_t& address) {
        sa_path_record_t made{};
        EXPECT_EQ(CmQueryEthernetPath(cm, &address, &made), STATUS_SUCCESS);
        return made;
    }

    ib_cm_ip_t ip;
};

ib_cm_listen_t service_of(USHORT space, USHORT port) {
    const ULONG flags = space == IB_CM_PS_UDP ? IB_CM_LISTEN_DATAGRAMS : 0;
    return {IbCmServiceId(space, port), 0, 0, 0, nullptr, flags};
}

class RoceConnections : public ::testing::TestWithParam<bool> {
protected:
    static void SetUpTestSuite() { ends = std::make_unique<roce_ends>(); }
    static void TearDownTestSuite() { ends.reset(); }

    roce_end ours() const { return ends->ours(GetParam()); }
    roce_end kernels() const { return ends->kernels(GetParam()); }
    static std::string text(bool is_version_4, int number) {
        return (is_version_4 ? "10.78.0." : "fd78::") + std::to_string(number);
    }
    std::string our_address() const { return text(GetParam(), 2); }
    std::string kernels_address() const { return text(GetParam(), 1); }

    /// Waits until a program of the kernel's end listens.
    static void await_listener(USHORT port) {
        const std::string command =
            "until rdma resource show cm_id | grep -q 'LISTEN.*:" + std::to_string(port) +
            " '; do sleep 0.01; done";
        EXPECT_EQ(std::system(("timeout 60 sh -c \"" + command + "\"").c_str()), 0);
    }
    /// A counter of the kernel's communication management: of messages, or of those repeated.
    static int kernels_count(const std::string& name) {
        int count = -1;
        std::ifstream("/sys/class/infiniband/rxek/ports/1/" + name) >> count;
        EXPECT_GE(count, 0) << name;
        return count;
    }

    static open_connection connect(IB_CM* cm, const ib_cm_connect_t& wanted) {
        pending_connect call(cm, wanted);
        EXPECT_STREQ(name_of(call.status()), "STATUS_SUCCESS") << call.reply.rej_reason;
        return call.connection();
    }
    /// The next request is accepted, when the queue pair has a receive.
    template <class Prepare>
    static open_connection accept(IB_CM_LISTENER* listener, IB_QP* qp, const Prepare& prepare) {
        EXPECT_EQ(modify_qp(qp, ci::to_init(IB_QPT_RELIABLE_CONN, {.access = IB_AC_REMOTE})),
                  STATUS_SUCCESS);
        prepare();
        pending_request next(listener);
        open_connection link = next.connection();
        pending_accept call(link, qp);
        EXPECT_STREQ(name_of(call.status()), "STATUS_SUCCESS");
        return link;
    }
    static void expect_end(const open_connection& link) {
        EXPECT_EQ(link.next_event().type, ULONG{IB_CM_EVENT_DISCONNECTED});
    }

    /// A client that destroys its id at once, as rping does, ends with the only request to
    /// disconnect that rdma_cm sends: it repeats none for an id that is gone. If that one is lost,
    /// the next message shows that the peer is gone.
    static void expect_end_of_program(rping_end& server, const open_connection& link) {
        if (server.failure_of_a_message() == ULONG{IB_WC_RETRY_EXCEEDED})
            EXPECT_EQ(link.disconnect(), std::pair(STATUS_SUCCESS, ULONG_PTR{1}));
        else
            expect_end(link);
    }

    void ping_the_kernel(int count, ULONG size, const faults& on = {}) {
        kernel_program server("timeout 200 rping -s -a " + kernels_address() + " -S " +
                              std::to_string(size));
        await_listener(rping_port);
        const disturbed_cable cable(on.netem);
        rping_end client(ours().fdo);
        {
            const open_cm cm(client.ca(), 0);
            const open_connection link =
                connect(cm, connect_to_port(cm, client.qp(), kernels().gid, rping_port));
            client.post_receive();
            EXPECT_STREQ(name_of(link.complete()), "STATUS_SUCCESS");
            for (int i = 0; i < count && !HasFailure(); ++i) {
                if (i != 0) client.post_receive();
                client.ping(size, static_cast<char>(i));
            }
            EXPECT_EQ(link.disconnect().first, STATUS_SUCCESS);
        }
        server.expect_success();
    }
    static void pong(rping_end& server, bool is_last) {
        server.pong();
        is_last ? server.report_written_last() : server.report_written();
    }
    std::string rping_to_us(int count, ULONG size) const {
        return "timeout 200 rping -c -V -a " + our_address() + " -I " + kernels_address() + " -C " +
               std::to_string(count) + " -S " + std::to_string(size);
    }
    void serve_the_kernel(int count, ULONG size, const faults& on = {}) {
        rping_end server(ours().fdo);
        const open_cm cm(server.ca(), 0);
        const open_listener listener(cm, service_of(IB_CM_PS_TCP, rping_port));
        const disturbed_cable cable(on.netem);
        kernel_program client(rping_to_us(count, size));
        const open_connection link = accept(listener, server.qp(), [&] { server.post_receive(); });
        for (int i = 0; i < count && !HasFailure(); ++i)
            pong(server, i + 1 == count);
        if (!on.lose) expect_end(link);
        client.expect_success();
        if (on.lose) expect_end_of_program(server, link);
    }

    static void post_receives(connected_end& end) {
        for (ULONG i = 0; i < ucmatose_messages; ++i)
            EXPECT_EQ(end.post_receive(i, ucmatose_size, ucmatose_size * (i + 1)), STATUS_SUCCESS);
    }
    static void send(connected_end& end) {
        for (ULONG i = 0; i < ucmatose_messages; ++i)
            EXPECT_EQ(end.post(end.send(i, ucmatose_size)), STATUS_SUCCESS);
    }
    /// Takes that many completions, in any order: a late acknowledgement comes behind the reply.
    static void take(connected_end& end, ULONG sends, ULONG receives) {
        while (sends + receives > 0 && !HasFailure()) {
            const IB_WC done = end.next();
            EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
            --(done.Opcode == ULONG{IB_WC_SEND} ? sends : receives);
        }
        EXPECT_EQ(std::pair(sends, receives), std::pair(ULONG{0}, ULONG{0}));
    }

    /// The server sends first, and disconnects when it has all messages, whose acknowledgements may
    /// be lost.
    void exchange_with_server(const faults& on = {}) {
        kernel_program server("timeout 200 ucmatose -b " + kernels_address());
        await_listener(ucmatose_port);
        const disturbed_cable cable(on.netem);
        connected_end client(ours().fdo);
        const open_cm cm(client.ca(), 0);
        const open_connection link =
            connect(cm, connect_to_port(cm, client.qp, kernels().gid, ucmatose_port));
        post_receives(client);
        EXPECT_STREQ(name_of(link.complete()), "STATUS_SUCCESS");
        take(client, 0, ucmatose_messages);
        send(client);
        if (!on.lose) take(client, ucmatose_messages, 0);
        expect_end(link);
        server.expect_success();
    }
    void exchange_with_client(const faults& on = {}) {
        connected_end server(ours().fdo);
        const open_cm cm(server.ca(), 0);
        const open_listener listener(cm, service_of(IB_CM_PS_TCP, ucmatose_port));
        const disturbed_cable cable(on.netem);
        kernel_program client("timeout 200 ucmatose -s " + our_address() + " -b " +
                              kernels_address());
        const open_connection link = accept(listener, server.qp, [&] { post_receives(server); });
        send(server);
        take(server, ucmatose_messages, ucmatose_messages);
        EXPECT_EQ(link.disconnect().first, STATUS_SUCCESS);
        client.expect_success();
    }

    void call_unknown_service(const faults& on = {}) {
        const disturbed_cable cable(on.netem);
        connected_end client(ours().fdo);
        const open_cm cm(client.ca(), 0);
        pending_connect call(cm, connect_to_port(cm, client.qp, kernels().gid, rping_port));
        EXPECT_STREQ(name_of(call.status()), "STATUS_REQUEST_NOT_ACCEPTED");
        EXPECT_EQ(call.reply.rej_reason, IB_CM_REJ_INVALID_SERVICE_ID);
    }
    void reject_the_kernel(const faults& on = {}) {
        const connected_end end(ours().fdo);
        const open_cm cm(end.ca(), 0);
        const open_listener listener(cm, service_of(IB_CM_PS_TCP, rping_port));
        const disturbed_cable cable(on.netem);
        kernel_program client("timeout 200 rping -c -a " + our_address() + " -C 1");
        pending_request next(listener);
        const open_connection link = next.connection();
        EXPECT_EQ(next.request.ip.ip_version, GetParam() ? 4 : 6);
        EXPECT_EQ(next.request.primary_path.DGID, kernels().gid);
        EXPECT_EQ(link.reject(), STATUS_SUCCESS);
        std::string output;
        EXPECT_NE(client.wait(output), 0);
        EXPECT_NE(output.find("RDMA_CM_EVENT_REJECTED, error 28"), std::string::npos) << output;
    }

    static inline std::unique_ptr<roce_ends> ends;
};

TEST_P(RoceConnections, RpingServer_ReturnsTheBytes) { ping_the_kernel(5, 20'000); }
TEST_P(RoceConnections, RpingClient_GetsItsBytesBack) { serve_the_kernel(5, 20'000); }

TEST_P(RoceConnections, UcmatoseServer_ExchangesMessages) { exchange_with_server(); }
TEST_P(RoceConnections, UcmatoseClient_ExchangesMessages) { exchange_with_client(); }
TEST_P(RoceConnections, NoListener_IsTheReasonOfTheRejection) { call_unknown_service(); }
TEST_P(RoceConnections, RejectedProgram_GetsTheRejection) { reject_the_kernel(); }

// ---- datagrams

constexpr ULONG udaddy_messages = 10;
constexpr ULONG udaddy_size = 100;

/// A queue pair with the Q_Key of rdma_cm's datagrams.
class udaddy_end : public datagram_end {
public:
    explicit udaddy_end(DEVICE_OBJECT* fdo) : datagram_end(fdo) {
        EXPECT_EQ(modify_qp(qp, ci::to_init(IB_QPT_UNRELIABLE_DGRM, {.qkey = IB_CM_UDP_QKEY})),
                  STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(qp, ci::to_rtr(IB_QPT_UNRELIABLE_DGRM)), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(qp, ci::to_rts(IB_QPT_UNRELIABLE_DGRM, {})), STATUS_SUCCESS);
        for (ULONG i = 0; i < udaddy_messages; ++i)
            EXPECT_EQ(post_receive(i, udaddy_size + route_size), STATUS_SUCCESS);
    }
    /// The immediate data are the number of the sender's queue pair.
    void send_all(IB_AV* way, ib_qpn_t to, ib_qkey_t key) {
        for (ULONG i = 0; i < udaddy_messages; ++i) {
            ib_send_wr_t made = send(i, udaddy_size, way, to);
            made.send_opt |= IB_SEND_OPT_IMMEDIATE;
            made.immediate_data = boost::endian::native_to_big(qp->Num);
            made.dgrm.ud.remote_qkey = key;
            EXPECT_EQ(post(made), STATUS_SUCCESS);
        }
        for (ULONG i = 0; i < udaddy_messages; ++i)
            EXPECT_EQ(next().Status, ULONG{IB_WC_SUCCESS});
    }
    /// Returns the last of the datagrams.
    IB_WC receive_all() const {
        IB_WC last{};
        for (ULONG i = 0; i < udaddy_messages; ++i) {
            last = next();
            EXPECT_EQ(last.Status, ULONG{IB_WC_SUCCESS});
            EXPECT_EQ(last.ByteCount, udaddy_size + route_size);
        }
        return last;
    }
};

TEST_P(RoceConnections, UdaddyServer_RepliesToTheResolvedQueuePair) {
    kernel_program server("timeout 200 udaddy -b " + kernels_address());
    await_listener(rping_port);
    udaddy_end client(ours().fdo);
    const open_cm cm(client.ca(), 0);
    resolve_at wanted(connect_to_port::path_from(cm, kernels().gid),
                      IbCmServiceId(IB_CM_PS_UDP, rping_port));
    const ib_cm_ip_t ip = CmIpOfPath(&wanted.path, 49152);
    wanted.p_ip = &ip;
    pending_resolution call(cm, wanted);
    EXPECT_STREQ(name_of(call.status()), "STATUS_SUCCESS");
    EXPECT_EQ(call.reply.q_key, IB_CM_UDP_QKEY);
    client.send_all(client.vector(call.reply.av), call.reply.qpn, call.reply.q_key);
    client.receive_all();
    server.expect_success();
}

TEST_P(RoceConnections, UdaddyClient_GetsReplies) {
    udaddy_end server(ours().fdo);
    const open_cm cm(server.ca(), 0);
    const open_listener listener(cm, service_of(IB_CM_PS_UDP, rping_port));
    kernel_program client("timeout 200 udaddy -s " + our_address() + " -b " + kernels_address());
    pending_ud_request next(listener);
    const open_ud_request request = next.object();
    ib_cm_ud_response_t with{};
    with.qpn = server.qp->Num;
    with.q_key = IB_CM_UDP_QKEY;
    EXPECT_EQ(request.respond(with), STATUS_SUCCESS);
    const IB_WC last = server.receive_all();
    server.send_all(server.vector(ours().way_to(kernels().gid)), last.SourceQp, IB_CM_UDP_QKEY);
    client.expect_success();
}

// ---- loss

class LossyRoceConnections : public RoceConnections {};

TEST_P(LossyRoceConnections, OnePercentLost_AllBytesReturn) {
    ping_the_kernel(5, 20'000, one_percent_lost);
    serve_the_kernel(5, 20'000, one_percent_lost);
}

TEST_P(LossyRoceConnections, FivePercentLost_AllBytesReturn) {
    for (int i = 0; i < 3 && !HasFailure(); ++i) {
        ping_the_kernel(3, 5'000, five_percent_lost);
        serve_the_kernel(3, 5'000, five_percent_lost);
    }
}

TEST_P(LossyRoceConnections, DuplicatesAndOvertaking_AllBytesReturn) {
    for (int i = 0; i < 3 && !HasFailure(); ++i) {
        ping_the_kernel(3, 5'000, duplicates_and_overtaking);
        serve_the_kernel(3, 5'000, duplicates_and_overtaking);
    }
}

// rdma_cm repeats its request to disconnect as long as the id exists, which rping destroys at once.
TEST_P(LossyRoceConnections, LostRequestOfADestroyedId_IsNotRepeated) {
    rping_end server(ours().fdo);
    const open_cm cm(server.ca(), 0);
    const open_listener listener(cm, service_of(IB_CM_PS_TCP, rping_port));
    const int sent = kernels_count("cm_tx_msgs/dreq");
    const int repeated = kernels_count("cm_tx_retries/dreq");
    kernel_program client(rping_to_us(1, 64));
    const open_connection link = accept(listener, server.qp(), [&] { server.post_receive(); });
    server.pong();
    {
        const disturbed_kernels_end silent("loss 100%");
        server.report_written_last();
        client.expect_success();
    }
    EXPECT_EQ(server.failure_of_a_message(), ULONG{IB_WC_RETRY_EXCEEDED});
    EXPECT_EQ(kernels_count("cm_tx_msgs/dreq"), sent + 1);
    EXPECT_EQ(kernels_count("cm_tx_retries/dreq"), repeated);
    EXPECT_EQ(link.disconnect(), std::pair(STATUS_SUCCESS, ULONG_PTR{1}));
}

// ucmatose keeps its id until it is disconnected.
TEST_P(LossyRoceConnections, FivePercentLost_BothEndsAreDisconnected) {
    exchange_with_server(five_percent_lost);
    exchange_with_client(five_percent_lost);
}

TEST_P(LossyRoceConnections, ManyLost_RejectionsArrive) {
    call_unknown_service(many_lost);
    reject_the_kernel(many_lost);
}

std::string ip_version(const ::testing::TestParamInfo<bool>& info) {
    return info.param ? "Ipv4" : "Ipv6";
}
INSTANTIATE_TEST_SUITE_P(Over, RoceConnections, ::testing::Bool(), ip_version);
INSTANTIATE_TEST_SUITE_P(OverIpv4, LossyRoceConnections, ::testing::Values(true), ip_version);

} // namespace
