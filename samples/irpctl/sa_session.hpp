// A session of SA access on a port.
#pragma once

#include "open_port.hpp"

#include <saa/record_stream.hpp>

#include <boost/asio/as_tuple.hpp>

namespace irpctl {

namespace saa = irpverbs::saa;

/// The time limit of one query, its retries included.
using sa_time_limit = irpverbs::irp::ticks;

template <class Token>
auto in_time(sa_time_limit time_limit, Token token) {
    return irpverbs::irp::within(time_limit, asio::as_tuple(token));
}

/// Thrown after Ctrl-C. The command has ended, so no code handles it.
struct query_cancelled {};

/// A port's session, and the messages of its failures.
class sa_session {
public:
    sa_session(session& here, const open_port& at, ibmf_saa_handle_t handle,
               sa_time_limit time_limit)
        : here_(here), at_(at), handle_(handle), time_limit_(time_limit) {}

    const open_port& at() const { return at_; }
    ibmf_saa_handle_t handle() const { return handle_; }
    ib_gid_t gid() const { return ci::gids(at_.attributes)[0]; }
    ib_gid_t gid_of(ib_guid_t port_guid) const { return {gid().gid_prefix, port_guid}; }

    /// Returns all records that match; an empty list is no failure. Throws failure,
    /// query_cancelled.
    template <class Host>
    asio::awaitable<saa::record_list<Host>> all(const saa::query_template<Host>& wanted = {}) {
        auto [error, found] = co_await saa::retrieve(handle_, wanted, uint_t{0},
                                                     in_time(time_limit_, asio::use_awaitable));
        check(error, found.status);
        co_return std::move(found.records);
    }
    asio::awaitable<saa::any_found> all(saa::any_query wanted, uint_t flags = 0);

    /// Returns the next records of a stream; none at the end of the table. Throws as all().
    asio::awaitable<saa::any_found> next(saa::any_record_stream& of);

    /// Returns one path to a port; none when there is no path. Throws as all().
    asio::awaitable<saa::record_list<sa_path_record_t>> path_to(ib_gid_t gid);

private:
    void check(const boost::system::error_code& error, int status);

    session& here_;
    const open_port& at_;
    const ibmf_saa_handle_t handle_;
    const sa_time_limit time_limit_;
};

/// Opens the HCA and a session on its port, runs `use(session)`, and closes both after success and
/// failure. Throws failure.
asio::awaitable<void> with_sa(session& here, sa_parameters parameters,
                              std::function<asio::awaitable<void>(sa_session&)> use);

/// Opens a session with events on a port that is already open, and runs `use(session)`. Throws
/// failure.
asio::awaitable<void> with_sa(session& here, const open_port& at, sa_parameters parameters,
                              ibmf_saa_subnet_event_args_t events,
                              std::function<asio::awaitable<void>(sa_session&)> use);

} // namespace irpctl
