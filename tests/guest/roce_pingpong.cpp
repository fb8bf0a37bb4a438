// The software HCA as the peer of rdma-core's ibv_rc_pingpong, ibv_uc_pingpong and ibv_ud_pingpong
// on the kernel's soft-RoCE, in both roles. They send back the bytes that they have received last,
// so each message that returns has passed both ends.
#include "kernel_program.hpp"
#include "roce_ends.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <memory>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// A queue pair as the programs exchange it over TCP: LID, numbers, and the GID in hexadecimal.
struct pingpong_address {
    ib_qpn_t qp = 0;
    ULONG psn = 0;
    ib_gid_t gid{};
};

constexpr std::size_t text_size = 52; // with the 0 at its end
using pingpong_text = std::array<char, text_size + 1>;

pingpong_text text_of(const pingpong_address& of) {
    pingpong_text made{};
    std::snprintf(made.data(), made.size(), "0000:%06x:%06x:%016llx%016llx", of.qp, of.psn,
                  static_cast<unsigned long long>(of.gid.gid_prefix),
                  static_cast<unsigned long long>(of.gid.gid_guid));
    return made;
}

pingpong_address address_of(const pingpong_text& text) {
    unsigned lid = 0;
    pingpong_address made;
    unsigned long long prefix = 0;
    unsigned long long guid = 0;
    EXPECT_EQ(std::sscanf(text.data(), "%4x:%6x:%6x:%16llx%16llx", &lid, &made.qp, &made.psn,
                          &prefix, &guid),
              5)
        << text.data();
    made.gid = {prefix, guid};
    return made;
}

/// The TCP connection on which a program of the kernel's end exchanges addresses.
class exchange {
public:
    exchange() = default;
    ~exchange() {
        if (connection_ >= 0) close(connection_);
        if (listener_ >= 0) close(listener_);
    }
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    void listen() {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int on = 1;
        setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        sockaddr_in at = port();
        EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
        EXPECT_EQ(::listen(listener_, 1), 0);
    }
    void accept() { connection_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); }
    /// Repeats until the program listens.
    void connect() {
        sockaddr_in at = port();
        for (int tries = 0; tries < 1000; ++tries) {
            connection_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (::connect(connection_, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0) return;
            close(connection_);
            LARGE_INTEGER moment;
            moment.QuadPart = -100'000;
            KeDelayExecutionThread(KernelMode, FALSE, &moment);
        }
        ADD_FAILURE() << "the program does not listen";
    }
    void put(const void* bytes, std::size_t size) {
        EXPECT_EQ(::send(connection_, bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
    }
    void put(const pingpong_address& own) { put(text_of(own).data(), text_size); }
    pingpong_address get() {
        pingpong_text text{};
        EXPECT_EQ(recv(connection_, text.data(), text_size, MSG_WAITALL),
                  static_cast<ssize_t>(text_size));
        return address_of(text);
    }
    void put_done() { put("done", 5); }
    void get_done() {
        std::array<char, 5> text{};
        EXPECT_EQ(recv(connection_, text.data(), text.size(), MSG_WAITALL), 5);
    }

private:
    static sockaddr_in port() {
        sockaddr_in made{};
        made.sin_family = AF_INET;
        made.sin_port = htons(18515);
        made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return made;
    }

    int listener_ = -1;
    int connection_ = -1;
};

enum class role { client, server };

using pingpong_case = std::tuple<bool, role, ULONG>; // IPv4, our role, bytes

constexpr int rounds = 30;

class RocePingpong : public ::testing::TestWithParam<pingpong_case> {
protected:
    RocePingpong()
        : is_version_4(std::get<0>(GetParam())), is_client(std::get<1>(GetParam()) == role::client),
          size(std::get<2>(GetParam())), ours(ends.ours(is_version_4)),
          kernels(ends.kernels(is_version_4)) {}

    std::string command(const char* name, const char* options) const {
        return std::string(name) + " -d rxek -e -c -n " + std::to_string(rounds) + " -s " +
               std::to_string(size) + " -g " + std::to_string(kernels.gid_index()) + options +
               (is_client ? "" : " 127.0.0.1");
    }
    /// Exchanges addresses in our role; `connects(peer)` makes the queue pair ready.
    template <class Connect>
    void meet(const pingpong_address& own, const Connect& connects) {
        if (is_client) {
            wire.connect();
            wire.put(own);
            connects(wire.get());
            wire.put_done();
            return;
        }
        wire.accept();
        connects(wire.get());
        wire.put(own);
        wire.get_done();
    }

    /// Page by page the programs look for a 0 at its begin.
    static void fill(UCHAR* bytes, ULONG count, int round) {
        for (ULONG i = 0; i < count; ++i)
            bytes[i] =
                i % 4096 == 0
                    ? UCHAR{0}
                    : static_cast<UCHAR>(i * 7 + (i >> 8) * 13 + static_cast<ULONG>(round) * 131);
    }

    void run_connected(const char* name, ib_qp_type_t type) {
        connected_end end(ours.fdo, type);
        if (!is_client) wire.listen();
        kernel_program other(command(name, " -m 1024"));
        const ULONG second_half = connected_end::size / 2;
        meet({end.qp->Num, connected_end::first_psn, ours.gid}, [&](const pingpong_address& peer) {
            end.connect(ours.way_to(peer.gid), peer.qp, IB_MTU_1024, peer.psn);
            EXPECT_EQ(end.post_receive(0, size, second_half), STATUS_SUCCESS);
        });
        std::vector<UCHAR> sent;
        for (int round = 0; round < rounds && !HasFailure(); ++round) {
            if (!is_client) receive(end, sent, second_half, round);
            fill(end.bytes().data(), size, round);
            sent.assign(end.bytes().begin(), end.bytes().begin() + size);
            EXPECT_EQ(end.post(end.send(1, size)), STATUS_SUCCESS);
            if (is_client) receive(end, sent, second_half, round);
            while (sends_done <= round && !HasFailure())
                note(end.next());
        }
        other.expect_success(); // it may ask for the last acknowledgement again
    }
    void receive(connected_end& end, const std::vector<UCHAR>& expected, ULONG offset, int round) {
        while (receives_done <= round && !HasFailure())
            note(end.next());
        if (!expected.empty()) {
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                                   end.bytes().begin() + static_cast<std::ptrdiff_t>(offset)))
                << "round " << round;
        }
        EXPECT_EQ(end.post_receive(0, size, offset), STATUS_SUCCESS);
    }
    void note(const IB_WC& done) {
        EXPECT_EQ(done.Status, ULONG{IB_WC_SUCCESS});
        ++(done.Opcode == ULONG{IB_WC_RECEIVE} ? receives_done : sends_done);
    }

    roce_ends ends;
    bool is_version_4;
    bool is_client;
    ULONG size;
    roce_end ours;
    roce_end kernels;
    exchange wire;
    int sends_done = 0;
    int receives_done = 0;
};

