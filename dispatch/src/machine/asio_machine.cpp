#include <dispatch/asio_machine.hpp>

#include "machine_state.hpp"

#include <dispatch/support/checks.hpp>
#include <dispatch/support/process_barrier.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <climits>
#include <csignal>
#include <exception>
#include <linux/futex.h>
#include <list>
#include <mutex>
#include <random>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>

namespace irpverbs::dispatch {

using detail::processor;

namespace {

constexpr std::uint64_t ns_per_tick = 100;
// The time from 1601-01-01 to 1970-01-01.
constexpr std::uint64_t unix_epoch = 116'444'736'000'000'000;

// Values of processor::parking.
constexpr std::uint32_t awake = 0;
constexpr std::uint32_t token_set = 1;
constexpr std::uint32_t asleep = 2;

// Nanoseconds of a second have 30 bits, and 32 bits are divided in fewer instructions.
std::uint64_t read_clock(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 10'000'000 +
           static_cast<std::uint32_t>(now.tv_nsec) / std::uint32_t{ns_per_tick};
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* deadline) {
    return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word),
                   operation | FUTEX_PRIVATE_FLAG, value, deadline, nullptr,
                   FUTEX_BITSET_MATCH_ANY);
}

} // namespace

/// Blocks signals of the calling thread, and so of the threads that it starts, for the life of the
/// scope: a program's handlers run on the program's own threads. Signals of a thread's own faults
/// stay open.
class blocked_signals {
public:
    blocked_signals() {
        sigset_t blocked;
        sigfillset(&blocked);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
            sigdelset(&blocked, fault);
        pthread_sigmask(SIG_SETMASK, &blocked, &before_);
    }
    ~blocked_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    blocked_signals(const blocked_signals&) = delete;
    blocked_signals& operator=(const blocked_signals&) = delete;

private:
    sigset_t before_{};
};

/// Threads of the operating system. Each is joined after its end: by the next thread that ends, or
/// by join_all().
class thread_group {
public:
    /// False: there are no resources for another thread.
    bool start(void (*body)(void*), void* context) {
        const std::lock_guard guard(lock_);
        try {
            std::list<std::thread> fresh(1);
            const blocked_signals while_starting;
            const auto place = fresh.begin();
            *place = std::thread([=, this] {
                body(context);
                end(place);
            });
            live_.splice(live_.end(), fresh);
            return true;
        } catch (const std::exception&) { // std::system_error, std::bad_alloc
            return false;
        }
    }

    /// Joins all threads. No thread may be started during the call.
    void join_all() {
        {
            const std::lock_guard guard(lock_);
            joining_ = true;
        }
        for (std::thread& each : live_)
            each.join();
        for (std::thread& each : ended_)
            each.join();
    }

private:
    void end(std::list<std::thread>::iterator self) {
        std::list<std::thread> before;
        {
            const std::lock_guard guard(lock_);
            if (joining_) return;
            before.swap(ended_);
            ended_.splice(ended_.end(), live_, self);
        }
        for (std::thread& each : before)
            each.join();
    }

    std::mutex lock_;
    bool joining_ = false;         // guarded by lock_, as all below
    std::list<std::thread> live_;  // threads that are not known to have ended
    std::list<std::thread> ended_; // at most one thread, which has nothing left to do except to
                                   // join another
};

struct asio_machine::impl {
    boost::asio::io_context context;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
        context.get_executor()};
    std::uint64_t start = read_clock(CLOCK_MONOTONIC);
    std::uint64_t upper_bound_start = 0; // earlier than `start` by a step of the coarse clock
    thread_group threads;
    std::mutex reactor_lock;
    std::atomic<bool> reactor_runs{false}; // written under reactor_lock
    std::mutex random_lock;
    std::mt19937_64 random_engine{std::random_device{}()}; // guarded by random_lock
};

asio_machine::asio_machine() : asio_machine(options{}) {}

