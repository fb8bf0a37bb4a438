#include "partner.hpp"

#include <csignal>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>

namespace irpverbs::bench {

void meeting::send(const void* bytes, std::size_t size) const {
    expect(::send(socket_, bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size),
           "a message to the other process");
}

std::vector<std::byte> meeting::receive() const {
    std::vector<std::byte> room(8192);
    const ssize_t size = recv(socket_, room.data(), room.size(), 0);
    expect(size > 0, "the other process has ended");
    room.resize(static_cast<std::size_t>(size));
    return room;
}

void stay_on_processor(int number) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(number, &only);
    expect(sched_setaffinity(0, sizeof(only), &only) == 0, "sched_setaffinity");
}

void end_with_parent() { prctl(PR_SET_PDEATHSIG, SIGKILL); }

} // namespace irpverbs::bench
