/// A subnet manager with its subnet administration: an IBMF client on the port of a channel
/// adapter. Datagrams are its only source about the subnet.
#pragma once

#include <ibmf/ib_scalars.h>
#include <irp/support/async_operation.hpp>

#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace irpverbs::subnet_manager {

struct manager_options {
    ib_guid_t hca = 0;
    std::uint8_t port = 1;
    // The manager of the highest priority (0 to 15) is the master; among equal priorities, the
    // manager of the lowest port GUID. The others are on standby.
    std::uint8_t priority = 0;
    std::uint64_t sm_key = 0; // a manager of another key is neither handed over to nor obeyed
    std::uint32_t standby_poll_ms = 10'000; // the interval at which a standby polls the master
    std::uint32_t standby_retries = 4; // polls without a response before the master counts as dead
    std::uint8_t lmc = 0;              // each port has 2^lmc LIDs
    std::uint64_t sa_key = 1;          // the key of trusted SA requests
    std::uint32_t smps_in_flight = 64; // 1 to 4096; all ports of a large switch at once
    std::uint32_t light_sweep_ms = 10'000; // the interval of light sweeps; 0: never
    std::string partitions = {};           // as OpenSM's partitions.conf; empty: one, full members
};

/// Returns the first error of a partitions.conf, as "name:3: what was expected"; empty when it is
/// valid.
NT_API std::string partitions_problem(const std::string& text, const std::string& name);

/// not_active: a master has disabled the manager.
enum class manager_state : std::uint8_t {
    idle,
    discovering,
    standby,
    master,
    not_active,
    stopping,
    stopped
};

struct manager_status {
    manager_state state = manager_state::idle;
    bool incomplete = false; // a node or port did not respond in the last sweep
    ib_lid_t lid = 0;        // the manager's own
    std::uint32_t nodes = 0;
    std::uint32_t switches = 0;
    std::uint32_t end_ports = 0;
    std::uint64_t sweeps = 0;            // completed
    std::uint64_t smps = 0;              // sent
    std::uint64_t missing_responses = 0; // SMPs without a response
};

class manager_core;

namespace detail {

enum class manager_verb : std::uint8_t { start, wait_until_up, stop };

struct manager_request {
    std::shared_ptr<manager_core> of;
    manager_verb verb;

    CCHAR stack_size() const { return 1; }
    NT_API void start(IRP* irp);
    void result(ULONG_PTR) && {}
};

} // namespace detail

/// Movable, not copyable. The destructor stops the manager, and does not wait for its end. Calls
/// complete with void(error_code), handlers as in irp::call. IRQL: <= DISPATCH_LEVEL, PASSIVE_LEVEL
/// to construct.
class NT_API manager {
public:
    /// Without a manager: calls complete with STATUS_INVALID_PARAMETER.
    manager() noexcept = default;
    explicit manager(manager_options options);
    ~manager();
    manager(manager&&) noexcept = default;
    manager& operator=(manager&& other) noexcept;

    /// Registers the manager on the port and begins to sweep.
    /// STATUS_OBJECT_NAME_NOT_FOUND: no such HCA. STATUS_INVALID_PARAMETER: no such port, or an
    /// option out of range. STATUS_SHARING_VIOLATION: a subnet manager is on that port.
    /// STATUS_FILE_CLOSED: the manager was stopped before. STATUS_INSUFFICIENT_RESOURCES.
    template <class Token = boost::asio::deferred_t>
    auto start(Token&& token = {}) {
        return submit(detail::manager_verb::start, std::forward<Token>(token));
    }

    /// Waits until a sweep has ended, and every node that responded has LIDs, routes and active
    /// ports; or until this manager is on standby and a master has responded. STATUS_CANCELLED:
    /// cancelled, or the manager was stopped. STATUS_FILE_FORCED_CLOSED: the HCA was removed.
    template <class Token = boost::asio::deferred_t>
    auto wait_until_up(Token&& token = {}) {
        return submit(detail::manager_verb::wait_until_up, std::forward<Token>(token));
    }

    /// Stops the manager; the subnet keeps its configuration. Earlier requests complete before this
    /// one.
    template <class Token = boost::asio::deferred_t>
    auto stop(Token&& token = {}) {
        return submit(detail::manager_verb::stop, std::forward<Token>(token));
    }

    manager_status status() const;

private:
    template <class Token>
    auto submit(detail::manager_verb verb, Token&& token) {
        return irp::detail::initiate(detail::manager_request{manager_, verb},
                                     std::forward<Token>(token));
    }

    std::shared_ptr<manager_core> manager_;
};

} // namespace irpverbs::subnet_manager
