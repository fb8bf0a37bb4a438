// The end of a connection whose other end is a process that dies, and what the daemon has for its
// clients.
#pragma once

#include "../connected_end.hpp"
#include "child_program.hpp"
#include "client.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <dirent.h>
#include <fstream>
#include <ostream>

namespace irpverbs::testing {

/// The numbers that a client of client_program.hpp prints.
struct printed_end {
    unsigned lid = 0;
    unsigned qpn = 0;
    unsigned long long address = 0;
    unsigned key = 0;
};

/// False: it died before.
inline bool read_end(const child_program& from, printed_end& made) {
    return std::sscanf(from.read_line().c_str(), "%u %u %llu %u", &made.lid, &made.qpn,
                       &made.address, &made.key) == 4;
}

/// The words by which such a client knows its peer.
inline std::vector<std::string> words_of(const connected_end& end) {
    return {std::to_string(end.lid()), std::to_string(end.qp->Num), std::to_string(end.address()),
            std::to_string(end.key())};
}

inline void connect(const connected_end& own, const printed_end& peer) {
    constexpr ib_qp_type_t type = IB_QPT_RELIABLE_CONN;
    EXPECT_EQ(modify_qp(own.qp, ci::to_init(type, {.access = IB_AC_REMOTE})), STATUS_SUCCESS);
    ci::rtr_attributes path;
    path.av.port_num = 1;
    path.av.dlid = static_cast<ib_lid_t>(peer.lid);
    path.dest_qp = peer.qpn;
    EXPECT_EQ(modify_qp(own.qp, ci::to_rtr(type, path)), STATUS_SUCCESS);
    ci::rts_attributes times;
    times.local_ack_timeout = 10; // 4 ms, with all retries enough for a machine that is loaded
    EXPECT_EQ(modify_qp(own.qp, ci::to_rts(type, times)), STATUS_SUCCESS);
}

/// Writes to a process until a work request fails, since the process has died.
inline void expect_failure(connected_end& own, const printed_end& peer) {
    ULONG status = IB_WC_SUCCESS;
    while (status == IB_WC_SUCCESS) {
        ib_send_wr_t what = own.remote(WR_RDMA_WRITE, 1, own, 8192);
        what.remote_ops = {peer.address, 0, 0, peer.key};
        EXPECT_EQ(own.post(what), STATUS_SUCCESS);
        status = own.next().Status;
    }
    EXPECT_EQ(status, ULONG{IB_WC_RETRY_EXCEEDED});
    EXPECT_EQ(own.attributes().state, ib_qp_state_t{IB_QPS_ERROR});
}

inline int own_descriptors() {
    DIR* const all = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(all) != nullptr)
        ++count;
    closedir(all);
    return count;
}

/// Mappings of this process, of the daemon and of the clients in it, whose names contain that.
inline int own_mappings(const char* name) {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find(name) != std::string::npos ? 1 : 0;
    return count;
}

/// Bytes of this process that are in memory.
inline std::size_t resident() {
    std::ifstream statm("/proc/self/statm");
    std::size_t size = 0;
    std::size_t pages = 0;
    statm >> size >> pages;
    return pages * static_cast<std::size_t>(getpagesize());
}

/// All that the daemon has for its clients.
struct daemon_share {
    static constexpr std::array<const char*, 8> names{
        "connections",           "objects",  "requests",   "waits", "bytes of rings",
        "MiB of common buffers", "mappings", "descriptors"};

    static daemon_share of(test_daemon& serving) {
        const UAL_COUNTERS now = serving.counters();
        return {{now.Connections, now.Objects, now.Requests, now.Waits, now.RingMemory,
                 now.CommonMemory, own_mappings("irpverbs-"), own_descriptors()}};
    }
    bool operator==(const daemon_share&) const = default;
    daemon_share operator-(const daemon_share& other) const { return plus(other, -1); }
    /// With so many others of that size.
    daemon_share plus(const daemon_share& other, long count) const {
        daemon_share made = *this;
        for (std::size_t i = 0; i < names.size(); ++i)
            made.numbers[i] += count * other.numbers[i];
        return made;
    }
    friend std::ostream& operator<<(std::ostream& out, const daemon_share& share) {
        for (std::size_t i = 0; i < names.size(); ++i)
            out << (i == 0 ? "" : ", ") << share.numbers[i] << ' ' << names[i];
        return out;
    }

    std::array<long, names.size()> numbers{};
};

/// The daemon comes to have that, and no more.
inline void expect_share(test_daemon& serving, const daemon_share& expected) {
    if (!await([&] { return daemon_share::of(serving) == expected; })) {
        EXPECT_EQ(daemon_share::of(serving), expected);
    }
}

/// The share of the clients that are there, when their last requests have completed.
inline daemon_share settled_share(test_daemon& serving) {
    EXPECT_TRUE(await([&] { return serving.counters().Requests == 0; }));
    return daemon_share::of(serving);
}

/// Two ends of one client that no process that dies concerns.
class bystanders {
public:
    explicit bystanders(DEVICE_OBJECT* hca) : from_(hca), to_(hca) {
        from_.connect(to_);
        to_.connect(from_);
    }

    /// Writes and sends a message, whose bytes are those of no earlier one.
    void transfer() {
        std::ranges::fill(from_.bytes(), ++value_);
        EXPECT_EQ(to_.post_receive(value_, length, length), STATUS_SUCCESS);
        EXPECT_EQ(from_.post(from_.remote(WR_RDMA_WRITE, value_, to_, length)), STATUS_SUCCESS);
        EXPECT_EQ(from_.post(from_.send(value_, length)), STATUS_SUCCESS);
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(from_.next().Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(to_.next().Status, ULONG{IB_WC_SUCCESS});
        const auto end = to_.bytes().begin() + 2 * length;
        EXPECT_EQ(std::count(to_.bytes().begin(), end, value_), 2 * length);
    }

private:
    static constexpr ULONG length = 4096;

    connected_end from_;
    connected_end to_;
    UCHAR value_ = 0;
};

} // namespace irpverbs::testing
