// The subcommands, one file each.
#pragma once

#include "mad_request.hpp"

#include <saa/queries.hpp>
#include <saa/records.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <string>

namespace irpctl {

namespace asio = boost::asio;
class session;

struct port_choice {
    std::string device; // name or node GUID; empty: the first
    std::uint8_t number = 1;
};

inline constexpr double no_time_limit =
    100.0 * 365 * 24 * 3600; // in seconds: in effect without end

struct event_options {
    std::uint64_t count = 0; // 0: unlimited
    double seconds = no_time_limit;
    bool provoke = false;
    bool subnet = false; // also report events of the subnet
};

/// The port of an SA session, and the parameters of its queries.
struct sa_parameters {
    port_choice from;
    ib_smkey_t key = 0;
    std::uint32_t milliseconds = 30'000; // for one query, its retries included
};

struct sa_options {
    sa_parameters parameters;
    irpverbs::saa::any_query query;
};

enum class fabric_form : std::uint8_t { text, dot, svg };

struct fabric_options {
    sa_parameters parameters;
    fabric_form form = fabric_form::text;
};

/// The time to wait for a response, and the number of retries.
struct timeouts {
    std::uint32_t milliseconds = 1000;
    std::uint32_t retries = 3;
};

struct mad_options {
    port_choice from;
    mad_request request;
    timeouts times;
};

struct ping_options {
    port_choice from;
    std::uint16_t lid = 0;   // 0: the port's own
    std::uint64_t count = 0; // 0: unlimited
    double interval = 1;     // seconds
    std::uint32_t milliseconds = 1000;
    bool vendor = false;
};

/// An operation between two queue pairs.
struct qp_options {
    port_choice from;
    std::string to;             // name or node GUID; empty: the second HCA, or the only one
    std::string service = "rc"; // uc, ud
    std::string operation = "send";
    std::uint32_t size = 64; // bytes of a message
    std::uint64_t count = 1000;
    std::uint32_t depth = 16; // outstanding work requests, when bandwidth is measured
    bool bandwidth = false;
};

/// A connection by service id.
struct cm_options {
    port_choice from;
    std::string to; // name or node GUID: that host listens, too; a GID or address: one elsewhere
    std::uint64_t service = 0x1000000000000C3D;
    std::string text = "hello";          // of the request, and of the message
    std::uint64_t count = 0;             // connections of a listener; 0: unlimited
    std::uint32_t milliseconds = 30'000; // for the request
};

struct stats_options {
    port_choice from;
    std::uint16_t lid = 0; // 0: the port's own
    std::uint32_t count = 10;
    timeouts times;
};

asio::awaitable<void> show_devices(session& here, bool with_limits);
asio::awaitable<void> show_port(session& here, port_choice which);
asio::awaitable<void> show_events(session& here, event_options options);
asio::awaitable<void> show_response(session& here, mad_options options);
asio::awaitable<void> show_pings(session& here, ping_options options);
/// Return why the options do not fit together; empty when they do.
std::string problem_of(const qp_options& options);
asio::awaitable<void> show_transfers(session& here, qp_options options);
std::string problem_of(const cm_options& options);
asio::awaitable<void> show_connection(session& here, cm_options options);
asio::awaitable<void> show_listener(session& here, cm_options options);
asio::awaitable<void> show_statistics(session& here, stats_options options);
asio::awaitable<void> list_records(session& here);
asio::awaitable<void> list_fields(session& here, const irpverbs::saa::record_type* record);
asio::awaitable<void> show_records(session& here, sa_options options);
asio::awaitable<void> show_paths(session& here, sa_parameters parameters);
asio::awaitable<void> show_fabric(session& here, fabric_options options);

} // namespace irpctl
