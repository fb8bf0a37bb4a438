// A client that is killed at any moment of its transfers: nothing of it remains in the daemon, and
// its peer's queue pair learns of it by its next work request.
#include "../connected_end.hpp"
#include "client.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

constexpr int rounds = 24;
constexpr int longest = 10'000; // microseconds from the attach of a victim: most transfer by then

int descriptors() {
    DIR* const all = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(all) != nullptr)
        ++count;
    closedir(all);
    return count;
}

/// All that the daemon has for its clients.
std::string remains(test_daemon& serving) {
    const UAL_COUNTERS now = serving.counters();
    return std::to_string(now.Connections) + " connections, " + std::to_string(now.Objects) +
           " objects, " + std::to_string(now.Requests) + " requests, " + std::to_string(now.Waits) +
           " waits, " + std::to_string(descriptors()) + " descriptors";
}

/// The numbers that killed_sender prints.
struct end_point {
    unsigned lid = 0;
    unsigned qpn = 0;
    unsigned long long address = 0;
    unsigned key = 0;
};

/// A process that transfers until it is killed.
class victim {
public:
    victim(const std::string& uri, int microseconds, const connected_end& peer) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        EXPECT_TRUE(pipe2(in.data(), O_CLOEXEC) == 0 && pipe2(out.data(), O_CLOEXEC) == 0);
        const std::array<std::string, 7> words{KILLED_SENDER,
                                               uri,
                                               std::to_string(microseconds),
                                               std::to_string(peer.lid()),
                                               std::to_string(peer.qp->Num),
                                               std::to_string(peer.address()),
                                               std::to_string(peer.key())};
        std::array<char*, words.size() + 1> arguments{};
        for (std::size_t i = 0; i < words.size(); ++i)
            arguments[i] = const_cast<char*>(words[i].c_str());
        child_ = fork();
        if (child_ == 0) {
            dup2(in[0], STDIN_FILENO);
            dup2(out[1], STDOUT_FILENO);
            execv(KILLED_SENDER, arguments.data());
            _exit(127);
        }
        close(in[0]);
        close(out[1]);
        to_ = in[1];
        from_ = out[0];
    }
    ~victim() {
        close(to_);
        close(from_);
    }
    victim(const victim&) = delete;
    victim& operator=(const victim&) = delete;

    /// False: it was killed before it had connected.
    bool read_end(end_point& made) const {
        std::string text;
        for (char next = 0; read(from_, &next, 1) == 1 && next != '\n';)
            text += next;
        return std::sscanf(text.c_str(), "%u %u %llu %u", &made.lid, &made.qpn, &made.address,
                           &made.key) == 4;
    }
    void begin() const { static_cast<void>(write(to_, "b", 1)); }
    int wait() const {
        int status = 0;
        waitpid(child_, &status, 0);
        return status;
    }

private:
    pid_t child_ = 0;
    int to_ = -1;
    int from_ = -1;
};

void connect(const connected_end& own, const end_point& peer) {
    constexpr ib_qp_type_t type = IB_QPT_RELIABLE_CONN;
    EXPECT_EQ(modify_qp(own.qp, ci::to_init(type, {.access = IB_AC_REMOTE})), STATUS_SUCCESS);
    ci::rtr_attributes path;
    path.av.port_num = 1;
    path.av.dlid = static_cast<ib_lid_t>(peer.lid);
    path.dest_qp = peer.qpn;
    EXPECT_EQ(modify_qp(own.qp, ci::to_rtr(type, path)), STATUS_SUCCESS);
    ci::rts_attributes times;
    times.local_ack_timeout = 5; // 131 us
    times.retry_cnt = 2;
    EXPECT_EQ(modify_qp(own.qp, ci::to_rts(type, times)), STATUS_SUCCESS);
}

// Transfers to a process until a work request fails, since the process has died.
void expect_failure(connected_end& own, const end_point& peer) {
    ULONG status = IB_WC_SUCCESS;
    while (status == IB_WC_SUCCESS) {
        ib_send_wr_t what = own.remote(WR_RDMA_WRITE, 1, own, 8192);
        what.remote_ops = {peer.address, 0, 0, peer.key};
        EXPECT_EQ(own.post(what), STATUS_SUCCESS);
        status = own.next().Status;
    }
    EXPECT_TRUE(status == IB_WC_RETRY_EXCEEDED || status == IB_WC_REMOTE_ACCESS_ERROR) << status;
    EXPECT_EQ(own.attributes().state, ib_qp_state_t{IB_QPS_ERROR});
}

/// Several clients that die, each with the end of its connection that survives.
class round_of_kills {
public:
    static constexpr std::size_t size = 4;

    explicit round_of_kills(DEVICE_OBJECT* hca) {
        for (std::unique_ptr<connected_end>& each : own_)
            each = std::make_unique<connected_end>(hca);
        for (const std::unique_ptr<connected_end>& each : own_)
            each->attributes(); // the daemon has received what was sent before
    }

    /// Returns the number of those that had connected.
    int play(const std::string& uri, std::minstd_rand& random) {
        for (std::size_t i = 0; i < size; ++i)
            dying_[i] =
                std::make_unique<victim>(uri, static_cast<int>(random() % longest), *own_[i]);
        std::array<end_point, size> peers;
        std::array<bool, size> connected{};
        for (std::size_t i = 0; i < size; ++i) {
            connected[i] = dying_[i]->read_end(peers[i]);
            if (!connected[i]) continue;
            connect(*own_[i], peers[i]);
            dying_[i]->begin();
        }
        for (std::size_t i = 0; i < size; ++i) {
            if (connected[i]) expect_failure(*own_[i], peers[i]);
            const int status = dying_[i]->wait();
            EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
            dying_[i].reset();
        }
        return static_cast<int>(std::ranges::count(connected, true));
    }

private:
    std::array<std::unique_ptr<connected_end>, size> own_;
    std::array<std::unique_ptr<victim>, size> dying_;
};

TEST(KilledSender, AtAnyMoment_NothingRemainsAndThePeerFails) {
    test_daemon serving;
    const client here(serving.uri());
    const opened_ca other;
    std::minstd_rand random(1);
    std::string before;
    int connected = 0;
    for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
        round_of_kills each(HcaFromGuid(other.guid()));
        if (i == 0) {
            EXPECT_TRUE(await([&] { return serving.counters().Requests == 0; }));
            before = remains(serving);
        }
        connected += each.play(serving.uri(), random);
        EXPECT_TRUE(await([&] { return remains(serving) == before; }))
            << "round " << i << ": " << remains(serving) << " after " << before;
    }
    EXPECT_GT(connected, rounds);
}

} // namespace
