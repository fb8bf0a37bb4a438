// The main use of SA access: a path to each port of the subnet, with all queries in flight at once,
// and reports of changes. A cable is pulled, the subnet manager reports it, and the session
// invalidates its cached paths. tools/demo runs it, on a software fabric and, with --opensm, under
// OpenSM.
#include "local_subnet_manager.hpp"

#include <dispatch/machine.hpp>
#include <dispatch/status.hpp>
#include <dispatch/support/safe_text.hpp>
#include <hca/software.h>
#include <saa/async.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace ci = irpverbs::ci;
namespace dispatch = irpverbs::dispatch;
namespace hca = irpverbs::hca;
namespace irp = irpverbs::irp;
namespace saa = irpverbs::saa;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr irp::ticks time_limit = 10s;

struct options {
    std::string uri = "software:";
    std::string pull; // a command; empty: the software fabric pulls the cable
    std::string mend;
};

// Machine time in milliseconds.
double now() { return static_cast<double>(KeQueryInterruptTime()) / 1e4; }

void step(const char* what) {
    const bool bright = isatty(STDOUT_FILENO) != 0;
    std::printf("\n%s%s%s\n", bright ? "\033[1m" : "", what, bright ? "\033[0m" : "");
}

/// The local port.
struct place {
    ib_guid_t hca;
    ib_gid_t gid;
};

asio::awaitable<place> first_active_port() {
    for (const ib_guid_t guid : hca::guids()) {
        ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid), asio::use_awaitable);
        const ci::ca_attributes all = co_await ci::query_ca(ca, asio::use_awaitable);
        co_await ca.async_close(asio::use_awaitable);
        for (const IB_PORT_ATTR& each : ci::ports(*all))
            if (each.State == IB_PORT_ACTIVE && !ci::gids(each).empty())
                co_return place{guid, ci::gids(each)[0]};
    }
    throw std::runtime_error("no port is active");
}

/// A queue of subnet events, from the callback to the coroutine that waits for them.
class subnet_events {
public:
    explicit subnet_events(const asio::any_io_executor& executor) : channel_(executor, 1000) {}

    ibmf_saa_subnet_event_args_t arguments() { return {on_event, this}; }

    /// Returns the port that appeared or disappeared. Throws when there is no such event in time.
    asio::awaitable<ib_gid_t> next(ibmf_saa_subnet_event_t wanted) {
        asio::steady_timer late(co_await asio::this_coro::executor, time_limit);
        late.async_wait([this](error_code error) {
            if (!error) channel_.cancel();
        });
        for (;;) {
            const auto [error, what, gid] = co_await channel_.async_receive(as_result);
            if (error) throw std::runtime_error("no event came within ten seconds");
            if (what == wanted) co_return gid;
        }
    }

private:
    static void on_event(ibmf_saa_handle_t, ibmf_saa_subnet_event_t what,
                         ibmf_saa_event_details_t* details, void* context) {
        static_cast<subnet_events*>(context)->channel_.try_send(error_code(), what,
                                                                details->ie_gid);
    }

    asio::experimental::concurrent_channel<void(error_code, ibmf_saa_subnet_event_t, ib_gid_t)>
        channel_;
};

struct destination {
    std::string name; // safe for a terminal
    ib_guid_t node;
    ib_gid_t gid;
    std::uint8_t port; // of the cable to the port
    bool is_host;
};

// Returns a value in the format of "5 (4096)".
std::string value_in(const sa_path_record_t& path, std::string_view field) {
    std::string text;
    saa::append_value(*saa::find_field(saa::layout_of(&path), field), &path, text);
    return text;
}

// An SA returns either status when the port does not exist.
bool is_no_path(int status) { return status == IBMF_NO_RECORDS || status == IBMF_INVALID_GID; }

/// The results of one round of queries.
struct query_round {
    unsigned reached = 0;
    unsigned without = 0; // ports without a path
    double milliseconds = 0;
    std::uint64_t sent = 0; // queries sent to the SA
};

class path_survey {
public:
    path_survey(const options& chosen, place from, ibmf_saa_handle_t session, subnet_events& events)
        : chosen_(chosen), from_(from), session_(session), events_(events) {}

