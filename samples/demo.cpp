// A tour of the library on an HCA: attributes, a completion queue created at DISPATCH_LEVEL, an
// event reported in two ways, waits that end early, and a trace of them all. tools/demo runs it.
#include <ci/async.hpp>
#include <ci/names.hpp>
#include <dispatch/machine.hpp>
#include <dispatch/status.hpp>
#include <dispatch/support/safe_text.hpp>
#include <hca/hca.hpp>
#include <hca/software.h>
#include <irp/trace.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace ci = irpverbs::ci;
namespace hca = irpverbs::hca;
namespace irp = irpverbs::irp;
using boost::system::error_code;
using irpverbs::dispatch::machine;
using irpverbs::dispatch::printable;
using namespace std::chrono_literals;
using namespace std::string_view_literals;

const char* name_of(NTSTATUS status) {
    const char* name = NtStatusName(status);
    return name != nullptr ? name : "an unknown status";
}

template <class Value>
std::string text(Value value) {
    return std::string(ci::name_of(value));
}

void chapter(const char* title, const char* verbs) {
    static int number = 0;
    const bool bright = isatty(STDOUT_FILENO) != 0;
    std::printf("\n%s%d. %s%s\n   %s\n\n", bright ? "\033[1m" : "", ++number, title,
                bright ? "\033[0m" : "", verbs);
}

// Machine time in microseconds.
double now() { return static_cast<double>(KeQueryInterruptTime()) / 10; }

// ---- 1

void show(const IB_PORT_ATTR& port) {
    std::printf("     port %u  %-6s  LID %-3u  %s %s  MTU %u\n", port.PortNumber,
                text(static_cast<IB_PORT_STATE>(port.State)).c_str(), port.Lid,
                text(static_cast<IB_LINK_WIDTH>(port.ActiveWidth)).c_str(),
                text(static_cast<IB_LINK_SPEED>(port.ActiveSpeed)).c_str(),
                ci::bytes_of(static_cast<IB_MTU>(port.ActiveMtu)));
    std::printf("             %zu P_Keys", ci::pkeys(port).size());
    if (!ci::pkeys(port).empty()) std::printf(", the first 0x%04x", ci::pkeys(port)[0]);
    std::printf("; %zu GIDs", ci::gids(port).size());
    if (!ci::gids(port).empty())
        std::printf(", the first %016llx:%016llx",
                    static_cast<unsigned long long>(ci::gids(port)[0].gid_prefix),
                    static_cast<unsigned long long>(ci::gids(port)[0].gid_guid));
    std::printf("\n");
}

void show(const std::string& name, const IB_CA_ATTR& ca) {
    const auto firmware = static_cast<unsigned long long>(ca.FirmwareVersion);
    std::printf("   %-8s node %016llx  part %u  firmware %llu.%llu.%llu  %u ports\n", name.c_str(),
                static_cast<unsigned long long>(ca.NodeGuid), ca.VendorPartId, firmware >> 32,
                firmware >> 16 & 0xFFFF, firmware & 0xFFFF, ca.PortCount);
    std::printf("     at most  %u CQs of %u completions, %u QPs of %u work requests,\n"
                "              %u memory regions of %llu bytes\n",
                ca.MaxCqs, ca.MaxCqes, ca.MaxQps, ca.MaxQpWrs, ca.MaxMrs,
                static_cast<unsigned long long>(ca.MaxMrSize));
    for (const IB_PORT_ATTR& port : ci::ports(ca))
        show(port);
}

asio::awaitable<void> show_adapters() {
    for (const ib_guid_t guid : hca::guids()) {
        ci::channel_adapter ca = co_await ci::open_ca(HcaFromGuid(guid));
        const ci::ca_attributes all = co_await ci::query_ca(ca);
        show(printable(hca::name(guid)), *all);
        co_await ca.async_close();
    }
}

// ---- 2

/// An IRP of the caller, as in C.
class sync_irp {
public:
    sync_irp() { KeInitializeEvent(&completed_, NotificationEvent, FALSE); }
    ~sync_irp() { IoFreeIrp(irp_); }
    sync_irp(const sync_irp&) = delete;
    sync_irp& operator=(const sync_irp&) = delete;

    IRP* prepare() {
        IoReuseIrp(irp_, STATUS_SUCCESS);
        KeClearEvent(&completed_);
        IoSetCompletionRoutine(irp_, on_completion, this, TRUE, TRUE, TRUE);
        return irp_;
    }
    NTSTATUS wait() {
        KeWaitForSingleObject(&completed_, Executive, KernelMode, FALSE, nullptr);
        return irp_->IoStatus.Status;
    }
    template <class Object>
    Object* object() const {
        return reinterpret_cast<Object*>(irp_->IoStatus.Information);
    }
    unsigned level() const { return level_; }

private:
    static NTSTATUS on_completion(DEVICE_OBJECT*, IRP*, void* context) {
        auto& self = *static_cast<sync_irp*>(context);
        self.level_ = KeGetCurrentIrql();
        KeSetEvent(&self.completed_, IO_NO_INCREMENT, FALSE);
        return STATUS_MORE_PROCESSING_REQUIRED;
    }

