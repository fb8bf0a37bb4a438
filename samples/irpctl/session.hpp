// A run of a subcommand: the machine, the HCAs, the handling of Ctrl-C, and the trace.
#pragma once

#include "failure.hpp"
#include "program_options.hpp"

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
class local_subnet_manager;
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

/// The environment of a subcommand, whose coroutines all run on one thread.
class session {
public:
    /// Attaches the HCAs, and starts the subnet manager of a software fabric. Throws failure.
    explicit session(const program_options& chosen);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    bool json() const { return chosen_.json; }
    std::span<const device> devices() const { return devices_; }
    /// Finds an HCA by name or node GUID; an empty text is the first one. Throws failure.
    const device& find(const std::string& wanted) const;

    /// The operations that Ctrl-C cancelled, for the final message.
    std::size_t cancelled_waits = 0;
    std::size_t closed_adapters = 0;
    /// The capture of sent and received datagrams; null without --pcap.
    capture_file* capture = nullptr;
    /// True when Ctrl-C is the regular end of the command.
    bool ends_by_interruption = false;

private:
    const program_options& chosen_;
    std::vector<device> devices_;
    std::unique_ptr<samples::local_subnet_manager> subnet_;
};

/// Returns false after an interruption before the command's end. Throws failure.
bool run_session(const program_options& chosen);

/// Returns the failure for an error of a verb.
failure verb_failed(const device& where, const boost::system::system_error& why);

/// Runs all works at once. The first exception cancels the others, and is thrown after their end.
asio::awaitable<void> all_of(std::vector<asio::awaitable<void>> works);

/// Returns the exception of the work as a result, so that it is not lost when the other side of an
/// operator || ends first.
asio::awaitable<std::exception_ptr> outcome_of(asio::awaitable<void> work);

/// Opens the device, runs `use(ca)`, and closes the device after success and failure.
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
    co_await asio::this_coro::reset_cancellation_state(); // Ctrl-C does not cancel the close
    if (ca != nullptr) {
        co_await ca.async_close(asio::use_awaitable);
        ++here.closed_adapters;
    }
    if (failed) std::rethrow_exception(failed);
}

} // namespace irpctl
