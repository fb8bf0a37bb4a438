// Connections of the software HCA with the kernel's rdma_cm on soft-RoCE, in both roles: rping,
// whose bytes are compared, ucmatose and udaddy. Runs in the guest.
#include "kernel_program.hpp"
#include "roce_ends.hpp"
#include "rping_end.hpp"

#include <cm/cm_end.hpp>

#include <memory>
#include <optional>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr USHORT rping_port = 7174; // udaddy's, too
constexpr USHORT ucmatose_port = 7471;
constexpr ULONG ucmatose_messages = 10;
constexpr ULONG ucmatose_size = 100;

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

    /// Repeats until the program listens.
    static open_connection connect(IB_CM* cm, const ib_cm_connect_t& wanted) {
        for (int tries = 0; tries < 1000; ++tries) {
            pending_connect call(cm, wanted);
            const NTSTATUS status = call.status();
            if (status != STATUS_REQUEST_NOT_ACCEPTED ||
                call.reply.rej_reason != IB_CM_REJ_INVALID_SERVICE_ID) {
                EXPECT_STREQ(name_of(status), "STATUS_SUCCESS") << call.reply.rej_reason;
                return call.connection();
            }
            let_pass_ms(10);
        }
        ADD_FAILURE() << "the program does not listen";
        return open_connection();
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

    /// `faults`, of netem, begin when the connection is established: before, requests are repeated
    /// until the program listens, and a duplicate of an earlier one would make the next one stale.
    void ping_the_kernel(int count, ULONG size, const char* faults = nullptr) {
        kernel_program server("timeout 200 rping -s -a " + kernels_address() + " -S " +
                              std::to_string(size));
        rping_end client(ours().fdo);
        {
            const open_cm cm(client.ca(), 0);
            const open_connection link =
                connect(cm, connect_to_port(cm, client.qp(), kernels().gid, rping_port));
            client.post_receive();
            EXPECT_STREQ(name_of(link.complete()), "STATUS_SUCCESS");
            std::optional<disturbed_cable> cable;
            if (faults != nullptr) cable.emplace(faults);
            for (int i = 0; i < count && !HasFailure(); ++i) {
                if (i != 0) client.post_receive();
                client.ping(size, static_cast<char>(i));
            }
            EXPECT_EQ(link.disconnect().first, STATUS_SUCCESS);
        }
        server.expect_success();
    }
    void serve_the_kernel(int count, ULONG size, const char* faults = nullptr) {
        rping_end server(ours().fdo);
        const open_cm cm(server.ca(), 0);
        const open_listener listener(cm, service_of(IB_CM_PS_TCP, rping_port));
        kernel_program client("timeout 200 rping -c -V -a " + our_address() + " -I " +
                              kernels_address() + " -C " + std::to_string(count) + " -S " +
                              std::to_string(size));
        const open_connection link = accept(listener, server.qp(), [&] { server.post_receive(); });
        std::optional<disturbed_cable> cable;
        if (faults != nullptr) cable.emplace(faults);
        for (int i = 0; i < count && !HasFailure(); ++i)
            server.pong(i + 1 == count);
        expect_end(link);
        client.expect_success();
    }

    static void post_receives(connected_end& end) {
        for (ULONG i = 0; i < ucmatose_messages; ++i)
            EXPECT_EQ(end.post_receive(i, ucmatose_size, ucmatose_size * (i + 1)), STATUS_SUCCESS);
    }
    static void take(connected_end& end, ULONG opcode) {
        for (ULONG i = 0; i < ucmatose_messages; ++i) {
            const IB_WC done = end.next();
            EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
            EXPECT_EQ(done.Opcode, opcode);
        }
    }
    static void send(connected_end& end) {
        for (ULONG i = 0; i < ucmatose_messages; ++i)
            EXPECT_EQ(end.post(end.send(i, ucmatose_size)), STATUS_SUCCESS);
        take(end, IB_WC_SEND);
    }

    static inline std::unique_ptr<roce_ends> ends;
};

