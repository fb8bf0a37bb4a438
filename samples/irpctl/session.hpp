// A run of a subcommand: the machine, the HCAs, Ctrl-C, and the trace if one is wanted.
#pragma once

#include "failure.hpp"
#include "invocation.hpp"

#include <ci/async.hpp>
#include <dispatch/status.hpp>
#include <hca/hca.h>

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace samples {
class own_subnet;
}

namespace irpctl {

namespace asio = boost::asio;
namespace ci = irpverbs::ci;

struct device {
    ib_guid_t guid;
    std::string name;
    DEVICE_OBJECT* fdo;
};

class capture_file;

/// What a subcommand works with. Its coroutines all run on one thread.
class session {
public:
    /// Attaches the HCAs; a software fabric gets its subnet manager. Throws failure.
    explicit session(const invocation& chosen);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    bool json() const { return chosen_.json; }
    std::span<const device> devices() const { return devices_; }
    /// By name, or by node GUID; empty: the first one. Throws failure.
    const device& find(const std::string& wanted) const;

    /// What was called off by Ctrl-C, for the last words.
    std::size_t cancelled_waits = 0;
    std::size_t closed_adapters = 0;
    /// Of what is sent and received; null: not wanted.
    capture_file* capture = nullptr;
    /// Ctrl-C is how the command is meant to end.
    bool ends_by_interruption = false;

private:
    const invocation& chosen_;
    std::vector<device> devices_;
    std::unique_ptr<samples::own_subnet> subnet_;
};

/// False: interrupted before it was done. Throws failure.
bool run_session(const invocation& chosen);

/// For a verb that failed.
failure verb_failed(const device& where, const boost::system::system_error& why);

/// All at once. The first exception calls the others off, and is thrown when they have ended.
asio::awaitable<void> all_of(std::vector<asio::awaitable<void>> works);

/// How the work ends: an exception is a result, so that it is not lost where another side won.
asio::awaitable<std::exception_ptr> outcome_of(asio::awaitable<void> work);

/// Opens the device, has `use(ca)` run, and closes it, whatever came of that.
template <class Use>
asio::awaitable<void> with_adapter(session& here, const device& which, Use use) {
    ci::channel_adapter ca;
    std::exception_ptr failed;
    try {
        ca = co_await ci::open_ca(which.fdo, asio::use_awaitable);
        co_await use(ca);
    } catch (const boost::system::system_error& error) {
        failed = std::make_exception_ptr(verb_failed(which, error));
    } catch (...) {
        failed = std::current_exception();
    }
    co_await asio::this_coro::reset_cancellation_state(); // closing is not called off
    if (ca != nullptr) {
        co_await ca.async_close(asio::use_awaitable);
        ++here.closed_adapters;
    }
    if (failed) std::rethrow_exception(failed);
}

} // namespace irpctl
