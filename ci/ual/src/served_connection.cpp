#include "served_connection.hpp"

#include "listener.hpp"

#include <ci/support/blocking_verb.hpp>
#include <ci/support/host_of_hca.hpp>
#include <dispatch/support/spin.hpp>
#include <dispatch/support/spin_lock.hpp>
#include <hca/hca.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace irpverbs::ual {

using ci::crossing::message;
using dispatch::detail::spin_guard;
namespace wire = ci::wire;

namespace {

// Messages of a socket or ring that are handled before the others are looked at.
constexpr int turn = 64;

// Turns of the ring between two looks at the sockets: a look is a system call. A client that has
// sent a message awaits the reply, and often sends another one then.
constexpr unsigned turns_after_work_requests = 64;
constexpr unsigned turns_after_message = 8;
// Turns without work between those that yield the processor.
constexpr unsigned turns_between_yields = 16;

// Milliseconds between two attempts to post work requests to a full queue.
constexpr int blocked_time = 1;

iovec part_of(const void* data, std::size_t size) { return {const_cast<void*>(data), size}; }

bool is_clean(const wire::header& head) {
    return std::ranges::all_of(head.zero, [](std::uint8_t each) { return each == 0; });
}

/// The ports of an HCA; 0: it can't be opened.
ULONG ports_of(DEVICE_OBJECT* hca) {
    const auto opened = ci::detail::call_verb(
        [&](IRP* irp) { return CiOpenCa(hca, nullptr, nullptr, nullptr, irp); });
    if (!opened.success()) return 0;
    auto* const ca = opened.object<IB_CA>();
    IB_CA_ATTR attr{};
    ci::detail::call_verb([&](IRP* irp) { return CiQueryCa(ca, sizeof(attr), &attr, irp); });
    ci::detail::call_verb([&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
    return attr.PortCount;
}

/// The HCAs of that host, or all if it is empty: to know the ports of an HCA takes three verbs.
std::vector<wire::hca> hcas_of(std::string_view host) {
    constexpr std::size_t most = (wire::max_message - sizeof(wire::listing)) / sizeof(wire::hca);
    ULONG count = 0;
    HcaEnumerate(nullptr, &count);
    std::vector<ib_guid_t> guids(count);
    HcaEnumerate(guids.data(), &count);
    guids.resize(std::min<std::size_t>(count, guids.size()));
    std::vector<wire::hca> made;
    for (const ib_guid_t guid : guids) {
        wire::hca each{guid, 0, {}};
        HcaName(guid, each.name.data(), each.name.size());
        if (!host.empty() && !ci::belongs_to_host(each.name.data(), host)) continue;
        if (DEVICE_OBJECT* const hca = HcaFromGuid(guid); hca != nullptr)
            each.ports = ports_of(hca);
        if (each.ports != 0 && made.size() < most) made.push_back(each);
    }
    return made;
}

} // namespace

served_connection::served_connection(listener& owner, ci::detail::unique_descriptor socket,
                                     const ucred& peer, user& whose, NTSTATUS welcome_status)
    : listener_(owner), user_(whose), peer_(peer), welcome_status_(welcome_status),
      control_(std::move(socket)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      buffer_(wire::max_message), ring_quota_(whose.ring_memory),
      common_quota_(whose.common_memory), objects_(owner.limits().MaxObjects, whose.objects) {
    KeInitializeEvent(&idle_, NotificationEvent, FALSE);
}

served_connection::~served_connection() = default;

bool served_connection::start() {
    HANDLE thread = nullptr;
    if (!wake_ ||
        !NT_SUCCESS(PsCreateSystemThread(&thread, 0, nullptr, nullptr, nullptr, run, this)))
        return false;
    ZwClose(thread);
    return true;
}

void served_connection::wake() {
    const std::uint64_t one = 1;
    static_cast<void>(write(wake_.get(), &one, sizeof(one)));
}

void served_connection::stop() {
    stopping_.store(true);
    wake();
}

void served_connection::run(void* self) {
    auto& connection = *static_cast<served_connection*>(self);
    connection.thread_ = KeGetCurrentThread();
    connection.serve();
    connection.tear_down();
    connection.listener_.remove(connection);
}

// A client may share the processor, and have nothing to do before it runs.
void served_connection::relax(ULONG idle) {
    if (idle % turns_between_yields == 0)
        sched_yield();
    else
        dispatch::detail::cpu_relax();
}

// After work requests in the ring, or a message, the thread looks for others for some time, so that
// the client needs no system call for them, or none that wakes a thread. It then sleeps. The time
// is short: where clients have all processors, it would be taken from them.
void served_connection::serve() {
    idle_turns_ = listener_.limits().IdleTurns;
    while (serve_ring()) {
    }
}

// Returns false when the connection ends.
bool served_connection::serve_ring() {
    const ULONG longest_idle = listener_.limits().IdleTurns;
    switch (posts_.post_some(turn)) {
    case served_posts::result::violation:
        return violation();
    case served_posts::result::worked:
        idle_turns_ = 0;
        turns_between_messages_ = turns_after_work_requests;
        return ++turns_ % turns_between_messages_ != 0 || serve_messages(0);
    case served_posts::result::blocked:
        return serve_messages(blocked_time);
    case served_posts::result::idle:
        break;
    }
    if (++idle_turns_ < longest_idle) {
        relax(idle_turns_);
        return idle_turns_ % turns_between_messages_ != 0 || serve_messages(0);
    }
    idle_turns_ = longest_idle;
    if (!posts_.begin_sleep()) return true;
    const bool goes_on = serve_messages(-1);
    posts_.end_sleep();
    return goes_on;
}

// Waits for messages, room for replies, or stop(). Returns false when the connection ends.
bool served_connection::serve_messages(int milliseconds) {
    const auto events = static_cast<short>(has_unsent() ? POLLIN | POLLOUT : POLLIN);
    std::array<pollfd, 3> all{
        {{wake_.get(), POLLIN, 0}, {control_.get(), events, 0}, {data_.get(), events, 0}}};
    poll(all.data(), all.size(), milliseconds);
    std::uint64_t count = 0;
    if (all[0].revents != 0) static_cast<void>(read(wake_.get(), &count, sizeof(count)));
    if (stopping_.load()) return false;
    if ((all[1].revents & ~POLLOUT) != 0 && !receive(control_.get())) return false;
    if ((all[2].revents & ~POLLOUT) != 0 && !receive(data_.get())) return false;
    return flush();
}

// Returns false when the client is gone, or is to be disconnected.
bool served_connection::receive(int socket) {
    for (int i = 0; i < turn; ++i) {
        ci::detail::received_message got =
            ci::detail::receive_message(socket, buffer_, socket == control_.get() ? 1 : 0);
        if (got.error == EAGAIN) return true;
        if (got.error == EMSGSIZE) return violation();
        if (got.error != 0 || got.size == 0) return false;
        passed_ = std::move(got.with[0]);
        const bool goes_on = handle_packet(socket, message(buffer_).first(got.size));
        passed_ = {};
        if (!goes_on) return false;
        idle_turns_ = 0;
        turns_between_messages_ = turns_after_message;
    }
    return true;
}

bool served_connection::violation() {
    listener_.numbers().violations.fetch_add(1);
    return false;
}

// Replies of requests that complete during the call, on this thread, are sent together.
bool served_connection::handle_packet(int via, message received) {
    bool goes_on = true;
    gathers_ = true;
    while (goes_on && !received.empty())
        goes_on = handle(via, ci::crossing::take_first(received));
    gathers_ = false;
    send_gathered();
    return goes_on;
}

bool served_connection::handle(int via, message received) {
    wire::header head{};
    if (received.size() < sizeof(head)) return violation();
    std::memcpy(&head, received.data(), sizeof(head));
    if (!is_clean(head)) return violation();
    if (!greeted_) return head.what == wire::kind::hello ? greet(received) : violation();
    if (head.what == wire::kind::post) return handle_posts(via, received);
    if (head.what == wire::kind::bell) return true; // the thread looks at the rings next
    // Posts that the client made before a message take effect before it.
    if (!posts_.post_all()) return violation();
    switch (head.what) {
    case wire::kind::request:
        return handle_request(via, head, received);
    case wire::kind::cancel:
        cancel(head.id);
        return true;
    case wire::kind::list:
        return list_hcas(received);
    case wire::kind::status:
        return send_text(head);
    default:
        return violation();
    }
}

// ---- greeting and information: replies that a client awaits before it sends more

bool served_connection::greet(message received) {
    wire::hello asked{};
    if (received.size() != sizeof(asked)) return violation();
    std::memcpy(&asked, received.data(), sizeof(asked));
    if (asked.magic != wire::magic) return violation();
    if (passed_) client_memory_ = ci::address_space::make(std::move(passed_), peer_.pid);
    const bool same = asked.version == wire::version && asked.pointer_size == sizeof(void*);
    const NTSTATUS status = same ? welcome_status_ : STATUS_REVISION_MISMATCH;
    const wire::welcome made{{wire::kind::welcome, 0, {}, 0, asked.head.id},
                             wire::magic,
                             wire::version,
                             0,
                             status,
                             listener_.limits().MaxRequests};
    std::array<iovec, 1> part{part_of(&made, sizeof(made))};
    if (!NT_SUCCESS(status)) listener_.numbers().refused.fetch_add(1);
    greeted_ = ci::detail::send_message(control_.get(), part) == 0 && NT_SUCCESS(status);
    return greeted_;
}

bool served_connection::list_hcas(message received) try {
    wire::list asked{};
    if (received.size() != sizeof(asked)) return violation();
    std::memcpy(&asked, received.data(), sizeof(asked));
    if (asked.host.back() != '\0') return violation();
    const std::vector<wire::hca> all = hcas_of(asked.host.data());
    const wire::listing made{{wire::kind::list, 0, {}, 0, asked.head.id}, all.size()};
    std::array<iovec, 2> parts{part_of(&made, sizeof(made)),
                               part_of(all.data(), all.size() * sizeof(wire::hca))};
    return ci::detail::send_message(control_.get(), parts) == 0;
} catch (const std::bad_alloc&) {
    return false;
}

bool served_connection::send_text(const wire::header& head) try {
    const std::string text = listener_.description();
    const wire::header made{wire::kind::status, 0, {}, 0, head.id};
    const std::size_t most = wire::max_message - sizeof(made);
    std::array<iovec, 2> parts{part_of(&made, sizeof(made)),
                               part_of(text.data(), std::min(text.size(), most))};
    return ci::detail::send_message(control_.get(), parts) == 0;
} catch (const std::bad_alloc&) {
    return false;
}

void served_connection::count(UAL_COUNTERS& into) const {
    into.Connections += hca_ != nullptr ? 1 : 0;
    into.Objects += objects_.count();
    into.Requests += requests_.load();
    into.Waits += waits_.load();
    into.RingMemory += ring_quota_.own.used();
    into.CommonMemory += common_quota_.own.used();
}

std::string served_connection::description() const {
    std::array<char, 256> line{};
    std::snprintf(
        line.data(), line.size(),
        "process %d of user %u: %u objects, %u requests, %u waits, %zu bytes of requests, %u of "
        "rings, %u MiB of common buffers\n",
        static_cast<int>(peer_.pid), static_cast<unsigned>(peer_.uid), objects_.count(),
        requests_.load(), waits_.load(), memory_.load(), ring_quota_.own.used(),
        common_quota_.own.used());
    return line.data();
}

} // namespace irpverbs::ual
