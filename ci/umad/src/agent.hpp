// An agent that a program has registered on an open port.
#pragma once

#include "exchange.hpp"

#include <ci/ci.h>
#include <dispatch/rundown.h>
#include <drop_in/open_hca.hpp>

#include <atomic>
#include <optional>

namespace irpverbs::umad {

class port_file;

/// The parameters of a registration, checked.
struct registration {
    IB_MAD_AGENT_ATTR attr;
    bool segments; // the library does RMPP
};

/// Returns 0 and the registration, or the error number of the kernel's ioctl.
int parse_registration(const umad_reg_attr& wanted, registration& parsed);

class agent final : public exchange_port {
public:
    agent(port_file& file, std::uint32_t id, bool segments);

    /// Registers with the port. Returns 0 or an error number. IRQL: PASSIVE_LEVEL.
    int start(const drop_in::open_hca& hca, const registration& wanted);
    /// Ends sends under way and deregisters. The agent is no longer in its file. IRQL:
    /// PASSIVE_LEVEL.
    void stop(const drop_in::open_hca& hca);

    /// Sends the datagram. Returns 0, or an error number when the port refused it. IRQL: <=
    /// DISPATCH_LEVEL.
    int send(const drop_in::open_hca& hca, const ib_mad_addr_t& to, const mad& datagram,
             std::uint32_t timeout_ms);

    /// For a send that is to begin later: false: the agent is being stopped.
    bool hold() { return ExAcquireRundownProtection(&sends_) != FALSE; }
    void release() { ExReleaseRundownProtection(&sends_); }

    // Under the file's lock.
    std::optional<exchange> traffic; // none after the agent left its file

private:
    void emit(const ib_mad_addr_t& to, const mad& datagram, std::uint32_t timeout_ms) override;
    void deliver(std::uint32_t status, const ib_mad_addr_t& peer,
                 std::span<const std::uint8_t> content) override;
    deadlines& timers() override;
    std::int64_t now_ms() override;
    static void received(IB_MAD_AGENT*, void* context, const IB_MAD_RECEIVED* what);

    port_file& file_;
    const std::uint32_t id_;
    EX_RUNDOWN_REF sends_;
    std::atomic<IB_MAD_AGENT*> handle_{nullptr}; // null until start() has returned
};

} // namespace irpverbs::umad
