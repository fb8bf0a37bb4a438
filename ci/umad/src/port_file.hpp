// A port that a program has opened: its agents, and the messages that it has not read.
#pragma once

#include "agent.hpp"
#include "inbox.hpp"

#include <ci/support/seq_socket.hpp>
#include <dispatch/ke.h>

#include <array>
#include <memory>
#include <vector>

namespace irpverbs::umad {

class port_file {
public:
    /// Opens the port of the device. Throws std::system_error and dispatch::status_error. IRQL of
    /// all functions: PASSIVE_LEVEL, unless they say otherwise.
    port_file(const drop_in::device& which, std::uint8_t port);
    /// Deregisters all agents, and closes the descriptor.
    ~port_file();
    port_file(const port_file&) = delete;
    port_file& operator=(const port_file&) = delete;

    int descriptor() const { return descriptor_.get(); }

    // Each returns 0, or the error number of the system call.
    int add_agent(const registration& wanted, std::uint32_t& id);
    int remove_agent(std::uint32_t id);
    /// `message`: a header and its datagram or message.
    int write(std::span<const std::uint8_t> message);
    /// Like inbox::remove.
    int read(std::size_t size, inbox::message& taken);
    /// Whether a read would not wait.
    bool is_readable();

    // For the agents. IRQL: <= DISPATCH_LEVEL; the first three under the lock.
    void emit(agent& from, const ib_mad_addr_t& to, const mad& datagram, std::uint32_t timeout_ms);
    void deliver(std::uint32_t agent, std::uint32_t status, const ib_mad_addr_t& peer,
                 std::span<const std::uint8_t> content);
    deadlines& timers() { return timers_; }
    void received(agent& by, const ib_mad_addr_t& from, const mad& datagram);
    static std::int64_t now_ms();

private:
    struct outgoing {
        agent* from; // held
        ib_mad_addr_t to;
        mad datagram;
        std::uint32_t timeout_ms;
    };

    /// Runs `body` under the lock, then sends what it emitted. Returns the first error of a send.
    template <class Body>
    int exclusively(Body body);
    int send_all(std::vector<outgoing> all);
    void arm_timer();
    std::shared_ptr<agent> take(std::uint32_t id);
    static void timer_expired(KDPC*, void* self, void*, void*);
    static void failed(IB_CA*, void* self);
    static const IB_CA_DISPATCH up_calls;

    const std::uint8_t port_;
    const ci::detail::unique_descriptor descriptor_;
    KSPIN_LOCK lock_ = 0; // guards all below
    inbox inbox_;
    std::array<std::shared_ptr<agent>, UMAD_CA_MAX_AGENTS> agents_;
    std::vector<outgoing> outgoing_;
    deadlines timers_;
    std::int64_t armed_for_ = deadlines::never;
    KTIMER timer_;
    KDPC dpc_;
    drop_in::open_hca hca_; // its up-call uses the others
};

} // namespace irpverbs::umad
