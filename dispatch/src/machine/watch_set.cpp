#include "watch_set.hpp"

#include <dispatch/support/spin_lock.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

namespace irpverbs::dispatch {

namespace {

namespace asio = boost::asio;

constexpr std::chrono::milliseconds shortest_delay{1};
constexpr std::chrono::milliseconds longest_delay{1000};

bool change(int set, int operation, int descriptor, std::uint32_t events, void* about) {
    epoll_event wanted{};
    wanted.events = events;
    wanted.data.ptr = about;
    return epoll_ctl(set, operation, descriptor, &wanted) == 0;
}

} // namespace

std::shared_ptr<watch_set> watch_set::make(asio::io_context& where) {
    const int all = epoll_create1(EPOLL_CLOEXEC);
    const int gate = epoll_create1(EPOLL_CLOEXEC);
    if (all >= 0 && gate >= 0 && change(gate, EPOLL_CTL_ADD, all, EPOLLIN, nullptr)) {
        auto made = std::make_shared<watch_set>(where, all, gate);
        asio::post(made->strand_, [made] { made->wait(); });
        return made;
    }
    if (all >= 0) close(all);
    if (gate >= 0) close(gate);
    return nullptr;
}

watch_set::watch_set(asio::io_context& where, int all, int gate)
    : all_(all), gate_(gate), strand_(asio::make_strand(where)), at_gate_(where, gate),
      timer_(where) {}

watch_set::~watch_set() { close(all_); }

// Each wait makes Asio query the kernel again, so a descriptor with unread data is found again.
void watch_set::wait() {
    at_gate_.async_wait(asio::posix::stream_descriptor::wait_read,
                        asio::bind_executor(strand_, [self = shared_from_this()](auto error) {
                            if (error) return;
                            self->on_readable();
                            self->wait();
                        }));
}

void watch_set::on_readable() {
    {
        const detail::spin_guard guard(lock_);
        if (server_ != nullptr) return; // which began a moment ago
    }
    call_one();
}

bool watch_set::add(watched& one) {
    const int flags = fcntl(one.descriptor, F_GETFL);
    return flags >= 0 && fcntl(one.descriptor, F_SETFL, flags | O_NONBLOCK) == 0 &&
           change(all_, EPOLL_CTL_ADD, one.descriptor, EPOLLIN, &one);
}

void watch_set::remove(watched& one) {
    KEVENT ended;
    {
        const detail::spin_guard guard(lock_);
        change(all_, EPOLL_CTL_DEL, one.descriptor, 0, nullptr);
        if (called_ != &one) return;
        called_ = nullptr;
        if (caller_ == KeGetCurrentThread()) return;
        KeInitializeEvent(&ended, NotificationEvent, FALSE);
        awaits_end_ = &ended;
    }
    KeWaitForSingleObject(&ended, Executive, KernelMode, FALSE, nullptr);
}

// One call a time that a descriptor was found readable: those that are readable take turns. Found
// under the lock, so that none is called that has been removed.
bool watch_set::call_one() {
    watched* one = nullptr;
    {
        const detail::spin_guard guard(lock_);
        epoll_event found{};
        if (caller_ != nullptr || epoll_wait(all_, &found, 1, 0) != 1) return false;
        one = called_ = static_cast<watched*>(found.data.ptr);
        caller_ = KeGetCurrentThread();
    }
    const bool goes_on = one->readable(one->context);
    const detail::spin_guard guard(lock_);
    caller_ = nullptr;
    if (called_ != nullptr && !goes_on) change(all_, EPOLL_CTL_DEL, one->descriptor, 0, nullptr);
    called_ = nullptr;
    if (awaits_end_ != nullptr)
        KeSetEvent(std::exchange(awaits_end_, nullptr), IO_NO_INCREMENT, FALSE);
    return true;
}

// A change of the gate makes the kernel look at the set again.
void watch_set::mute(bool on) {
    if (muted_ == on) return;
    muted_ = on;
    change(gate_, EPOLL_CTL_MOD, all_, on ? 0 : std::uint32_t{EPOLLIN}, nullptr);
}

// A thread that has served often serves again at once, and each change of hands takes two system
// calls and a wake. So the io_context only looks now and then, and takes over when none has served
// for some time, or when the one that serves leaves a call undone from one look to the next: it may
// have left its wait without a word.
void watch_set::look_later() {
    timer_.expires_after(delay());
    timer_.async_wait(asio::bind_executor(strand_, [self = shared_from_this()](auto error) {
        if (!error && self->look()) self->look_later();
    }));
}

std::chrono::milliseconds watch_set::delay() {
    const detail::spin_guard guard(lock_);
    return delay_;
}

// Ends a longer delay.
void watch_set::look_soon() {
    delay_ = shortest_delay;
    asio::post(strand_, [self = shared_from_this()] { self->look_later(); });
}

// Returns false when the io_context has taken over.
bool watch_set::look() {
    const detail::spin_guard guard(lock_);
    const bool served = std::exchange(is_served_, false);
    const bool due = !served && is_due();
    const bool goes_on = served || (server_ != nullptr && !(due && was_due_));
    if (!goes_on) take_over();
    delay_ = served ? shortest_delay : due ? longest_delay : std::min(2 * delay_, longest_delay);
    was_due_ = due;
    return looks_ = goes_on;
}

void watch_set::take_over() {
    server_ = nullptr;
    mute(false);
}

bool watch_set::is_due() {
    epoll_event found{};
    return caller_ == nullptr && epoll_wait(all_, &found, 1, 0) == 1;
}

int watch_set::begin_serving() {
    const detail::spin_guard guard(lock_);
    if (server_ == KeGetCurrentThread()) return all_;
    if (server_ != nullptr || caller_ != nullptr) return -1;
    server_ = KeGetCurrentThread();
    is_served_ = true;
    mute(true);
    if (!std::exchange(looks_, true)) look_soon();
    return all_;
}

bool watch_set::serve() {
    {
        const detail::spin_guard guard(lock_);
        if (server_ != KeGetCurrentThread()) return false;
        is_served_ = true;
    }
    return call_one();
}

void watch_set::end_serving() {
    const detail::spin_guard guard(lock_);
    if (server_ != KeGetCurrentThread()) return;
    server_ = nullptr;
    is_served_ = true;
    if (delay_ != shortest_delay) look_soon();
}

void watch_set::leave() {
    const detail::spin_guard guard(lock_);
    if (server_ == nullptr || server_ == KeGetCurrentThread()) take_over();
}

} // namespace irpverbs::dispatch
