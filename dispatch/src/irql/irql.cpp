#include "irql_rules.hpp"
#include "verify/hooks.hpp"

#include <dispatch/irql.h>
#include <dispatch/machine.hpp>

using namespace irpverbs::dispatch::detail;

namespace {

// SDV requires APC_LEVEL where the functions' own pages allow a higher level.
void check_sdv_irql(irql_rule rule) {
    if (settings.strict_sdv_irql.load(std::memory_order_relaxed)) rule.level = APC_LEVEL;
    check_irql(rule);
}

bool all_apcs_disabled(const processor& self) {
    return self.irql >= APC_LEVEL || self.thread->SpecialApcDisable != 0;
}

} // namespace

extern "C" {

KIRQL KeGetCurrentIrql(void) { return this_processor().irql; }

void KeRaiseIrql(KIRQL NewIrql, PKIRQL OldIrql) {
    processor& self = this_processor();
    if (verifying()) check_raise(self, NewIrql);
    if (NewIrql < self.irql)
        bug_check(IRQL_NOT_GREATER_OR_EQUAL, "KeRaiseIrql was asked to lower the IRQL", self.irql,
                  NewIrql);
    *OldIrql = self.irql;
    self.irql = NewIrql;
}

KIRQL KeRaiseIrqlToDpcLevel(void) {
    processor& self = this_processor();
    if (verifying()) {
        check_irql(irql_rules::KeRaiseIrqlToDpcLevel);
        record_raise(self, self.irql);
    }
    const KIRQL old = self.irql;
    if (old > DISPATCH_LEVEL)
        bug_check(IRQL_NOT_GREATER_OR_EQUAL,
                  "KeRaiseIrqlToDpcLevel was called above DISPATCH_LEVEL", old, DISPATCH_LEVEL);
    self.irql = DISPATCH_LEVEL;
    return old;
}

void KeLowerIrql(KIRQL NewIrql) {
    processor& self = this_processor();
    if (verifying()) check_lower(self, NewIrql);
    if (NewIrql > self.irql)
        bug_check(IRQL_NOT_LESS_OR_EQUAL, "KeLowerIrql was asked to raise the IRQL", NewIrql,
                  self.irql);
    lower_irql(self, NewIrql);
}

ULONG KeGetCurrentProcessorNumber(void) { return this_processor().number; }

ULONG KeGetCurrentProcessorNumberEx(PPROCESSOR_NUMBER ProcNumber) {
    const ULONG number = KeGetCurrentProcessorNumber();
    if (ProcNumber != nullptr) *ProcNumber = {0, static_cast<UCHAR>(number), 0};
    return number;
}

ULONG KeQueryActiveProcessorCount(PKAFFINITY ActiveProcessors) {
    if (ActiveProcessors != nullptr) *ActiveProcessors = KeQueryActiveProcessors();
    return this_processor().owner->processor_count();
}

ULONG KeQueryActiveProcessorCountEx(USHORT GroupNumber) {
    if (GroupNumber != 0 && GroupNumber != ALL_PROCESSOR_GROUPS) return 0;
    return KeQueryActiveProcessorCount(nullptr);
}

KAFFINITY KeQueryActiveProcessors(void) {
    if (verifying()) check_sdv_irql(irql_rules::KeQueryActiveProcessors);
    constexpr unsigned bits = 8 * sizeof(KAFFINITY);
    const ULONG count = KeQueryActiveProcessorCount(nullptr);
    return count >= bits ? ~KAFFINITY{0} : (KAFFINITY{1} << count) - 1;
}

ULONG KeQueryMaximumProcessorCount(void) { return MAXIMUM_PROCESSORS; }

ULONG KeQueryMaximumProcessorCountEx(USHORT GroupNumber) {
    return GroupNumber == 0 || GroupNumber == ALL_PROCESSOR_GROUPS ? MAXIMUM_PROCESSORS : 0;
}

void KeEnterCriticalRegion(void) {
    processor& self = this_processor();
    if (verifying()) {
        check_irql(irql_rules::KeEnterCriticalRegion);
        region_entered(self, region::critical);
    }
    ++self.thread->KernelApcDisable;
}

void KeLeaveCriticalRegion(void) {
    processor& self = this_processor();
    KTHREAD& thread = *self.thread;
    if (verifying()) {
        check_irql(irql_rules::KeLeaveCriticalRegion);
        region_left(self, region::critical, thread.KernelApcDisable != 0);
    }
    if (thread.KernelApcDisable == 0)
        bug_check(DRIVER_VERIFIER_DETECTED_VIOLATION,
                  "KeLeaveCriticalRegion without KeEnterCriticalRegion", 0x00040003);
    --thread.KernelApcDisable;
}

void KeEnterGuardedRegion(void) {
    processor& self = this_processor();
    if (verifying()) {
        check_irql(irql_rules::KeEnterGuardedRegion);
        region_entered(self, region::guarded);
    }
    ++self.thread->SpecialApcDisable;
}

void KeLeaveGuardedRegion(void) {
    processor& self = this_processor();
    KTHREAD& thread = *self.thread;
    if (verifying()) {
        check_irql(irql_rules::KeLeaveGuardedRegion);
        region_left(self, region::guarded, thread.SpecialApcDisable != 0);
    }
    if (thread.SpecialApcDisable == 0)
        bug_check(DRIVER_VERIFIER_DETECTED_VIOLATION,
                  "KeLeaveGuardedRegion without KeEnterGuardedRegion", 0x0004000E);
    --thread.SpecialApcDisable;
}

BOOLEAN KeAreAllApcsDisabled(void) {
    if (verifying()) check_sdv_irql(irql_rules::KeAreAllApcsDisabled);
    return all_apcs_disabled(this_processor());
}

BOOLEAN KeAreApcsDisabled(void) {
    if (verifying()) check_sdv_irql(irql_rules::KeAreApcsDisabled);
    const processor& self = this_processor();
    return all_apcs_disabled(self) || self.thread->KernelApcDisable != 0;
}

void KeAssertPagedCode(const char* Function) {
    if (enabled(check::irql) && this_processor().irql > APC_LEVEL)
        check_paged_code(this_processor(), Function);
}

} // extern "C"
