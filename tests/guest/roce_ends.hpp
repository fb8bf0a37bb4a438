// The two ends of the tests of RoCEv2 in the guest: the software HCA on u0, in a network namespace
// of its own, and the kernel's soft-RoCE on k0, driven by libibverbs (roce_cable).
#pragma once

#include <hca/connected_end.hpp>
#include <hca/datagram_end.hpp>

#include <dispatch/asio_machine.hpp>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace irpverbs::testing {

/// The calling thread is in the namespace "there" until the end of the scope. A socket stays in the
/// namespace where it was made.
class in_other_namespace {
public:
    in_other_namespace() : before_(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
        const int there = open("/run/netns/there", O_RDONLY | O_CLOEXEC);
        EXPECT_EQ(setns(there, CLONE_NEWNET), 0) << std::strerror(errno);
        close(there);
    }
    ~in_other_namespace() {
        EXPECT_EQ(setns(before_, CLONE_NEWNET), 0) << std::strerror(errno);
        close(before_);
    }
    in_other_namespace(const in_other_namespace&) = delete;
    in_other_namespace& operator=(const in_other_namespace&) = delete;

private:
    int before_;
};

inline ib_gid_t ipv4_gid(UCHAR number) { return {0, 0xFFFF0A4E0000ull | number}; }
inline ib_gid_t ipv6_gid(UCHAR number) { return {0xFD78ull << 48, number}; }

/// One end: an HCA, and its address in the tests.
struct roce_end {
    DEVICE_OBJECT* fdo;
    ib_gid_t gid;

    UCHAR gid_index() const {
        const open_hca ca(fdo);
        const port_block port(ca, 1);
        for (USHORT i = 0; i < port->GidCount; ++i)
            if (*IbPortGid(&*port, i) == gid) return static_cast<UCHAR>(i);
        ADD_FAILURE() << "no such GID";
        return 0;
    }
    /// The way to a GID.
    ib_av_attr_t way_to(const ib_gid_t& peer) const {
        ib_av_attr_t made{};
        made.port_num = 1;
        made.grh_valid = TRUE;
        made.grh.dest_gid = peer;
        made.grh.sgid_index = gid_index();
        made.grh.hop_limit = 64;
        return made;
    }
};

/// Both HCAs, attached once, on a real machine.
class roce_ends {
public:
    roce_ends() {
        ULONG count = 0;
        char message[200] = "";
        const in_other_namespace there;
        EXPECT_EQ(HcaAttachEx("roce:u0", &count, message, sizeof(message)), STATUS_SUCCESS)
            << message;
    }
    ~roce_ends() { EXPECT_EQ(HcaDetach("roce:u0"), STATUS_SUCCESS); }
    roce_ends(const roce_ends&) = delete;
    roce_ends& operator=(const roce_ends&) = delete;

    roce_end ours(bool is_version_4) const {
        return {HcaFromGuid(guid_of_hardware | 2), is_version_4 ? ipv4_gid(2) : ipv6_gid(2)};
    }
    roce_end kernels(bool is_version_4) const {
        return {HcaFromGuid(guid_of_hardware | 1), is_version_4 ? ipv4_gid(1) : ipv6_gid(1)};
    }

private:
    static constexpr ib_guid_t guid_of_hardware = 0x000000FFFE007800; // of 02:00:00:00:78:00

    dispatch::asio_machine machine_{{.processors = 2}};
    dispatch::machine::scope inside_{machine_};
    attached kernel_{"rdma:rxek"};
};

/// One end sends through netem until the end of the scope.
class disturbed_end {
public:
    disturbed_end(std::string tc, std::string port, const std::string& how)
        : tc_(std::move(tc)), port_(std::move(port)) {
        run("add", "netem " + how);
    }
    ~disturbed_end() { run("del", ""); }
    disturbed_end(const disturbed_end&) = delete;
    disturbed_end& operator=(const disturbed_end&) = delete;

private:
    void run(const std::string& change, const std::string& to) const {
        const std::string command = tc_ + " qdisc " + change + " dev " + port_ + " root " + to;
        EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }

    std::string tc_;
    std::string port_;
};

struct disturbed_kernels_end : disturbed_end {
    explicit disturbed_kernels_end(const std::string& how) : disturbed_end("tc", "k0", how) {}
};

/// Both ends.
class disturbed_cable {
public:
    explicit disturbed_cable(const std::string& how)
        : kernels_(how), ours_("tc -n there", "u0", how) {}

private:
    disturbed_kernels_end kernels_;
    disturbed_end ours_;
};

} // namespace irpverbs::testing
