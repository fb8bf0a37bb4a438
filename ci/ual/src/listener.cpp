#include "listener.hpp"

#include "socket_place.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace irpverbs::ual {

using ci::detail::unique_descriptor;
using dispatch::detail::spin_guard;

namespace {

// There is no descriptor left: some connection has to end first.
void wait_a_while() {
    LARGE_INTEGER interval;
    interval.QuadPart = -100'000; // 10 ms
    KeDelayExecutionThread(KernelMode, FALSE, &interval);
}

} // namespace

std::unique_ptr<listener> listener::make(std::string path, const UAL_OPTIONS& options,
                                         NTSTATUS& status, std::string& problem) {
    unique_descriptor socket;
    status = options.Socket != 0 ? adopt_socket(options.Socket, socket, path, problem)
                                 : bind_socket(path, socket, problem);
    if (!NT_SUCCESS(status)) return nullptr;
    unique_descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    std::unique_ptr<listener> made(new listener(path, options, std::move(socket), std::move(wake)));
    if (made->wake_ && made->start()) return made;
    status = STATUS_INSUFFICIENT_RESOURCES;
    problem = path + ": there is no descriptor or thread left";
    return nullptr;
}

listener::listener(std::string path, const UAL_OPTIONS& options, unique_descriptor socket,
                   unique_descriptor wake)
    : path_(std::move(path)), limits_(options),
      allowed_(options.AllowedUids, options.AllowedUids + options.AllowedUidCount),
      socket_(std::move(socket)), wake_(std::move(wake)) {
    KeInitializeEvent(&ended_, NotificationEvent, FALSE);
}

bool listener::start() {
    HANDLE thread = nullptr;
    threads_ = 1;
    if (NT_SUCCESS(PsCreateSystemThread(&thread, 0, nullptr, nullptr, nullptr, run, this))) {
        ZwClose(thread);
        return true;
    }
    threads_ = 0;
    return false;
}

listener::~listener() {
    if (limits_.Socket == 0) unlink(path_.c_str());
    {
        const spin_guard guard(lock_);
        stopping_.store(true);
        for (served_connection& each : connections_)
            each.stop();
        notify_if_ended();
    }
    const std::uint64_t one = 1;
    static_cast<void>(write(wake_.get(), &one, sizeof(one)));
    KeWaitForSingleObject(&ended_, Executive, KernelMode, FALSE, nullptr);
    const spin_guard guard(lock_); // the event is set under it
}

// Under the lock.
void listener::notify_if_ended() {
    if (stopping_.load() && threads_ == 0) KeSetEvent(&ended_, IO_NO_INCREMENT, FALSE);
}

// Throws std::bad_alloc, without effect.
void listener::insert(served_connection& made) {
    const spin_guard guard(lock_);
    connections_.push_back(made);
    try {
        for (served_connection& each : connections_) {
            if (&each == &made) continue;
            each.others().add(made.receives());
            made.others().add(each.receives());
        }
    } catch (const std::bad_alloc&) {
        erase(made);
        throw;
    }
    ++threads_;
    if (stopping_.load()) made.stop();
}

// Under the lock.
void listener::erase(served_connection& ended) {
    connections_.erase(connections_.iterator_to(ended));
    for (served_connection& each : connections_)
        each.others().remove(ended.receives());
}

void listener::remove(served_connection& ended) {
    {
        const spin_guard guard(lock_);
        erase(ended);
    }
    user& whose = ended.owner_user();
    delete &ended;
    whose.connections.give_back();
    const spin_guard guard(lock_);
    --threads_;
    notify_if_ended();
}

void listener::run(void* self) {
    auto& own = *static_cast<listener*>(self);
    own.accept_all();
    const spin_guard guard(own.lock_);
    --own.threads_;
    own.notify_if_ended();
}

void listener::accept_all() {
    while (!stopping_.load()) {
        std::array<pollfd, 2> all{{{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
        poll(all.data(), all.size(), -1);
        unique_descriptor accepted(
            accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (accepted)
            accept_one(std::move(accepted));
        else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
            wait_a_while();
    }
}

bool listener::is_allowed(uid_t uid) const {
    return uid == geteuid() || std::ranges::find(allowed_, uid) != allowed_.end();
}

// A user stays known, so that connections may refer to it.
user* listener::user_of(uid_t uid) {
    const auto found = std::ranges::find(users_, uid, &user::uid);
    return found != users_.end() ? &*found : &users_.emplace_back(uid, limits_);
}

served_connection* listener::make_connection(unique_descriptor socket, const ucred& peer,
                                             user& whose, NTSTATUS status) {
    auto made = std::make_unique<served_connection>(*this, std::move(socket), peer, whose, status);
    insert(*made);
    return made.release();
}

void listener::accept_one(unique_descriptor socket) try {
    ucred peer{};
    if (!ci::detail::peer_of(socket.get(), peer)) return;
    const bool allowed = is_allowed(peer.uid);
    user& whose = *user_of(allowed ? peer.uid : geteuid());
    if (!whose.connections.charge()) {
        numbers_.refused.fetch_add(1);
        return;
    }
    served_connection* made = nullptr;
    try {
        made = make_connection(std::move(socket), peer, whose,
                               allowed ? STATUS_SUCCESS : STATUS_ACCESS_DENIED);
    } catch (const std::bad_alloc&) {
        whose.connections.give_back();
        throw;
    }
    numbers_.accepted.fetch_add(1);
    if (!made->start()) remove(*made);
} catch (const std::bad_alloc&) {
    numbers_.refused.fetch_add(1);
}

void listener::count(UAL_COUNTERS& into) {
    into = {};
    into.Accepted = numbers_.accepted.load();
    into.Refused = numbers_.refused.load();
    into.Violations = numbers_.violations.load();
    into.Served = numbers_.served.load();
    const spin_guard guard(lock_);
    for (const served_connection& each : connections_)
        each.count(into);
}

std::string listener::description() {
    UAL_COUNTERS now{};
    count(now);
    std::array<char, 320> lines{};
    std::snprintf(lines.data(), lines.size(),
                  "%u open HCAs, %u objects, %u requests, %u waits\n"
                  "%lu connections accepted, %lu refused, %lu ended for a violation, %lu "
                  "requests served\n",
                  now.Connections, now.Objects, now.Requests, now.Waits, now.Accepted, now.Refused,
                  now.Violations, now.Served);
    std::string text = lines.data();
    const spin_guard guard(lock_);
    for (const served_connection& each : connections_)
        text += each.description();
    return text;
}

} // namespace irpverbs::ual
