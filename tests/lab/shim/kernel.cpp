#include "kernel.hpp"

#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace shim {

void raise_event(int descriptor) {
    if (eventfd_write(descriptor, 1) != 0 && errno != EAGAIN) fatal("eventfd");
}

kernel& kernel::get() {
    static kernel only;
    return only;
}

kernel::kernel()
    : sysfs_(link_), options_(lab_options::from_environment()), chance_(options_.seed),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), service_([this] { serve(); }) {}

kernel::~kernel() {
    {
        const std::lock_guard guard(lock_);
        link_.flush();
        stopping_ = true;
    }
    wake();
    service_.join();
    std::array<std::uint8_t, 4> nothing{};
    const std::lock_guard guard(control_lock_);
    link_.ask(control::disconnect, nothing);
}

void kernel::wake() const { raise_event(wake_); }

void kernel::serve() {
    std::unique_lock held(lock_);
    while (!stopping_) {
        const bool blocked = !link_.flush();
        const int time_limit = timers_.next_in();
        sleeps_until_ = timers_.next();
        pollfd events[] = {
            {link_.descriptor(), static_cast<short>(POLLIN | (blocked ? POLLOUT : 0)), 0},
            {wake_, POLLIN, 0}};
        held.unlock();
        poll(events, 2, time_limit);
        held.lock();
        sleeps_until_ = 0; // awake: it checks the timers itself
        eventfd_t count = 0;
        if (events[1].revents != 0) eventfd_read(wake_, &count);
        packet incoming;
        constexpr int max_at_once = 64;
        for (int i = 0; i < max_at_once && link_.receive(incoming); ++i)
            arrived_with_faults(incoming);
        timers_.run();
    }
}

std::string kernel::redirected(const std::string& path) {
    const std::lock_guard guard(control_lock_);
    if (path.find("/ports/") != std::string::npos) sysfs_.refresh();
    return sysfs_.real_path(path);
}

} // namespace shim
