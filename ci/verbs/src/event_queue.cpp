#include "event_queue.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace irpverbs::verbs {

namespace {

// A system call by its number is no cancellation point: the program's thread may be inside a post.
void send_byte(int socket) {
    const char byte = 0;
    syscall(SYS_sendto, socket, &byte, sizeof(byte), MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
}

bool receive_byte_at_once(int socket) {
    char byte;
    return syscall(SYS_recvfrom, socket, &byte, sizeof(byte), MSG_DONTWAIT, nullptr, nullptr) == 1;
}

} // namespace

event_queue::~event_queue() {
    for (const int each : ends_)
        if (each >= 0) close(each);
}

bool event_queue::open() { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0; }

void event_queue::set() {
    set_ = true;
    send_byte(ends_[1]);
}

void event_queue::add(event_source& source) {
    const dispatch::detail::spin_guard guard(lock_);
    if (source.waiting++ == 0) sources_.push_back(source);
    if (!set_) set();
}

bool event_queue::take(event& into) {
    const dispatch::detail::spin_guard guard(lock_);
    set_ = false;
    if (sources_.empty()) return false;
    event_source& first = sources_.front();
    into = {first.owner, first.code};
    ++first.taken;
    sources_.pop_front();
    if (--first.waiting != 0) sources_.push_back(first);
    if (!sources_.empty()) set();
    return true;
}

ULONG event_queue::remove(std::span<event_source> sources) {
    const dispatch::detail::spin_guard guard(lock_);
    ULONG taken = 0;
    for (event_source& each : sources) {
        taken += each.taken;
        if (each.waiting == 0) continue;
        each.waiting = 0;
        sources_.erase(sources_.iterator_to(each));
    }
    if (set_ && sources_.empty() && receive_byte_at_once(ends_[0])) set_ = false;
    return taken;
}

} // namespace irpverbs::verbs