    asio::awaitable<bool> run() {
        co_await find_all();
        co_await await_reports();
        step("Paths to all of them, asked at once");
        const query_round first = co_await query_all(true);
        step("The same again: the session remembers");
        const query_round again = co_await query_all(false);
        step("A cable is pulled");
        const ib_gid_t gone = co_await change(false);
        const query_round without = co_await query_all(false);
        step("It is put back");
        const ib_gid_t back = co_await change(true);
        const query_round whole = co_await query_all(false);
        co_return first.without == 0 && again.sent == 0 && without.without == 1 &&
            gone == back&& whole.without == 0;
    }

private:
    asio::awaitable<void> find_all();
    asio::awaitable<void> await_reports();
    asio::awaitable<query_round> query_all(bool show);
    asio::awaitable<ib_gid_t> change(bool mend);
    void set_cable(bool up) const;
    std::string name_of(const ib_gid_t& gid) const;

    const options& chosen_;
    const place from_;
    const ibmf_saa_handle_t session_;
    subnet_events& events_;
    std::vector<destination> all_;
};

asio::awaitable<void> path_survey::find_all() {
    const saa::query_template<sa_node_record_t> any;
    const auto found =
        co_await saa::retrieve(session_, any, 0, irp::within(time_limit, asio::use_awaitable));
    for (const sa_node_record_t& each : found.records) {
        const auto* const text = reinterpret_cast<const char*>(each.NodeDescription.NodeString);
        const bool is_host = each.NodeInfo.NodeType == SM_NODE_TYPE_CA;
        all_.push_back({dispatch::printable({text, strnlen(text, 64)}),
                        each.NodeInfo.NodeGUID,
                        {from_.gid.gid_prefix, each.NodeInfo.PortGUID},
                        each.NodeInfo.LocalPortNum,
                        is_host});
    }
    std::ranges::sort(all_, {}, &destination::name);
    std::printf("%s leads to %zu ports, of hosts and switches.\n", chosen_.uri.c_str(),
                all_.size());
}

// The cache keeps no response to a query before the SA reports changes.
asio::awaitable<void> path_survey::await_reports() {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    ibmf_saa_path_cache_stats_t cache{};
    for (int i = 0; i < 1000 && cache.pc_subscribed == 0; ++i) {
        saa::query_path_cache(session_, cache);
        timer.expires_after(1ms);
        co_await timer.async_wait(as_result);
    }
}

asio::awaitable<query_round> path_survey::query_all(bool show) {
    ibmf_saa_stats_t before{};
    ibmf_saa_stats_t after{};
    saa::query_stats(session_, before);
    const auto query = [&](const destination& to) {
        return saa::paths(session_, {.sgid = from_.gid, .dgid = to.gid},
                          irp::within(time_limit, asio::deferred));
    };
    std::vector<decltype(query(all_[0]))> queries;
    for (const destination& each : all_)
        queries.push_back(query(each));
    const double begun = now();
    auto [order, errors, responses] =
        co_await asio::experimental::make_parallel_group(std::move(queries))
            .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    query_round result{.milliseconds = now() - begun};
    saa::query_stats(session_, after);
    result.sent = after.ss_queries - before.ss_queries;
    constexpr std::size_t shown = 8;
    for (std::size_t i = 0; i < responses.size(); ++i) {
        if (errors[i] && !is_no_path(responses[i].status))
            throw std::runtime_error(all_[i].name + ": " + errors[i].message());
        ++(responses[i].records.empty() ? result.without : result.reached);
        if (!show || i >= shown) continue;
        if (responses[i].records.empty()) {
            std::printf("   %-20s no path\n", all_[i].name.c_str());
            continue;
        }
        const sa_path_record_t& path = responses[i].records[0];
        std::printf("   %-20s LID %-5u SL %u  MTU %s  rate %s\n", all_[i].name.c_str(), path.DLID,
                    path.SL, value_in(path, "Mtu").c_str(), value_in(path, "Rate").c_str());
    }
    if (show && responses.size() > shown) std::printf("   ...\n");
    std::printf("   paths to %u, none to %u; %.2f ms; queries to the SA: %" PRIu64 "\n",
                result.reached, result.without, result.milliseconds, result.sent);
    co_return result;
}