asio_machine::asio_machine(const options& chosen)
    : machine(chosen.processors != 0 ? chosen.processors
                                     : std::max(1u, std::thread::hardware_concurrency())),
      impl_(std::make_unique<impl>()) {
    detail::prepare_process_barrier(); // takes long once, so not when the first timer is set
    timespec step{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &step);
    impl_->upper_bound_start =
        impl_->start - static_cast<std::uint64_t>(step.tv_nsec) / ns_per_tick - 1;
}

asio_machine::~asio_machine() {
    stop(true);
    impl_->work.reset();
    impl_->context.stop();
    impl_->threads.join_all();
}

boost::asio::io_context& asio_machine::context() {
    if (impl_->reactor_runs.load(std::memory_order_acquire)) return impl_->context;
    const std::lock_guard guard(impl_->reactor_lock);
    if (impl_->reactor_runs.load(std::memory_order_relaxed)) return impl_->context;
    const bool started = start_thread(
        -1,
        [](void* self) {
            auto& owner = *static_cast<asio_machine*>(self);
            const scope inside(owner);
            owner.impl_->context.run();
        },
        this);
    if (!started)
        detail::bug_check(MANUALLY_INITIATED_CRASH,
                          "no thread could be started for the machine's io_context");
    impl_->reactor_runs.store(true, std::memory_order_release);
    return impl_->context;
}

std::uint64_t asio_machine::interrupt_time() { return read_clock(CLOCK_MONOTONIC) - impl_->start; }

std::uint64_t asio_machine::coarse_time() {
    const std::uint64_t now = read_clock(CLOCK_MONOTONIC_COARSE);
    return now > impl_->start ? now - impl_->start : 0;
}

std::uint64_t asio_machine::clock_upper_bound() {
    return read_clock(CLOCK_MONOTONIC_COARSE) - impl_->upper_bound_start;
}

std::uint64_t asio_machine::system_time() { return read_clock(CLOCK_REALTIME) + unix_epoch; }

// Consumes the token by an exchange. A plain store becomes visible later: a second wake before that
// would find the token still set and be overwritten with it, and the thread would miss the event
// that caused the wake.
static bool consume_token(processor& self) {
    return self.parking.exchange(awake, std::memory_order_acquire) == token_set;
}

bool asio_machine::park(processor& self, std::uint64_t deadline) {
    std::uint32_t seen = awake;
    if (self.parking.load(std::memory_order_relaxed) == token_set) return consume_token(self);
    if (deadline != detail::no_deadline && interrupt_time() >= deadline) return false;
    if (!self.parking.compare_exchange_strong(seen, asleep, std::memory_order_acquire))
        return consume_token(self);
    timespec until{};
    if (deadline != detail::no_deadline) {
        const std::uint64_t at = impl_->start + deadline;
        until.tv_sec = static_cast<time_t>(std::min<std::uint64_t>(at / 10'000'000, INT_MAX));
        until.tv_nsec = static_cast<long>(at % 10'000'000 * ns_per_tick);
    }
    for (;;) {
        const bool late = futex(self.parking, FUTEX_WAIT_BITSET, asleep,
                                deadline != detail::no_deadline ? &until : nullptr) != 0 &&
                          errno == ETIMEDOUT;
        if (late || self.parking.load(std::memory_order_relaxed) != asleep)
            return consume_token(self);
    }
}

void asio_machine::unpark(processor& target) {
    if (target.parking.exchange(token_set, std::memory_order_release) == asleep)
        futex(target.parking, FUTEX_WAKE, 1, nullptr);
}

bool asio_machine::start_thread(int, void (*body)(void*), void* context) {
    return impl_->threads.start(body, context);
}

void asio_machine::sched_point(processor&, detail::point, const void*) {}

void asio_machine::spin(processor&, bool (*)(const void*), const void*, unsigned turn) {
    detail::spin_turn(turn);
}

void asio_machine::stall(processor&, std::uint64_t ticks) {
    const std::uint64_t until = interrupt_time() + ticks;
    while (interrupt_time() < until)
        detail::cpu_relax();
}

std::uint64_t asio_machine::random() {
    const std::lock_guard guard(impl_->random_lock);
    return impl_->random_engine();
}

} // namespace irpverbs::dispatch
