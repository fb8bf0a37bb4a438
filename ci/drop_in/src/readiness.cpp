#include <drop_in/readiness.hpp>

#include <cstdint>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace irpverbs::drop_in {

readiness::~readiness() {
    if (descriptor_ >= 0) close(descriptor_);
}

bool readiness::open() noexcept {
    descriptor_ = eventfd(0, EFD_CLOEXEC);
    return descriptor_ >= 0;
}

// A system call by its number is no cancellation point: the program's thread may be inside a post.
void readiness::set() noexcept {
    if (set_) return;
    set_ = true;
    const std::uint64_t one = 1;
    syscall(SYS_write, descriptor_, &one, sizeof(one));
}

// The flag keeps this call from waiting, also where the program's reads wait.
void readiness::clear() noexcept {
    std::uint64_t counter = 0;
    const iovec into{&counter, sizeof(counter)};
    constexpr long current_position = -1;
    if (set_ && syscall(SYS_preadv2, descriptor_, &into, 1, current_position, current_position,
                        RWF_NOWAIT) == sizeof(counter))
        set_ = false;
}

} // namespace irpverbs::drop_in