std::string path_survey::name_of(const ib_gid_t& gid) const {
    const auto found = std::ranges::find(all_, gid.gid_guid,
                                         [](const destination& each) { return each.gid.gid_guid; });
    return found != all_.end() ? found->name : "a port unknown so far";
}

// Pulls or mends the cable of the last host that is not the local one, or runs the command.
void path_survey::set_cable(bool up) const {
    const std::string& command = up ? chosen_.mend : chosen_.pull;
    if (!command.empty()) {
        if (std::system(command.c_str()) != 0) throw std::runtime_error(command + " failed");
        return;
    }
    const auto last = std::find_if(all_.rbegin(), all_.rend(), [this](const destination& each) {
        return each.is_host && each.node != from_.hca;
    });
    if (last == all_.rend() ||
        !NT_SUCCESS(HcaSoftwareSetLink(last->node, last->port, up ? TRUE : FALSE)))
        throw std::runtime_error("no cable to pull; --pull and --mend name commands that do it");
}

asio::awaitable<ib_gid_t> path_survey::change(bool mend) {
    ibmf_saa_path_cache_stats_t before{};
    ibmf_saa_path_cache_stats_t after{};
    saa::query_path_cache(session_, before);
    const double begun = now();
    set_cable(mend);
    const ib_gid_t who =
        co_await events_.next(mend ? IBMF_SAA_EVENT_GID_AVAILABLE : IBMF_SAA_EVENT_GID_UNAVAILABLE);
    saa::query_path_cache(session_, after);
    std::printf("   after %.1f ms the subnet manager reports: %s is %s service\n", now() - begun,
                name_of(who).c_str(), mend ? "in" : "out of");
    const auto forgotten = [](const ibmf_saa_path_cache_stats_t& cache) {
        return cache.pc_gid_in_service + cache.pc_gid_out_of_service;
    };
    std::printf("   invalidated before the report: %" PRIu64 " of %" PRIu64 " cached responses\n",
                forgotten(after) - forgotten(before), before.pc_entries);
    co_return who;
}

asio::awaitable<bool> run(const options& chosen) {
    const place from = co_await first_active_port();
    subnet_events events(co_await asio::this_coro::executor);
    const ibmf_saa_subnet_event_args_t arguments = events.arguments();
    const saa::opened_session session = co_await saa::session_open(
        from.gid.gid_guid, 0, arguments, IBMF_SAA_SESSION_CACHED_PATHS, asio::use_awaitable);
    std::exception_ptr failed;
    bool good = false;
    try {
        path_survey job(chosen, from, session.handle, events);
        good = co_await job.run();
    } catch (...) {
        failed = std::current_exception();
    }
    co_await saa::session_close(session.handle, as_result);
    if (failed) std::rethrow_exception(failed);
    co_return good;
}

bool read_options(int count, char** words, options& chosen) {
    for (int i = 1; i < count; i += 2) {
        const std::string_view word = words[i];
        std::string* const place = word == "--hca"    ? &chosen.uri
                                   : word == "--pull" ? &chosen.pull
                                   : word == "--mend" ? &chosen.mend
                                                      : nullptr;
        if (place == nullptr || i + 1 == count) return false;
        *place = words[i + 1];
    }
    return chosen.pull.empty() == chosen.mend.empty();
}

} // namespace

int main(int count, char** words) {
    options chosen;
    if (!read_options(count, words, chosen)) {
        std::fprintf(stderr,
                     "usage: paths_everywhere [--hca URI] [--pull COMMAND --mend COMMAND]\n");
        return 2;
    }
    irpverbs::dispatch::asio_machine here;
    const irpverbs::dispatch::machine::scope inside(here);
    try {
        const hca::attachment attached(chosen.uri);
        const samples::local_subnet_manager subnet(chosen.uri);
        return asio::co_spawn(here.context(), run(chosen), asio::use_future).get() ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "paths_everywhere: %s: %s\n", chosen.uri.c_str(),
                     dispatch::printable(error.what()).c_str());
        return 1;
    }
}
