// A scripted kernel with InfiniBand devices in place of libibumad, with the verbs devices of
// libibverbs beside them.
#pragma once

#include "attachment.hpp"
#include "fake_verbs.hpp"
#include "mad_message.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace irpverbs::testing {

class fake_umad {
public:
    struct port {
        unsigned state = IB_PORT_ACTIVE;
        unsigned lid = 5;
        unsigned sm_lid = 1;
        std::string link_layer = "InfiniBand";
        std::uint64_t prefix = IB_DEFAULT_GID_PREFIX;
        std::vector<ib_pkey_t> pkeys{0xFFFF, 0x8001};
    };
    struct ca {
        ib_guid_t guid = 0;
        std::vector<port> ports{1};
        int unlisted_port = 0; // sysfs does not list it
    };
    struct sent {
        std::vector<UCHAR> datagram;
        ib_mad_addr_t to;
        int timeout;
        int retries;
    };
    struct message {
        std::uint32_t status = 0;
        ib_mad_addr_t from{};
        std::vector<UCHAR> datagram = std::vector<UCHAR>(IB_MAD_SIZE);
        bool is_cut = false; // read(2) returns half of the header
    };

    fake_umad();
    ~fake_umad();
    fake_umad(const fake_umad&) = delete;
    fake_umad& operator=(const fake_umad&) = delete;

    /// The interface that the driver uses. There is one fake_umad at a time.
    static const hca_rdma::os_interface& as_os_interface();

    fake_descriptors descriptors;
    fake_verbs verbs{descriptors}; // has no device at first

    // The devices. A test changes them by `change` while the driver runs.
    std::map<std::string, ca> cas;
    std::map<std::string, std::string> files; // of sysfs
    template <class Change>
    void change(const Change& what) {
        const std::lock_guard guard(lock_);
        what(*this);
    }

    // Errnos of the failing calls, in the order of the calls; 0: success.
    int open_error = 0;
    int write_error = 0;
    int verbs_file_error = 0; // of the file that libibverbs opens
    bool has_umad = true;
    int port_without_umad = 0;
    int user_rmpp_error = 0; // of UMAD_USER_RMPP
    std::size_t header_bytes = sizeof(ib_user_mad_t);
    std::size_t max_in_flight = SIZE_MAX; // limit of requests on the wire; more wait in the kernel
    std::deque<int> register_errors;
    std::deque<int> send_errors;
    std::deque<int> receive_errors;

    std::vector<umad_reg_attr> registered;
    std::vector<sent> all_sent() {
        const std::lock_guard guard(lock_);
        return sent_;
    }
    /// Waits until so many datagrams have been sent.
    void await_sent(std::size_t count);
    std::size_t open_files() {
        const std::lock_guard guard(lock_);
        return files_.size() + sm_files_.size();
    }

    /// Delivers a datagram to the agent whose file is open; drops it when no file is.
    void deliver(const message& what);
    /// The kernel's wait for a response has timed out.
    void expire(const std::vector<UCHAR>& request);
    /// The kernel abandons the request without a report.
    void abandon(const std::vector<UCHAR>& request);
    /// Returns the header of a sent datagram with ETIMEDOUT.
    void restore(const std::vector<UCHAR>& datagram);
    /// Removes the device: its files fail, and sysfs no longer lists it.
    void remove(const std::string& name);

private:
    struct file {
        std::string ca;
        std::deque<message> inbox;
    };
    friend struct calls;

    file* file_at(int descriptor);
    void put_into_inbox(const message& what);
    void is_closed(std::uint32_t transaction);
    static int take(std::deque<int>& errors);

    guarded_by_spin_lock lock_; // guards all members
    std::map<int, file> files_;
    std::map<int, int> sm_files_; // open files and their ports
    std::vector<sent> sent_;
    std::set<std::uint32_t> awaited_; // transactions, also of requests that wait to be sent
    std::deque<sent> backlog_;
    KEVENT sending_;
};

} // namespace irpverbs::testing
