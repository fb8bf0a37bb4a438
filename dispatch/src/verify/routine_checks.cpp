#include "hooks.hpp"

#include "processor_checks.hpp"
#include "verifier_rules.hpp"

#include <dispatch/machine.hpp>

#include <algorithm>
#include <exception>

namespace irpverbs::dispatch::detail {
namespace {

const rule& rule_about(const held_lock& left) {
    if (left.kind == lock_kind::queued) return verifier_rules::QueuedSpinLock;
    return left.to_dpc ? verifier_rules::SpinLockDpc : verifier_rules::SpinLock;
}

void check_locks_left(processor& self, std::size_t before, const char* what) {
    if (!enabled(check::locks)) return;
    const std::span<const held_lock> all = held_locks(self);
    const std::span<const held_lock> new_ones = all.subspan(std::min(before, all.size()));
    const std::vector<held_lock> left(new_ones.begin(), new_ones.end());
    for (const held_lock& each : left) {
        if (!is_spin_lock(each.kind)) continue;
        finding found =
            make_finding(rule_about(each), std::string(what) + " returns with a spin lock held",
                         reinterpret_cast<ULONG_PTR>(each.lock), self.number);
        found.add_stack("held since", each.where);
        report(found);
    }
}

void check_limit(const rule& which, const char* text, std::uint64_t spent, std::uint64_t limit,
                 const dpc_call& call) {
    if (spent <= limit) return;
    report(make_finding(which,
                        text + std::to_string(spent / 10'000) + " ms, more than " +
                            std::to_string(limit / 10'000),
                        static_cast<ULONG_PTR>(spent), static_cast<ULONG_PTR>(limit),
                        reinterpret_cast<ULONG_PTR>(call.routine)));
}

struct dpc_start {
    std::uint64_t time = 0;
    std::uint64_t delayed = 0; // of this run so far
};

// Injected delays are not the driver's time.
void check_dpc_time(processor& self, const dpc_call& call, dpc_start entered, std::uint64_t begun) {
    if (!enabled(check::watchdog)) return;
    const std::uint64_t now = self.owner->interrupt_time();
    const std::uint64_t delayed = injected_delays(*self.owner);
    check_limit(verifier_rules::DpcTooLong, "a DPC took ",
                without(now - entered.time, delayed - entered.delayed), settings.dpc_limit, call);
    check_limit(verifier_rules::RaisedTooLong,
                "DPCs have kept the processor at DISPATCH_LEVEL for ",
                without(now - begun, delayed), settings.raised_limit, call);
}

/// Hides the interrupted thread's records from a DPC, and restores them afterwards.
class dpc_frame {
public:
    explicit dpc_frame(verifier_state& state)
        : state_(state), floor_(state.floor), outer_(state.in_dpc) {
        state.floor = state.raises.size();
        state.in_dpc = true;
    }
    ~dpc_frame() {
        if (state_.raises.size() > state_.floor) state_.raises.resize(state_.floor);
        state_.floor = floor_;
        state_.in_dpc = outer_;
    }
    dpc_frame(const dpc_frame&) = delete;
    dpc_frame& operator=(const dpc_frame&) = delete;

private:
    verifier_state& state_;
    std::size_t floor_;
    bool outer_;
};

} // namespace

void run_checked_dpc(processor& self, KDPC* dpc, const dpc_call& call, std::uint64_t begun) {
    const bool timed = enabled(check::watchdog);
    const dpc_start entered =
        timed ? dpc_start{self.owner->interrupt_time(), injected_delays(*self.owner)} : dpc_start{};
    const std::size_t held = held_locks(self).size();
    {
        const dpc_frame frame(verifier_state_of(self));
        call(dpc);
    }
    check_locks_left(self, held, "a DPC");
    if (timed) check_dpc_time(self, call, entered, begun);
}

void run_checked_routine(processor& self, const char* what, void (*routine)(void*), void* context) {
    verifier_state& state = verifier_state_of(self);
    const std::size_t held = held_locks(self).size();
    const std::size_t critical = state.critical_regions.size();
    const std::size_t guarded = state.guarded_regions.size();
    routine(context);
    check_locks_left(self, held, what);
    regions_left_open(self, critical, guarded, what);
}

// Never throws, since destructors call it too. It also runs after a test or a program stopped
// half-way.
void thread_ends(processor& self) noexcept {
    try {
        if (std::uncaught_exceptions() == 0) {
            check_locks_at_thread_end(self);
            regions_left_open(self, 0, 0, "a thread");
        }
    } catch (...) {
    }
    verifier_state_of(self).raises.clear();
}

void machine_stopped(machine& where) noexcept {
    try {
        if (std::uncaught_exceptions() == 0) check_pool_leaks(where);
    } catch (...) {
    }
}

} // namespace irpverbs::dispatch::detail
