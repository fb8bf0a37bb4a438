#include "unforked_socket.hpp"

#include <array>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

namespace irpverbs::hca_user {

namespace {

struct sockets {
    std::mutex lock; // held during a fork, too
    boost::intrusive::list<unforked_socket> all;
};

// Never destroyed: a program may fork until it has ended.
sockets& own() {
    static sockets* const only = new sockets;
    return *only;
}

void before_fork() { own().lock.lock(); }
void after_fork() { own().lock.unlock(); }

// Only system calls that are safe in a child of a process with threads.
void after_fork_in_child() {
    std::array<int, 2> dead{-1, -1};
    const bool made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, dead.data()) == 0;
    for (const unforked_socket& each : own().all) {
        if (made)
            dup3(dead[0], each.get(), O_CLOEXEC);
        else
            close(each.get());
    }
    for (const int each : dead)
        close(each);
    own().lock.unlock();
}

int handle_forks() {
    static const int error = pthread_atfork(before_fork, after_fork, after_fork_in_child);
    return error;
}

} // namespace

int unforked_socket::connect(const std::string& path) {
    if (const int error = handle_forks(); error != 0) return error;
    const std::lock_guard guard(own().lock); // no fork between the socket and its place in the list
    int error = 0;
    socket_ = ci::detail::connect_to(path, error);
    if (socket_) own().all.push_back(*this);
    return error;
}

unforked_socket::~unforked_socket() {
    if (!socket_) return;
    const std::lock_guard guard(own().lock);
    own().all.erase(own().all.iterator_to(*this));
    socket_ = {};
}

} // namespace irpverbs::hca_user
