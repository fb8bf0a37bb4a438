// The work of the kernel's MAD layer and umad devices, for one port of a simulated node.
#pragma once

#include "ibsim_link.hpp"
#include "lab_options.hpp"
#include "sysfs.hpp"
#include "timers.hpp"

#include <rmpp_in.hpp>
#include <rmpp_out.hpp>

#include <bitset>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <rdma/ib_user_mad.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <unordered_map>

namespace shim {

constexpr std::size_t header_size = sizeof(ib_user_mad_hdr);

struct message {
    ib_user_mad_hdr header{};
    std::vector<std::uint8_t> content;
};

struct agent;

/// An open umad (or issm) device.
struct user_file {
    static constexpr std::size_t max_agents = 32;
    int descriptor = -1;
    bool issm = false;
    std::deque<message> inbox;
    std::array<std::unique_ptr<agent>, max_agents> agents;
};

struct agent {
    user_file& file;
    std::uint32_t id;     // unique in its file
    std::uint16_t number; // unique on its port; part of the transaction ids of its requests
    std::uint32_t queue_pair;
    std::uint8_t mad_class;
    std::uint8_t version;
    bool kernel_rmpp;
    std::array<std::uint8_t, 3> oui;
    std::bitset<128> methods;
};

/// Wakes the programs that poll the eventfd.
void raise_event(int descriptor);

class kernel {
public:
    static kernel& get();
    ~kernel();

    // Each of these returns, and sets errno, as the system call does.
    int open_device(bool issm, int flags);
    bool owns(int descriptor);
    void close_device(int descriptor);
    ssize_t read_message(int descriptor, void* into, std::size_t size);
    ssize_t write_message(int descriptor, const void* from, std::size_t size);
    int register_agent(int descriptor, ib_user_mad_reg_req& wanted);
    int register_agent2(int descriptor, ib_user_mad_reg_req2& wanted);
    int unregister_agent(int descriptor, std::uint32_t id);

    /// The path itself, or the shim's copy of that file of sysfs.
    std::string redirected(const std::string& path);

private:
    // Identifies a request: agent, class, low half of the transaction id.
    using request_key = std::tuple<std::uint16_t, std::uint8_t, std::uint32_t>;
    struct request {
        agent* owner;
        ib_user_mad_hdr header;
        mad content;
        std::uint32_t left;
        timers::ticket timer;
    };
    // Agent, peer's LID, transaction id, class.
    using out_key = std::tuple<std::uint16_t, std::uint16_t, std::uint64_t, std::uint8_t>;
    struct sending {
        agent* owner;
        ib_user_mad_hdr header;
        std::unique_ptr<rmpp_out> transfer;
        timers::ticket timer;
    };
    // Agent, peer's LID, transaction id, class, method.
    using in_key =
        std::tuple<std::uint16_t, std::uint16_t, std::uint64_t, std::uint8_t, std::uint8_t>;
    struct receiving {
        std::unique_ptr<rmpp_in> transfer;
        timers::ticket timer;
        mad first;
    };

    kernel();
    void serve();
    void wake() const;
    user_file* file_of(int descriptor);
    agent* agent_of_file(user_file& file, std::uint32_t id);
    int add_agent(user_file& file, agent made, std::uint32_t& id);
    void drop_agent(user_file& file, std::uint32_t id);
    bool claimed(const agent& wanted) const;

    void deliver(agent& to, const packet* from, std::uint32_t status,
                 std::span<const std::uint8_t> content);
    void keep(const message& what) const;
    void emit(const ib_user_mad_hdr& to, std::uint32_t queue_pair, const mad& content);
    ssize_t send(user_file& file, const ib_user_mad_hdr& header,
                 std::span<const std::uint8_t> content);
    ssize_t send_segmented(agent& from, const ib_user_mad_hdr& header,
                           std::span<const std::uint8_t> content);
    void await_response(agent& from, const ib_user_mad_hdr& header,
                        std::span<const std::uint8_t> content, std::uint32_t retries);
    void request_expired(const request_key& key);
    void forget(const request_key& key);
    void rearm(const out_key& key);
    void sending_expired(const out_key& key);
    void settle(const out_key& key, rmpp_out::state state);

    void arrived_with_faults(const packet& what);
    void arrived(const packet& what);
    void bounced(const std::uint8_t* m);
    agent* addressee(const std::uint8_t* m);
    void segment_arrived(agent& to, const packet& what);
    void control_arrived(agent& to, const packet& what);

    std::mutex control_lock_; // the control socket and sysfs; never taken inside lock_
    ibsim_link link_;
    sysfs sysfs_;
    lab_options options_;

    std::mutex lock_; // guards all below
    std::unordered_map<int, std::unique_ptr<user_file>> files_;
    std::unordered_map<std::uint16_t, agent*> agents_;
    // Depends on the process, so that late responses to one program do not match requests of the
    // next.
    std::uint16_t next_agent_ = static_cast<std::uint16_t>(getpid() * 16);
    std::map<request_key, request> requests_;
    std::map<out_key, sending> sendings_;
    std::map<in_key, receiving> receivings_;
    timers timers_;
    std::minstd_rand chance_;
    std::optional<packet> held_back_;
    bool stopping_ = false;
    std::int64_t sleeps_until_ = 0; // when the service's poll times out; 0: it is awake
    int wake_ = -1;
    std::thread service_;
};

} // namespace shim
