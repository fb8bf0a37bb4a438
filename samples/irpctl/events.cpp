// irpctl events: one line per event, printed at once.
#include "as_result.hpp"
#include "commands.hpp"
#include "guid.hpp"
#include "output.hpp"
#include "session.hpp"
#include "subnet_events.hpp"

#include <ci/names.hpp>
#include <dispatch/machine.hpp>
#include <hca/software.h>

#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <list>
#include <set>

namespace irpctl {

namespace irp = irpverbs::irp;
namespace json = boost::json;

namespace {

constexpr double ticks_per_second = 1e7;

/// Thrown at the deadline, or after the last requested event.
struct enough {};

const std::vector<column> columns = {{"TIME", 12}, {"DEVICE", 16}, {"PORT", 4}, {"EVENT"}};

/// Waits for events of all devices at once.
class watch {
public:
    watch(session& here, const event_options& options) : here_(here), options_(options) {}

    asio::awaitable<void> run();

private:
    static LONGLONG now() {
        return static_cast<LONGLONG>(irpverbs::dispatch::machine::current().interrupt_time());
    }
    irp::ticks time_left() const { return irp::ticks(std::max(end_ - now(), LONGLONG{0})); }

    asio::awaitable<void> watch_device(const device& which);
    asio::awaitable<void> watch_port(const device& which, UCHAR port,
                                     ci::event_stream<IB_ASYNC_EVENT> events);
    asio::awaitable<void> watch_fatal(const device& which, ci::event_stream<void> events);
    asio::awaitable<void> watch_subnet_of(const open_port& at);
    asio::awaitable<void> end_in_time();
    bool is_new_subnet(const IB_PORT_ATTR& port);
    asio::awaitable<void> provoke_again();
    void arrived();
    void provoke();

    void stop(const boost::system::error_code& why);
    void report(const device& which, UCHAR port, std::string_view event,
                const std::string& about = "");

    session& here_;
    const event_options options_;
    const LONGLONG end_ = now() + static_cast<LONGLONG>(options_.seconds * ticks_per_second);
    std::size_t to_start_ = here_.devices().size(); // waits still to be started
    std::uint64_t seen_ = 0;
    std::set<ib_sn_prefix_t> subnets_; // the subnets whose events are reported
    bool pulled_ = false;
};

asio::awaitable<void> watch::run() {
    here_.ends_by_interruption = options_.count == 0;
    std::vector<asio::awaitable<void>> works;
    for (const device& each : here_.devices())
        works.push_back(watch_device(each));
    if (options_.provoke) works.push_back(provoke_again());
    if (options_.subnet) works.push_back(end_in_time());
    try {
        co_await all_of(std::move(works));
    } catch (const enough&) {
    }
    if (seen_ < options_.count)
        throw failure(fmt::format("only {} of {} events occurred; --for allows more time", seen_,
                                  options_.count));
}

asio::awaitable<void> watch::watch_device(const device& which) {
    co_await with_adapter(
        here_, which, [&](const ci::channel_adapter& ca) -> asio::awaitable<void> {
            const ci::ca_attributes all = co_await ci::query_ca(ca, asio::use_awaitable);
            std::vector<asio::awaitable<void>> waits;
            waits.push_back(watch_fatal(which, ca.fatal_events()));
            for (const IB_PORT_ATTR& each : ci::ports(*all))
                waits.push_back(
                    watch_port(which, each.PortNumber, ca.port_events(each.PortNumber)));
            std::list<open_port> asked;
            for (const IB_PORT_ATTR& each : ci::ports(*all))
                if (options_.subnet && is_new_subnet(each))
                    waits.push_back(
                        watch_subnet_of(asked.emplace_back(open_port{which, ca, each})));
            arrived();
            co_await all_of(std::move(waits));
        });
}

// All HCAs are open: no later event is lost.
void watch::arrived() {
    if (--to_start_ != 0) return;
    if (!here_.json()) print_row(columns, {"TIME", "DEVICE", "PORT", "EVENT"});
    if (options_.provoke) provoke();
}

// The SA reports a port out of service only if the link is still down when the subnet manager
// sweeps. With --subnet a cable therefore stays pulled for a whole interval, and it is not the
// cable of the subnet manager's port.
void watch::provoke() {
    if (!options_.subnet) {
        HcaSoftwareFlapLink(here_.find("").guid, 1);
        return;
    }
    HcaSoftwareSetLink(here_.devices().back().guid, 1, pulled_);
    pulled_ = !pulled_;
}

bool watch::is_new_subnet(const IB_PORT_ATTR& port) {
    const std::span<const ib_gid_t> gids = ci::gids(port);
    return port.State == IB_PORT_ACTIVE && !gids.empty() &&
           subnets_.insert(gids[0].gid_prefix).second;
}

asio::awaitable<void> watch::watch_subnet_of(const open_port& at) {
    ++to_start_;
    return watch_subnet(
        here_, at, [this] { arrived(); },
        [this, &at](const subnet_event& event) {
            report(at.which, at.attributes.PortNumber, event.what, event.about);
        });
}

// The waits for port events have a deadline each; the waits for subnet events have none.
asio::awaitable<void> watch::end_in_time() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    timer.expires_after(std::chrono::nanoseconds(time_left()));
    const auto [cancelled] = co_await timer.async_wait(as_result);
    if (!cancelled) throw enough();
}

asio::awaitable<void> watch::provoke_again() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        timer.expires_after(std::chrono::seconds(1));
        const auto [cancelled] = co_await timer.async_wait(as_result);
        if (cancelled) co_return;
        provoke();
    }
}

asio::awaitable<void> watch::watch_port(const device& which, UCHAR port,
                                        ci::event_stream<IB_ASYNC_EVENT> events) {
    for (;;) {
        const auto [error, event] = co_await events.next(irp::within(time_left(), as_result));
        if (error) co_return stop(error);
        report(which, port, ci::name_of(event));
    }
}

asio::awaitable<void> watch::watch_fatal(const device& which, ci::event_stream<void> events) {
    const auto [error] = co_await events.next(irp::within(time_left(), as_result));
    if (error) co_return stop(error);
    report(which, 0, ci::name_of(IB_AE_LOCAL_FATAL));
}

// A wait ended without an event. After a fatal event, no further event can occur.
void watch::stop(const boost::system::error_code& why) {
    switch (irpverbs::dispatch::status_of(why)) {
    case STATUS_IO_TIMEOUT:
        throw enough();
    case STATUS_CANCELLED:
        ++here_.cancelled_waits;
        return;
    case STATUS_FILE_FORCED_CLOSED:
        return;
    default:
        throw boost::system::system_error(why);
    }
}

void watch::report(const device& which, UCHAR port, std::string_view event,
                   const std::string& about) {
    const double time = static_cast<double>(now()) / ticks_per_second;
    if (here_.json()) {
        json::object output{{"time", time},
                            {"device", which.name},
                            {"node_guid", guid_text(which.guid)},
                            {"port", port},
                            {"event", event}};
        if (!about.empty()) output["about"] = about;
        print_json(output);
    } else {
        print_row(columns,
                  {fmt::format("{:.6f}", time), which.name, port != 0 ? std::to_string(port) : "-",
                   fmt::format("{}{}{}", event, about.empty() ? "" : " ", about)});
    }
    if (++seen_ == options_.count) throw enough();
}

} // namespace

asio::awaitable<void> show_events(session& here, event_options options) {
    watch events(here, options);
    co_await events.run();
}

} // namespace irpctl
