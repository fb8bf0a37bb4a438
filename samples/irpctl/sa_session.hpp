// The subnet administrator (SA), asked from a port by a session of SA access.
#pragma once

#include "open_port.hpp"

#include <saa/record_stream.hpp>

#include <boost/asio/as_tuple.hpp>

namespace irpctl {

namespace saa = irpverbs::saa;

/// How long one question to the SA may take, its retries included.
using sa_patience = irpverbs::irp::ticks;

template <class Token>
auto in_time(sa_patience patience, Token token) {
    return irpverbs::irp::within(patience, asio::as_tuple(token));
}

/// Ctrl-C came. The run is over; nobody looks at this.
struct called_off {};

/// A port's session, and the words for what goes wrong with it.
class sa_session {
public:
    sa_session(session& here, const open_port& at, ibmf_saa_handle_t handle, sa_patience patience)
        : here_(here), at_(at), handle_(handle), patience_(patience) {}

    const open_port& at() const { return at_; }
    ibmf_saa_handle_t handle() const { return handle_; }
    ib_gid_t gid() const { return ci::gids(at_.attributes)[0]; }
    ib_gid_t gid_of(ib_guid_t port_guid) const { return {gid().gid_prefix, port_guid}; }

    /// All records that match; none is no failure. Throws failure, called_off.
    template <class Host>
    asio::awaitable<saa::record_list<Host>> all(const saa::query_template<Host>& wanted = {}) {
        auto [error, found] = co_await saa::retrieve(handle_, wanted, uint_t{0},
                                                     in_time(patience_, asio::use_awaitable));
        check(error, found.status);
        co_return std::move(found.records);
    }
    asio::awaitable<saa::any_found> all(saa::any_query wanted, uint_t flags = 0);

    /// The next records of a table as it comes; none: there are no more. Throws as all().
    asio::awaitable<saa::any_found> next(saa::any_record_stream& of);

    /// One path to a port; none: there is no way. Throws as all().
    asio::awaitable<saa::record_list<sa_path_record_t>> path_to(ib_gid_t gid);

private:
    void check(const boost::system::error_code& error, int status);

    session& here_;
    const open_port& at_;
    const ibmf_saa_handle_t handle_;
    const sa_patience patience_;
};

/// Opens the HCA and a session on its port, has `use(session)` run, and closes both, whatever came
/// of that. Throws failure.
asio::awaitable<void> with_sa(session& here, sa_wish wish,
                              std::function<asio::awaitable<void>(sa_session&)> use);

/// The same on a port that is open already, and with events.
asio::awaitable<void> with_sa(session& here, const open_port& at, sa_wish wish,
                              ibmf_saa_subnet_event_args_t events,
                              std::function<asio::awaitable<void>(sa_session&)> use);

} // namespace irpctl
