#include "session.hpp"

#include "capture_file.hpp"
#include "guid.hpp"
#include "trace_file.hpp"

#include <local_subnet_manager.hpp>

#include <dispatch/machine.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_future.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>

namespace irpctl {

namespace {

using namespace asio::experimental::awaitable_operators;
namespace dispatch = irpverbs::dispatch;

std::vector<device> find_devices() {
    ULONG count = 0;
    HcaEnumerate(nullptr, &count);
    std::vector<ib_guid_t> guids(count);
    HcaEnumerate(guids.data(), &count);
    std::vector<device> found;
    for (const ib_guid_t guid : guids) {
        char name[IB_NODE_DESCRIPTION_SIZE + 1] = "";
        HcaName(guid, name, sizeof name);
        found.push_back({guid, name[0] != '\0' ? name : guid_text(guid), HcaFromGuid(guid)});
    }
    return found;
}

// Returns the content of the file, or an empty text for an empty path. Throws failure.
std::string text_in(const std::string& path) {
    if (path.empty()) return {};
    std::ifstream file(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file)
        throw failure(
            fmt::format("{}: {}; --partitions names the file to read", path, std::strerror(errno)));
    return text;
}

// Returns the content of a valid partitions.conf. Throws failure.
std::string partitions_in(const std::string& path) {
    const std::string text = text_in(path);
    const std::string problem =
        path.empty() ? "" : irpverbs::subnet_manager::partitions_problem(text, path);
    if (!problem.empty())
        throw failure(problem + "; the format is that of OpenSM's partitions.conf");
    return text;
}

// Waits for the first signal. The second one kills the program.
asio::awaitable<void> interruption(asio::signal_set& signals) {
    co_await signals.async_wait(asio::use_awaitable);
    signals.clear();
}

bool say_interrupted(const session& here) {
    fmt::print(stderr, "irpctl: interrupted: {} waits cancelled, {} adapters closed\n",
               here.cancelled_waits, here.closed_adapters);
    return here.ends_by_interruption;
}

// Returns false when an interruption ends the command too early. The work has ended in either case.
asio::awaitable<bool> until_interrupted(const program_options& chosen, session& here) {
    asio::signal_set signals(co_await asio::this_coro::executor, SIGINT, SIGTERM);
    const auto ended = co_await (interruption(signals) || outcome_of(chosen.run(here)));
    if (ended.index() == 0) co_return say_interrupted(here);
    if (const std::exception_ptr failed = std::get<1>(ended)) std::rethrow_exception(failed);
    co_return true;
}

} // namespace

session::session(const program_options& chosen) : chosen_(chosen) {
    if (!samples::local_subnet_manager::is_wanted(chosen.hca) &&
        (!chosen.partitions.empty() || chosen.lmc != 0))
        throw wrong_usage(fmt::format("{}: only software: and software:FILE run a subnet manager",
                                      chosen.partitions.empty() ? "--lmc" : "--partitions"));
    std::string partitions = partitions_in(chosen.partitions);
    char message[512] = "";
    ULONG count = 0;
    const NTSTATUS status = HcaAttachEx(chosen.hca.c_str(), &count, message, sizeof message);
    const char* const reason = message[0] != '\0' ? message : NtStatusMeaning(status);
    if (status == STATUS_OBJECT_NAME_INVALID) throw wrong_usage(reason);
    if (!NT_SUCCESS(status))
        throw failure(fmt::format("{}; --hca names the HCAs, as in --hca software:", reason));
    devices_ = find_devices();
    try {
        subnet_ = std::make_unique<samples::local_subnet_manager>(
            chosen.hca, std::move(partitions), static_cast<std::uint8_t>(chosen.lmc));
    } catch (const boost::system::system_error& why) {
        throw failure(fmt::format("{}: the subnet manager failed: {}; {}?static runs without one",
                                  chosen.hca, why.code().message(), chosen.hca));
    }
}

session::~session() {
    subnet_.reset();
    HcaDetach(chosen_.hca.c_str());
}

const device& session::find(const std::string& wanted) const {
    const std::optional<ib_guid_t> guid = guid_from(wanted);
    for (const device& each : devices_)
        if (wanted.empty() || each.name == wanted || each.guid == guid) return each;
    throw failure(wanted.empty()
                      ? fmt::format("{} has no HCA", chosen_.hca)
                      : fmt::format("there is no HCA '{}'; irpctl devices lists them", wanted));
}

failure verb_failed(const device& where, const boost::system::system_error& why) {
    return failure(fmt::format("{}: {}; irpctl devices shows the states of its ports", where.name,
                               why.code().message()));
}

asio::awaitable<std::exception_ptr> outcome_of(asio::awaitable<void> work) {
    try {
        co_await std::move(work);
        co_return nullptr;
    } catch (...) {
        co_return std::current_exception();
    }
}

asio::awaitable<void> all_of(std::vector<asio::awaitable<void>> works) {
    const auto executor = co_await asio::this_coro::executor;
    using work = decltype(asio::co_spawn(executor, std::move(works[0]), asio::deferred));
    std::vector<work> group;
    for (asio::awaitable<void>& each : works)
        group.push_back(asio::co_spawn(executor, std::move(each), asio::deferred));
    if (group.empty()) co_return;
    const auto [order, failures] =
        co_await asio::experimental::make_parallel_group(std::move(group))
            .async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
    for (const std::size_t each : order)
        if (failures[each]) std::rethrow_exception(failures[each]);
}

// The trace covers the command, without the subnet manager's first sweep and its stop.
bool run_session(const program_options& chosen) {
    dispatch::asio_machine machine;
    const dispatch::machine::scope inside(machine);
    std::optional<capture_file> capture;
    if (!chosen.pcap_file.empty()) capture.emplace(chosen.pcap_file);
    std::optional<session> here(std::in_place, chosen);
    std::optional<trace_file> trace;
    if (!chosen.trace_file.empty()) trace.emplace(chosen.trace_file, machine);
    if (trace) trace->name(here->devices());
    if (capture) here->capture = &*capture;
    auto result =
        asio::co_spawn(machine.context(), until_interrupted(chosen, *here), asio::use_future);
    result.wait();
    if (capture) capture->finish();
    if (trace) trace->write();
    here.reset();
    return result.get();
}

} // namespace irpctl
