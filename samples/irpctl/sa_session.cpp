#include "sa_session.hpp"

#include "as_result.hpp"

#include <dispatch/status.hpp>

#include <fmt/format.h>

namespace irpctl {

namespace {

failure not_opened(const open_port& at, int status, const boost::system::error_code& why) {
    const std::string where = fmt::format("{} port {}", at.which.name, at.attributes.PortNumber);
    switch (status) {
    case IBMF_BAD_PORT_STATE:
        return failure(where + " is not active and reaches no SA; irpctl devices lists "
                               "the port states");
    case IBMF_NO_RESOURCES:
        return failure(where + ": another program is the SA client there; irpctl devices lists "
                               "other ports");
    default:
        return failure(where + ": " + why.message());
    }
}

} // namespace

void sa_session::check(const boost::system::error_code& error, int status) {
    const bool none = status == IBMF_NO_RECORDS || status == IBMF_INVALID_GID;
    if (!error || none) return;
    switch (irpverbs::dispatch::status_of(error)) {
    case STATUS_CANCELLED:
        ++here_.cancelled_waits;
        throw query_cancelled();
    case STATUS_IO_TIMEOUT:
        throw failure(fmt::format("the SA at LID {} does not respond; --timeout allows more time",
                                  at_.attributes.SmLid));
    default:
        break;
    }
    switch (status) {
    case IBMF_REQ_INVALID:
        throw failure("the SA refuses the request; irpctl sa RECORD --fields lists the fields, "
                      "and --key is for records that only subnet managers may read");
    case IBMF_INSUFF_COMPS:
        throw failure("the SA requires more fields; --field NAME=VALUE sets one");
    case IBMF_UNSUPP_METHOD:
    case IBMF_UNSUPP_METHOD_ATTR:
        throw failure("this SA does not serve that record type; irpctl sa lists others");
    default:
        throw failure("the SA: " + error.message());
    }
}

asio::awaitable<saa::any_found> sa_session::all(saa::any_query wanted, uint_t flags) {
    auto [error, found] = co_await saa::retrieve(handle_, std::move(wanted), flags,
                                                 in_time(time_limit_, asio::use_awaitable));
    check(error, found.status);
    co_return std::move(found);
}

asio::awaitable<saa::any_found> sa_session::next(saa::any_record_stream& of) {
    auto [error, found] = co_await of.next(in_time(time_limit_, asio::use_awaitable));
    check(error, found.status);
    co_return std::move(found);
}

asio::awaitable<saa::record_list<sa_path_record_t>> sa_session::path_to(ib_gid_t to) {
    auto [error, found] = co_await saa::paths(handle_, {.sgid = gid(), .dgid = to},
                                              in_time(time_limit_, asio::use_awaitable));
    check(error, found.status);
    co_return std::move(found.records);
}

asio::awaitable<void> with_sa(session& here, const open_port& at, sa_parameters parameters,
                              ibmf_saa_subnet_event_args_t events,
                              std::function<asio::awaitable<void>(sa_session&)> use) {
    expect_lids(at);
    if (ci::gids(at.attributes).empty())
        throw failure(fmt::format("{} port {} has no GID; irpctl port lists the GIDs",
                                  at.which.name, at.attributes.PortNumber));
    const auto [error, opened] = co_await saa::session_open(at.attributes.PortGuid, parameters.key,
                                                            events, uint_t{0}, as_result);
    if (error) throw not_opened(at, opened.status, error);
    std::exception_ptr failed;
    try {
        sa_session made(here, at, opened.handle,
                        std::chrono::milliseconds(parameters.milliseconds));
        co_await use(made);
    } catch (...) {
        failed = std::current_exception();
    }
    co_await asio::this_coro::reset_cancellation_state(); // Ctrl-C does not cancel the close
    co_await saa::session_close(opened.handle, as_result);
    if (failed) std::rethrow_exception(failed);
}

asio::awaitable<void> with_sa(session& here, sa_parameters parameters,
                              std::function<asio::awaitable<void>(sa_session&)> use) {
    co_await with_port(here, parameters.from,
                       [&](const open_port& at) { return with_sa(here, at, parameters, {}, use); });
}

} // namespace irpctl