TEST_P(RocePingpong, Rc_ReturnsTheBytes) { run_connected("ibv_rc_pingpong", IB_QPT_RELIABLE_CONN); }

TEST_P(RocePingpong, Uc_ReturnsTheBytes) {
    run_connected("ibv_uc_pingpong", IB_QPT_UNRELIABLE_CONN);
}

class RoceDatagramPingpong : public RocePingpong {};

TEST_P(RoceDatagramPingpong, Ud_ReturnsTheBytes) {
    datagram_end end(ours.fdo);
    end.start();
    if (!is_client) wire.listen();
    kernel_program other(command("ibv_ud_pingpong", ""));
    EXPECT_EQ(end.post_receive(0), STATUS_SUCCESS);
    pingpong_address peer;
    meet({end.qp->Num, 0, ours.gid}, [&](const pingpong_address& there) { peer = there; });
    IB_AV* const way = end.vector(ours.way_to(peer.gid));
    bool has_sent = false;
    for (int round = 0; round < rounds && !HasFailure(); ++round) {
        const auto receive = [&] {
            while (receives_done <= round && !HasFailure())
                note(end.next());
            EXPECT_TRUE(!has_sent ||
                        std::equal(end.received(), end.received() + size, end.bytes().begin()))
                << "round " << round;
            EXPECT_EQ(end.post_receive(0), STATUS_SUCCESS);
        };
        if (!is_client) receive();
        fill(end.bytes().data(), size, round);
        EXPECT_EQ(end.post(end.send(1, size, way, peer.qp)), STATUS_SUCCESS);
        has_sent = true;
        if (is_client) receive();
    }
    other.expect_success();
}

std::string name_of_case(const ::testing::TestParamInfo<pingpong_case>& info) {
    const auto [is_version_4, own, size] = info.param;
    return std::string(own == role::client ? "Client" : "Server") + std::to_string(size) +
           (is_version_4 ? "OverIpv4" : "OverIpv6");
}

const auto both_roles = ::testing::Values(role::client, role::server);
INSTANTIATE_TEST_SUITE_P(Kernel, RocePingpong,
                         ::testing::Combine(::testing::Values(true), both_roles,
                                            ::testing::Values(64u, 30'000u)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(KernelOverIpv6, RocePingpong,
                         ::testing::Combine(::testing::Values(false), both_roles,
                                            ::testing::Values(5000u)),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Kernel, RoceDatagramPingpong,
                         ::testing::Combine(::testing::Bool(), both_roles,
                                            ::testing::Values(2048u)),
                         name_of_case);

} // namespace
