#include "dpc/dpc.hpp"
#include "irql/irql_rules.hpp"
#include "machine/machine_state.hpp"
#include "verify/hooks.hpp"
#include "wait/waiting.hpp"

#include <dispatch/testing/probe.hpp>
#include <dispatch/timer.h>

#include <algorithm>

namespace irpverbs::dispatch::detail {
namespace {

// Steps of the wheel: 2^13 * 100 ns, about 0.8 ms, in real time; 100 ns in virtual time.
constexpr unsigned real_shift = 13;
constexpr std::uint64_t ticks_per_ms = 10'000;
// For due times farther away than this, the cheap clock is precise enough.
constexpr std::uint64_t far_away = 64 * ticks_per_ms;

[[gnu::always_inline]] inline std::uint64_t due_time(machine& owner, LONGLONG due) {
    const std::uint64_t distance = 0 - static_cast<std::uint64_t>(due);
    return (distance >= far_away ? owner.clock_upper_bound() : owner.interrupt_time()) + distance;
}

// Null: the timer is not set; the machine on which it was last set may have ended.
timer_service* queue_of(const KTIMER& timer) {
    return static_cast<timer_service*>(__atomic_load_n(&timer.Queue, __ATOMIC_ACQUIRE));
}
void set_queue(KTIMER& timer, timer_service* queue) {
    __atomic_store_n(&timer.Queue, static_cast<PVOID>(queue), __ATOMIC_RELEASE);
}

[[gnu::cold, gnu::noinline]] void wake_time_keeper(machine& owner) {
    owner.unpark(owner.state().dedicated_processor(0));
}

} // namespace

[[gnu::cold, gnu::noinline]] void timer_service::begin(machine& owner) {
    wheel_ = std::make_unique<timer_wheel>();
    shift_ = owner.simulated() ? 0 : real_shift;
    lock_.allow_bias(owner);
}

std::uint64_t timer_service::rounded_up(std::uint64_t due) const {
    const std::uint64_t round_up = (std::uint64_t{1} << shift_) - 1;
    return (due <= no_deadline - round_up ? due + round_up : due) >> shift_;
}

[[gnu::always_inline]] inline void timer_service::link(KTIMER& timer, std::uint64_t due) {
    const std::uint64_t round_up = (std::uint64_t{1} << shift_) - 1;
    const bool representable = due <= no_deadline - round_up;
    const std::uint64_t tick = (representable ? due + round_up : due) >> shift_;
    if (timer.Header.Periodic != 0)
        timer.RoundedUp = representable ? static_cast<ULONG>((tick << shift_) - due) : 0;
    wheel_->link(timer, tick);
}

[[gnu::always_inline]] inline void timer_service::disarm(KTIMER& timer) {
    wheel_->unlink(timer);
    set_queue(timer, nullptr);
}

[[gnu::noinline]] void timer_service::unlink_armed(KTIMER& timer) { wheel_->unlink(timer); }

// Returns true when the timer was set.
[[gnu::always_inline]] inline bool timer_service::prepare(KTIMER& timer, ULONG period, KDPC* dpc) {
    const bool was_set = timer.Queue != nullptr;
    if (was_set) [[unlikely]]
        unlink_armed(timer);
    set_queue(timer, this);
    timer.Dpc = dpc;
    timer.Header.Periodic = period != 0;
    if (period != 0) timer.Period = period;
    set_state(timer.Header, 0);
    return was_set;
}

[[gnu::always_inline]] inline bool timer_service::set(processor& self, KTIMER& timer,
                                                      LARGE_INTEGER due, ULONG period, KDPC* dpc) {
    machine& owner = *self.owner;
    const std::uint64_t when = due_time(owner, due.QuadPart);
    const bool biased = lock_.acquire(self);
    if (wheel_ == nullptr) [[unlikely]]
        begin(owner);
    const bool was_set = prepare(timer, period, dpc);
    link(timer, when);
    const bool sooner = timer.DueTime < next_wake_;
    if (sooner) next_wake_ = timer.DueTime;
    lock_.release(self, biased);
    if (sooner) [[unlikely]]
        wake_time_keeper(owner);
    return was_set;
}

[[gnu::cold, gnu::noinline]] bool timer_service::set_absolute(machine& owner, KTIMER& timer,
                                                              std::uint64_t due, ULONG period,
                                                              KDPC* dpc) {
    bool was_set = false;
    {
        const std::lock_guard guard(lock_);
        if (wheel_ == nullptr) begin(owner);
        const std::uint64_t now = owner.system_time() >> shift_;
        if (!wheel_->has_system_time()) wheel_->begin_system_time(now);
        wheel_->resync_system_time(now);
        was_set = prepare(timer, period, dpc);
        wheel_->link(timer, rounded_up(due), clock_kind::system_time);
        next_wake_ = 0; // the time keeper computes it
    }
    wake_time_keeper(owner);
    return was_set;
}

[[gnu::always_inline]] inline bool timer_service::cancel(processor& self, KTIMER& timer) {
    const bool biased = lock_.acquire(self);
    const bool was_set = timer.Queue != nullptr;
    if (was_set) disarm(timer);
    lock_.release(self, biased);
    return was_set;
}

void timer_service::signal(processor& self, KTIMER& timer) {
    KDPC* const dpc = timer.Dpc;
    if (timer.Header.Periodic == 0 && verifying())
        remove_live_object(live_object_kind::timer, &timer);
    signal_timer(timer);
    if (dpc == nullptr) return;
    self.irql = DISPATCH_LEVEL;
    enqueue_dpc(self, *dpc, nullptr, nullptr);
    self.irql = PASSIVE_LEVEL;
}

// Under the lock. The periods after an absolute time are in machine time.
void timer_service::expire_absolute(machine& owner, processor& self) {
    const std::uint64_t now = owner.system_time() >> shift_;
    wheel_->resync_system_time(now);
    while (KTIMER* timer = wheel_->remove_due(now, clock_kind::system_time)) {
        if (timer->Header.Periodic != 0)
            link(*timer, owner.interrupt_time() + timer->Period * ticks_per_ms);
        signal(self, *timer);
    }
    const std::uint64_t next = wheel_->next_tick(clock_kind::system_time);
    if (next != timer_wheel::no_tick)
        next_wake_ = rounded_up(next_clock_check(owner, next << shift_));
}

// Periods that passed before the timer was served fire once, as their DPC is queued once.
std::uint64_t timer_service::next_period(const KTIMER& timer, std::uint64_t now) const {
    const std::uint64_t period = timer.Period * ticks_per_ms;
    const std::uint64_t due = (timer.DueTime << shift_) - timer.RoundedUp + period;
    return due >= now ? due : due + (now - due + period - 1) / period * period;
}

std::uint64_t timer_service::expire(machine& owner) {
    processor& self = this_processor();
    const std::lock_guard guard(lock_);
    if (wheel_ == nullptr) return no_deadline;
    const std::uint64_t now = owner.interrupt_time() >> shift_;
    // The owner may free a timer as soon as it can't be cancelled any more, so the timer is
    // signalled under the lock.
    while (KTIMER* timer = wheel_->remove_due(now, clock_kind::machine_time)) {
        if (timer->Header.Periodic != 0) link(*timer, next_period(*timer, now << shift_));
        signal(self, *timer);
    }
    next_wake_ = timer_wheel::no_tick;
    if (wheel_->has_system_time()) expire_absolute(owner, self);
    next_wake_ = std::min(next_wake_, wheel_->next_tick(clock_kind::machine_time));
    return next_wake_ == timer_wheel::no_tick ? no_deadline : next_wake_ << shift_;
}

// The DPC of a timer that is set exists, so it may be read: the DPC of a periodic timer may be
// queued.
void timer_service::check_cancel(const KTIMER& timer) {
    const std::lock_guard guard(lock_);
    if (queue_of(timer) != this || timer.Dpc == nullptr) return;
    if (__atomic_load_n(&timer.Dpc->DpcData, __ATOMIC_RELAXED) != nullptr)
        IRPVERBS_PROBE("timer.cancelled_with_its_dpc_queued");
}

void timer_service::await_expiry() { const std::lock_guard guard(lock_); }

// The simulator calls this while no actor runs. When an actor was stopped under the lock, it is
// handling a timer.
bool timer_service::has_one_shot() {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard) return true;
    return wheel_ != nullptr &&
           wheel_->visit_until([](const KTIMER& timer) { return timer.Header.Periodic == 0; });
}

