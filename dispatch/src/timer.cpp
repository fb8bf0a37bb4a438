#include "dpc.hpp"
#include "machine_state.hpp"
#include "rules.hpp"
#include "verify/live_objects.hpp"
#include "waiting.hpp"

#include <dispatch/timer.h>

namespace irpverbs::dispatch::detail {
namespace {

// Real time is kept in steps of 2^13 * 100 ns, about 0.8 ms; virtual time exactly.
constexpr unsigned real_shift = 13;
constexpr std::uint64_t ticks_per_ms = 10'000;
// Beyond this the cheap clock is near enough.
constexpr std::uint64_t far_away = 64 * ticks_per_ms;

std::uint64_t due_time(machine& owner, LARGE_INTEGER due) {
    if (due.QuadPart > 0) {
        const auto absolute = static_cast<std::uint64_t>(due.QuadPart);
        const std::uint64_t boot = owner.boot_time();
        return absolute > boot ? absolute - boot : 0;
    }
    const std::uint64_t distance = 0 - static_cast<std::uint64_t>(due.QuadPart);
    if (distance >= far_away) return owner.coarse_time() + owner.coarse_error() + distance;
    return owner.interrupt_time() + distance;
}

// Null: the timer is not set, and the machine it was set on may be gone.
machine* machine_of(const KTIMER& timer) {
    return static_cast<machine*>(__atomic_load_n(&timer.Machine, __ATOMIC_ACQUIRE));
}

} // namespace

void timer_service::link(KTIMER& timer, std::uint64_t due) {
    const std::uint64_t round_up = (std::uint64_t{1} << shift_) - 1;
    const bool representable = due <= no_deadline - round_up;
    const std::uint64_t tick = (representable ? due + round_up : due) >> shift_;
    timer.RoundedUp = representable ? static_cast<ULONG>((tick << shift_) - due) : 0;
    wheel_->link(timer, tick);
}

void timer_service::disarm(KTIMER& timer) {
    wheel_->unlink(timer);
    if (timer.Period == 0) --once_;
    __atomic_store_n(&timer.Machine, nullptr, __ATOMIC_RELEASE);
}

bool timer_service::set(machine& owner, KTIMER& timer, std::uint64_t due, ULONG period, KDPC* dpc) {
    bool was_set = false;
    bool sooner = false;
    {
        const std::lock_guard guard(lock_);
        if (wheel_ == nullptr) {
            wheel_ = std::make_unique<timer_wheel>();
            shift_ = owner.simulated() ? 0 : real_shift;
        }
        was_set = timer.Machine != nullptr;
        if (was_set) disarm(timer);
        __atomic_store_n(&timer.Machine, static_cast<PVOID>(&owner), __ATOMIC_RELEASE);
        timer.Dpc = dpc;
        timer.Period = period;
        set_state(timer.Header, 0);
        if (period == 0) ++once_;
        link(timer, due);
        sooner = timer.DueTime < look_again_;
        if (sooner) look_again_ = timer.DueTime;
    }
    if (sooner) owner.unpark(owner.state().home(0));
    return was_set;
}

bool timer_service::cancel(KTIMER& timer) {
    const std::lock_guard guard(lock_);
    if (timer.Machine == nullptr) return false;
    disarm(timer);
    return true;
}

std::uint64_t timer_service::expire(machine& owner) {
    processor& self = this_processor();
    const std::lock_guard guard(lock_);
    if (wheel_ == nullptr) return no_deadline;
    const std::uint64_t now = owner.interrupt_time() >> shift_;
    // A timer may be freed as soon as it can't be cancelled any more, so it is signalled under the
    // lock.
    while (KTIMER* timer = wheel_->pop(now)) {
        KDPC* dpc = timer->Dpc;
        if (timer->Period != 0) {
            link(*timer,
                 (timer->DueTime << shift_) - timer->RoundedUp + timer->Period * ticks_per_ms);
        } else {
            --once_;
            if (verifying()) forget_live(live_kind::timer, timer);
        }
        signal_timer(*timer);
        if (dpc != nullptr) {
            self.irql = DISPATCH_LEVEL;
            enqueue_dpc(self, *dpc, nullptr, nullptr);
            self.irql = PASSIVE_LEVEL;
        }
    }
    look_again_ = wheel_->next_tick();
    return look_again_ == timer_wheel::no_tick ? no_deadline : look_again_ << shift_;
}

bool timer_service::once_armed() {
    const std::lock_guard guard(lock_);
    return once_ != 0;
}

} // namespace irpverbs::dispatch::detail

using namespace irpverbs::dispatch;
using namespace irpverbs::dispatch::detail;

namespace {

void introduce_timer(KTIMER* timer) {
    VERIFY_IRQL(KeInitializeTimer);
    introduce(timer, "timer");
    if (verifying()) check_reinitialised(this_processor(), live_kind::timer, timer);
}

void look_on_set(KTIMER* timer) {
    look_on(irql_rules::KeSetTimer, point::timer_set, timer);
    if (verifying()) note_live(this_processor(), live_kind::timer, timer);
}

void look_on_cancel(KTIMER* timer) {
    look_on(irql_rules::KeCancelTimer, point::timer_set, timer);
    if (verifying()) forget_live(live_kind::timer, timer);
}

} // namespace

extern "C" {

void KeInitializeTimerEx(PKTIMER Timer, TIMER_TYPE Type) {
    if (instrumented()) introduce_timer(Timer);
    *Timer = {};
    Timer->Header.Type = Type == NotificationTimer ? 5 : 6;
    InitializeListHead(&Timer->Header.WaitListHead);
}

void KeInitializeTimer(PKTIMER Timer) { KeInitializeTimerEx(Timer, NotificationTimer); }

BOOLEAN KeSetTimerEx(PKTIMER Timer, LARGE_INTEGER DueTime, LONG Period, PKDPC Dpc) {
    if (instrumented()) look_on_set(Timer);
    machine& owner = *this_processor().owner;
    machine* before = machine_of(*Timer);
    const bool moved =
        before != nullptr && before != &owner && before->state().timers.cancel(*Timer);
    return owner.state().timers.set(owner, *Timer, due_time(owner, DueTime),
                                    Period > 0 ? static_cast<ULONG>(Period) : 0, Dpc) ||
           moved;
}

BOOLEAN KeSetTimer(PKTIMER Timer, LARGE_INTEGER DueTime, PKDPC Dpc) {
    return KeSetTimerEx(Timer, DueTime, 0, Dpc);
}

BOOLEAN KeCancelTimer(PKTIMER Timer) {
    if (instrumented()) look_on_cancel(Timer);
    machine* owner = machine_of(*Timer);
    return owner != nullptr && owner->state().timers.cancel(*Timer);
}

BOOLEAN KeReadStateTimer(PKTIMER Timer) {
    VERIFY_IRQL(KeReadStateTimer);
    return state_of(Timer->Header) != 0;
}

ULONGLONG KeQueryInterruptTime(void) { return this_processor().owner->interrupt_time(); }

void KeQuerySystemTime(PLARGE_INTEGER CurrentTime) {
    machine& owner = *this_processor().owner;
    CurrentTime->QuadPart = static_cast<LONGLONG>(owner.boot_time() + owner.interrupt_time());
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