    IRP* irp_ = IoAllocateIrp(1, FALSE);
    KEVENT completed_;
    unsigned level_ = 0;
};

bool make_queue_at_dispatch(ib_guid_t guid) {
    HcaSoftwareSetCommands(guid, HcaCommandsByDpc); // so that the create request pends
    ci::channel_adapter ca = ci::open_ca(HcaFromGuid(guid), asio::use_future).get();
    sync_irp irp;
    KIRQL before = PASSIVE_LEVEL;
    KeRaiseIrql(DISPATCH_LEVEL, &before);
    const NTSTATUS returned = CiCreateCq(ca, 64, nullptr, nullptr, nullptr, irp.prepare());
    KeLowerIrql(before);
    const NTSTATUS status = irp.wait();
    std::printf("   at IRQL %u, where no thread may wait, it returned %s\n", DISPATCH_LEVEL,
                name_of(returned));
    std::printf("   and its IRP was completed at IRQL %u with %s", irp.level(), name_of(status));
    if (NT_SUCCESS(status)) {
        auto* cq = irp.object<IB_CQ>();
        std::printf(": room for %u completions", cq->NumCqes);
        CiDestroyCq(cq, nullptr, irp.prepare());
        irp.wait();
    }
    std::printf("\n");
    ca.async_close(asio::use_future).get();
    HcaSoftwareSetCommands(guid, HcaCommandsInline);
    return NT_SUCCESS(status);
}

// ---- 3

/// Records the events of a port and their receivers. The demo prints the record at the end, since
/// an up-call must not block.
class event_log {
public:
    void add(const char* how, IB_ASYNC_EVENT event) {
        const std::size_t place = count_.fetch_add(1);
        if (place < entries_.size()) entries_[place] = {how, event, KeGetCurrentIrql(), now()};
    }
    bool empty() const { return count_.load() == 0; }
    void print(double since) const {
        const std::size_t count = std::min(count_.load(), entries_.size());
        for (std::size_t i = 0; i < count; ++i)
            std::printf("   %6.0f us  %-8s at IRQL %u: %s\n", entries_[i].time - since,
                        entries_[i].how, entries_[i].level, text(entries_[i].event).c_str());
    }

private:
    struct one {
        const char* how;
        IB_ASYNC_EVENT event;
        unsigned level;
        double time;
    };
    std::array<one, 16> entries_{};
    std::atomic<std::size_t> count_{0};
};

void up_call(IB_CA*, VOID* context, UCHAR, IB_ASYNC_EVENT event) {
    static_cast<event_log*>(context)->add("up-call", event);
}

// Returns false for a real HCA, whose cable only a person can pull.
bool flap_link(ib_guid_t guid) {
    if (HcaSoftwareFlapLink(guid, 1) != STATUS_OBJECT_NAME_NOT_FOUND) return true;
    std::printf("   This HCA is a real one: pull a cable of port 1, within three seconds.\n");
    return false;
}

bool report_in_two_ways(ib_guid_t guid) {
    event_log seen;
    const IB_CA_DISPATCH calls{nullptr, up_call};
    ci::channel_adapter ca = ci::open_ca(HcaFromGuid(guid), &seen, calls, asio::use_future).get();
    const auto take = irp::within(3s, asio::use_future([&](error_code error, IB_ASYNC_EVENT event) {
                                      if (!error) seen.add("IRP", event);
                                      return !error;
                                  }));
    std::future<bool> first = ca.port_events(1).next(take);
    std::future<bool> second = ca.port_events(1).next(take);
    const double start = now();
    const bool flapped = flap_link(guid);
    const bool one = first.get();
    const bool both = second.get() && one;
    ca.async_close(asio::use_future).get();
    seen.print(start);
    if (seen.empty()) std::printf("   nothing happened\n");
    return both || !flapped;
}

// ---- 4

/// Waits for an event that does not occur; prints the result and the time.
template <class Start, class End>
bool end_early(const char* how, NTSTATUS expected, const Start& start, const End& end) {
    const double begun = now();
    std::future<NTSTATUS> wait = start();
    end();
    const NTSTATUS status = wait.get();
    std::printf("   %-42s %-18s after %6.0f us\n", how, name_of(status), now() - begun);
    return status == expected;
}

