#include <drop_in/readiness.hpp>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace irpverbs::drop_in {

readiness::~readiness() {
    for (const int each : ends_)
        if (each >= 0) close(each);
}

bool readiness::open() noexcept {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) == 0;
}

// A system call by its number is no cancellation point: the program's thread may be inside a post.
void readiness::set() noexcept {
    if (set_) return;
    set_ = true;
    const char byte = 0;
    syscall(SYS_sendto, ends_[1], &byte, sizeof(byte), MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
}

void readiness::clear() noexcept {
    char byte;
    if (set_ && syscall(SYS_recvfrom, ends_[0], &byte, sizeof(byte), MSG_DONTWAIT, nullptr,
                        nullptr) == 1)
        set_ = false;
}

} // namespace irpverbs::drop_in