// The lock may stay held: an actor of a simulated run that failed may hold it for ever.
void timer_service::unlink_all() {
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (wheel_ == nullptr) return;
    wheel_->visit_until([this](KTIMER& timer) {
        if (queue_of(timer) == this) set_queue(timer, nullptr);
        return false;
    });
    wheel_ = nullptr;
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch;
using namespace irpverbs::dispatch::detail;

namespace {

void register_timer(KTIMER* timer) {
    VERIFY_IRQL(KeInitializeTimer);
    name_object(timer, "timer");
    if (verifying()) check_reinitialised(this_processor(), live_object_kind::timer, timer);
}

void instrumented_set(KTIMER* timer, const KDPC* dpc) {
    instrumented_call(irql_rules::KeSetTimer, point::timer_set, timer);
    if (verifying())
        add_live_object(this_processor(), live_object_kind::timer, timer,
                        dpc == nullptr ? nullptr : routine_address(dpc->DeferredRoutine));
}

// Sets a timer at an absolute time, or one that is set on another machine.
[[gnu::cold, gnu::noinline]] BOOLEAN set_unusually(processor& self, KTIMER& timer,
                                                   LARGE_INTEGER due, ULONG period, KDPC* dpc) {
    timer_service& timers = self.owner->state().timers;
    timer_service* before = queue_of(timer);
    const bool moved = before != nullptr && before != &timers && before->cancel(self, timer);
    const bool was_set =
        due.QuadPart > 0
            ? timers.set_absolute(*self.owner, timer, static_cast<std::uint64_t>(due.QuadPart),
                                  period, dpc)
            : timers.set(self, timer, due, period, dpc);
    return was_set || moved;
}

[[gnu::always_inline]] inline BOOLEAN set_timer(KTIMER* timer, LARGE_INTEGER due, ULONG period,
                                                KDPC* dpc) {
    if (instrumented()) instrumented_set(timer, dpc);
    processor& self = this_processor();
    timer_service& timers = self.owner->state().timers;
    timer_service* before = queue_of(*timer);
    if (due.QuadPart > 0 || (before != nullptr && before != &timers)) [[unlikely]]
        return set_unusually(self, *timer, due, period, dpc);
    return timers.set(self, *timer, due, period, dpc);
}

void instrumented_cancel(KTIMER* timer) {
    instrumented_call(irql_rules::KeCancelTimer, point::timer_set, timer);
    if (timer_service* timers = queue_of(*timer)) timers->check_cancel(*timer);
    if (verifying()) remove_live_object(live_object_kind::timer, timer);
}

} // namespace

extern "C" {

void KeInitializeTimerEx(PKTIMER Timer, TIMER_TYPE Type) {
    if (instrumented()) register_timer(Timer);
    *Timer = {};
    Timer->Header.Type = Type == NotificationTimer ? 5 : 6;
    InitializeListHead(&Timer->Header.WaitListHead);
}

void KeInitializeTimer(PKTIMER Timer) { KeInitializeTimerEx(Timer, NotificationTimer); }

BOOLEAN KeSetTimerEx(PKTIMER Timer, LARGE_INTEGER DueTime, LONG Period, PKDPC Dpc) {
    return set_timer(Timer, DueTime, Period > 0 ? static_cast<ULONG>(Period) : 0, Dpc);
}

BOOLEAN KeSetTimer(PKTIMER Timer, LARGE_INTEGER DueTime, PKDPC Dpc) {
    return set_timer(Timer, DueTime, 0, Dpc);
}

BOOLEAN KeCancelTimer(PKTIMER Timer) {
    if (instrumented()) instrumented_cancel(Timer);
    timer_service* timers = queue_of(*Timer);
    return timers != nullptr && timers->cancel(this_processor(), *Timer);
}

BOOLEAN KeReadStateTimer(PKTIMER Timer) {
    VERIFY_IRQL(KeReadStateTimer);
    return state_of(Timer->Header) != 0;
}

ULONGLONG KeQueryInterruptTime(void) { return this_processor().owner->interrupt_time(); }

void KeQuerySystemTime(PLARGE_INTEGER CurrentTime) {
    machine& owner = *this_processor().owner;
    CurrentTime->QuadPart = static_cast<LONGLONG>(owner.system_time());
}

ULONG KeQueryTimeIncrement(void) { return 1u << real_shift; }

void KeQueryTickCount(PLARGE_INTEGER TickCount) {
    TickCount->QuadPart = static_cast<LONGLONG>(KeQueryInterruptTime() >> real_shift);
}

LARGE_INTEGER KeQueryPerformanceCounter(PLARGE_INTEGER PerformanceFrequency) {
    if (PerformanceFrequency != nullptr) PerformanceFrequency->QuadPart = 10'000'000;
    LARGE_INTEGER now;
    now.QuadPart = static_cast<LONGLONG>(KeQueryInterruptTime());
    return now;
}

void KeStallExecutionProcessor(ULONG MicroSeconds) {
    processor& self = this_processor();
    self.owner->stall(self, std::uint64_t{MicroSeconds} * 10);
}

} // extern "C"