bool end_waits(machine& here, ib_guid_t guid) {
    const auto as_future = asio::use_future(
        [](error_code error, IB_ASYNC_EVENT) { return irpverbs::dispatch::status_of(error); });
    ci::channel_adapter ca = ci::open_ca(HcaFromGuid(guid), asio::use_future).get();
    const auto events = ca.port_events(1);
    asio::cancellation_signal stop;
    const bool cancelled = end_early(
        "a cancellation signal", STATUS_CANCELLED,
        [&] { return events.next(asio::bind_cancellation_slot(stop.slot(), as_future)); },
        // The emission runs on the context of the wait's handler, so the two never run at once.
        [&] { asio::post(here.context(), [&] { stop.emit(asio::cancellation_type::all); }); });
    const bool late = end_early(
        "a deadline of 20 ms", STATUS_IO_TIMEOUT,
        [&] { return events.next(irp::within(20ms, as_future)); }, [] {});
    const bool closed = end_early(
        "the end of its channel_adapter", STATUS_CANCELLED, [&] { return events.next(as_future); },
        [&] { ca = {}; });
    const bool refused = end_early(
        "asked again after that", STATUS_FILE_CLOSED, [&] { return events.next(as_future); },
        [] {});
    return cancelled && late && closed && refused;
}

// ---- 5

/// Records the IRPs from the construction on, and writes them to a file at the end.
class trace_file {
public:
    trace_file(machine& here, const char* path) : path_(path), recorder_(here) {}

    bool write() const {
        std::ofstream out(path_);
        recorder_.write(out, {.request = verb, .device = adapter});
        out.close();
        if (!out) std::fprintf(stderr, "demo: %s: %s\n", path_, std::strerror(errno));
        return static_cast<bool>(out);
    }
    std::size_t events() const { return recorder_.events().size(); }
    const char* path() const { return path_; }

private:
    static std::string verb(const irp::trace_event& sent) {
        return std::string(ci::verb_of(sent.minor));
    }
    static std::string adapter(const irp::trace_event& sent) {
        for (const ib_guid_t guid : hca::guids())
            if (HcaFromGuid(guid) == sent.device) return hca::name(guid);
        return "none"; // the request was refused
    }

    const char* path_;
    irp::trace_recorder recorder_;
};

bool write_trace(const trace_file& trace) {
    if (!trace.write()) return false;
    std::printf(
        "   %zu events in %s\n   open it in https://ui.perfetto.dev: a track a processor, the "
        "IRQL below it,\n   an arrow from each call to its completion\n",
        trace.events(), trace.path());
    return true;
}

// ---- the program

struct options {
    const char* uri = "software:";
    const char* trace = nullptr;
    bool help = false;
};

constexpr const char* usage =
    "usage: demo [--help] [--hca URI] [--trace FILE]\n"
    "  --hca URI     software:, software:FILE (a topology), rdma:, ...; software: otherwise\n"
    "  --trace FILE  what became of each IRP, for ui.perfetto.dev\n"
    "Exit status: 0 all came true, 1 something did not, 2 wrong usage.\n";

bool read_options(int count, char** words, options& chosen) {
    chosen.help = count == 2 && (words[1] == "--help"sv || words[1] == "-h"sv);
    if (chosen.help) return true;
    for (int i = 1; i < count; i += 2) {
        const std::string_view word = words[i];
        if (i + 1 == count || (word != "--hca" && word != "--trace")) return false;
        (word == "--hca" ? chosen.uri : chosen.trace) = words[i + 1];
    }
    return true;
}

bool show_all(machine& here, const options& chosen) {
    std::optional<trace_file> trace;
    if (chosen.trace != nullptr) trace.emplace(here, chosen.trace);
    const hca::attachment attached(chosen.uri);
    const std::vector<ib_guid_t> guids = hca::guids();
    if (guids.empty()) throw std::runtime_error("no HCA there");
    std::printf("%s attaches %zu HCAs. Every request to them below is an IRP.\n", chosen.uri,
                guids.size());

    chapter("Attributes", "CiOpenCa, CiQueryCa, CiCloseCa, awaited in a coroutine");
    asio::co_spawn(here.context(), show_adapters(), asio::use_future).get();
    chapter("A completion queue, created at DISPATCH_LEVEL", "CiCreateCq with an IRP, as in C");
    bool good = make_queue_at_dispatch(guids[0]);
    chapter("A link flaps: an up-call and an IRP report each event",
            "CiGetCaPortEvent, twice; an event completes its IRP, then makes the up-call, "
            "while\n   the IRP's waiter wakes");
    good &= report_in_two_ways(guids[0]);
    chapter("Waits that end without an event", "CiGetCaPortEvent, four times");
    good &= end_waits(here, guids[0]);
    if (trace) {
        chapter("A trace of all that", "irp::trace_recorder");
        good &= write_trace(*trace);
    }
    return good;
}

} // namespace

int main(int count, char** words) {
    options chosen;
    if (!read_options(count, words, chosen)) {
        std::fputs(usage, stderr);
        return 2;
    }
    if (chosen.help) return std::fputs(usage, stdout) < 0 ? 1 : 0;
    irpverbs::dispatch::asio_machine here;
    const machine::scope inside(here);
    try {
        return show_all(here, chosen) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "demo: %s: %s\n", chosen.uri, printable(error.what()).c_str());
        return 1;
    }
}
