#include "hooks.hpp"

#include "processor_checks.hpp"
#include "verifier_rules.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace irpverbs::dispatch::detail {
namespace {

std::string from_to(const char* what, KIRQL from, KIRQL to) {
    char text[160];
    std::snprintf(text, sizeof text, "%s (from IRQL %u to %u)", what, unsigned{from}, unsigned{to});
    return text;
}

void report_with_id(finding found, ULONG_PTR id) {
    found.parameters[0] = id;
    report(found);
}

// The index of the first raise that counts: a DPC sees only its own raises, not those of the thread
// that it interrupted.
std::size_t first_raise(const verifier_state& state) {
    return std::min(state.floor, state.raises.size());
}

raise* raise_by(verifier_state& state, const void* lock) {
    for (std::size_t i = state.raises.size(); i-- > first_raise(state);)
        if (state.raises[i].lock == lock) return &state.raises[i];
    return nullptr;
}

raise* last_raise(verifier_state& state) {
    return state.raises.size() > first_raise(state) ? &state.raises.back() : nullptr;
}

// The raise that a release of `lock` ends: the lock's own, or that of a lock that was released
// before it.
raise* raise_ended_by(verifier_state& state, const void* lock) {
    raise* const own = raise_by(state, lock);
    return own != nullptr ? own : last_raise(state);
}

void report_lower_that_raises(processor& self, KIRQL to) {
    if (!enabled(check::irql)) return;
    report_with_id(make_finding(verifier_rules::IrqlKeRaiseLower,
                                from_to("KeLowerIrql raises the IRQL", self.irql, to), self.irql,
                                to),
                   0x31);
}

void end_raise(verifier_state& state, raise& begun) {
    state.raises.erase(state.raises.begin() + (&begun - state.raises.data()));
}

} // namespace

void record_raise(processor& self, KIRQL from) { record_raise(self, from, nullptr, {}); }

void record_raise(processor& self, KIRQL from, const void* lock, const call_stack& where) {
    if (!enabled(check::irql)) return;
    verifier_state_of(self).raises.push_back(
        {from, lock, where.count != 0 ? where : capture_stack(1, 16)});
}

void check_raise(processor& self, KIRQL to) {
    if (!enabled(check::irql)) return;
    if (to < self.irql)
        report(make_finding(verifier_rules::IrqlKeRaiseLower,
                            from_to("KeRaiseIrql lowers the IRQL", self.irql, to), self.irql, to));
    else
        record_raise(self, self.irql);
}

void check_lower(processor& self, KIRQL to) {
    if (to > self.irql) return report_lower_that_raises(self, to);
    if (const held_lock* held = to < DISPATCH_LEVEL ? first_held_spin_lock(self) : nullptr;
        held != nullptr && enabled(check::locks)) {
        finding found =
            make_finding(verifier_rules::SpinLock,
                         "the IRQL falls below DISPATCH_LEVEL while a spin lock is held",
                         reinterpret_cast<ULONG_PTR>(held->lock), self.number);
        found.add_stack("held since", held->where);
        report(found);
    }
    if (!enabled(check::irql)) return;
    verifier_state& state = verifier_state_of(self);
    if (state.in_dpc && to < DISPATCH_LEVEL)
        report_with_id(make_finding(verifier_rules::IrqlKeRaiseLower,
                                    from_to("a DPC lowers the IRQL", self.irql, to), self.irql, to),
                       0x31);
    raise* begun = last_raise(state);
    if (begun == nullptr) return;
    if (begun->from == to) return end_raise(state, *begun);
    finding found = make_finding(
        verifier_rules::IrqlKeRaiseLower2,
        from_to("KeLowerIrql does not restore what the paired raise saved", begun->from, to),
        self.irql, to, begun->from);
    found.add_stack("raised at", begun->where);
    // The raises in between have lost their paired falls.
    while (begun != nullptr && begun->from >= to) {
        end_raise(state, *begun);
        begun = last_raise(state);
    }
    report(found);
}

void check_release_irql(processor& self, const void* lock, KIRQL to) {
    if (!enabled(check::irql)) return;
    raise* begun = raise_ended_by(verifier_state_of(self), lock);
    if (begun == nullptr) return;
    // As KeReleaseSpinLockFromDpcLevel: the fall is left to KeLowerIrql or to another release.
    if (begun->from < to && to == self.irql) {
        begun->lock = nullptr;
        return;
    }
    if (begun->from != to) {
        finding found = make_finding(
            verifier_rules::IrqlKeReleaseSpinLock,
            from_to("a spin lock is released to another IRQL than it saved", begun->from, to),
            reinterpret_cast<ULONG_PTR>(lock), to, begun->from);
        found.add_stack("raised at", begun->where);
        report(found); // the handler may change or clear the records
    }
    verifier_state& state = verifier_state_of(self);
    if (raise* ended = raise_ended_by(state, lock)) end_raise(state, *ended);
}

void check_paged_code(processor& self, const char* function) {
    report(make_finding(verifier_rules::PagedCode,
                        std::string(function) + " is pageable code and runs above APC_LEVEL",
                        self.irql));
}

void check_wait_irql(processor& self, const char* function, bool may_wait, bool for_ever) {
    if (!enabled(check::irql)) return;
    if (self.irql < DISPATCH_LEVEL || (self.irql == DISPATCH_LEVEL && !may_wait)) return;
    const ULONG_PTR id = self.irql > DISPATCH_LEVEL ? 0x120 : for_ever ? 0x121 : 0x122;
    const bool multiple = std::string_view(function) == "KeWaitForMultipleObjects";
    report_with_id(
        make_finding(multiple ? verifier_rules::IrqlKeWaitForMultipleObjects
                              : verifier_rules::IrqlKeWaitForMutexObject,
                     from_to(function, self.irql, APC_LEVEL) +
                         ": waits are allowed at or below APC_LEVEL, and with a time-out of 0 "
                         "at DISPATCH_LEVEL",
                     self.irql),
        id);
}

} // namespace irpverbs::dispatch::detail