TEST_P(RoceConnections, RpingServer_ReturnsTheBytes) { ping_the_kernel(5, 20'000); }
TEST_P(RoceConnections, RpingClient_GetsItsBytesBack) { serve_the_kernel(5, 20'000); }

// The server sends first, and disconnects.
TEST_P(RoceConnections, UcmatoseServer_ExchangesMessages) {
    kernel_program server("timeout 200 ucmatose -b " + kernels_address());
    connected_end client(ours().fdo);
    const open_cm cm(client.ca(), 0);
    const open_connection link =
        connect(cm, connect_to_port(cm, client.qp, kernels().gid, ucmatose_port));
    post_receives(client);
    EXPECT_STREQ(name_of(link.complete()), "STATUS_SUCCESS");
    take(client, IB_WC_RECEIVE);
    send(client);
    expect_end(link);
    server.expect_success();
}

TEST_P(RoceConnections, UcmatoseClient_ExchangesMessages) {
    connected_end server(ours().fdo);
    const open_cm cm(server.ca(), 0);
    const open_listener listener(cm, service_of(IB_CM_PS_TCP, ucmatose_port));
    kernel_program client("timeout 200 ucmatose -s " + our_address() + " -b " + kernels_address());
    const open_connection link = accept(listener, server.qp, [&] { post_receives(server); });
    send(server);
    take(server, IB_WC_RECEIVE);
    EXPECT_EQ(link.disconnect().first, STATUS_SUCCESS);
    client.expect_success();
}

TEST_P(RoceConnections, NoListener_IsTheReasonOfTheRejection) {
    connected_end client(ours().fdo);
    const open_cm cm(client.ca(), 0);
    pending_connect call(cm, connect_to_port(cm, client.qp, kernels().gid, rping_port));
    EXPECT_STREQ(name_of(call.status()), "STATUS_REQUEST_NOT_ACCEPTED");
    EXPECT_EQ(call.reply.rej_reason, IB_CM_REJ_INVALID_SERVICE_ID);
}

TEST_P(RoceConnections, RejectedProgram_GetsTheRejection) {
    const connected_end end(ours().fdo);
    const open_cm cm(end.ca(), 0);
    const open_listener listener(cm, service_of(IB_CM_PS_TCP, rping_port));
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
    udaddy_end client(ours().fdo);
    const open_cm cm(client.ca(), 0);
    resolve_at wanted(connect_to_port::path_from(cm, kernels().gid),
                      IbCmServiceId(IB_CM_PS_UDP, rping_port));
    const ib_cm_ip_t ip = CmIpOfPath(&wanted.path, 49152);
    wanted.p_ip = &ip;
    ib_cm_ud_reply_t reply{};
    for (int tries = 0; tries < 1000 && reply.qpn == 0; ++tries) {
        let_pass_ms(10); // the program may not listen yet
        pending_resolution call(cm, wanted);
        call.status();
        reply = call.reply;
    }
    EXPECT_EQ(reply.q_key, IB_CM_UDP_QKEY);
    client.send_all(client.vector(reply.av), reply.qpn, reply.q_key);
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
    ping_the_kernel(5, 20'000, "loss 1%");
    serve_the_kernel(5, 20'000, "loss 1%");
}

TEST_P(LossyRoceConnections, DuplicatesAndOvertaking_AllBytesReturn) {
    for (int i = 0; i < 3 && !HasFailure(); ++i) {
        ping_the_kernel(3, 5'000, "delay 1ms reorder 10% duplicate 10%");
        serve_the_kernel(3, 5'000, "delay 1ms reorder 10% duplicate 10%");
    }
}

TEST_P(LossyRoceConnections, FivePercentLost_AllBytesReturn) {
    for (int i = 0; i < 3 && !HasFailure(); ++i) {
        ping_the_kernel(3, 5'000, "loss 5%");
        serve_the_kernel(3, 5'000, "loss 5%");
    }
}

std::string ip_version(const ::testing::TestParamInfo<bool>& info) {
    return info.param ? "Ipv4" : "Ipv6";
}
INSTANTIATE_TEST_SUITE_P(Over, RoceConnections, ::testing::Bool(), ip_version);
INSTANTIATE_TEST_SUITE_P(OverIpv4, LossyRoceConnections, ::testing::Values(true), ip_version);

} // namespace
