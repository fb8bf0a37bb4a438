// Rules about the IRQL: every raise is paired with a fall. The functions are called on the slow
// path, and each tests whether IRQLs are watched.
#pragma once

#include "processor_checks.hpp"

namespace irpverbs::dispatch::detail {

/// Records that the IRQL is about to rise.
void record_raise(processor& self, KIRQL from);
/// Records that the acquisition of `lock` is about to raise the IRQL. `where` may be empty when the
/// stack is not known.
void record_raise(processor& self, KIRQL from, const void* lock, const call_stack& where);
/// Checks and records that KeRaiseIrql is about to set the IRQL.
void check_raise(processor& self, KIRQL to);
/// Checks that KeLowerIrql may set the IRQL.
void check_lower(processor& self, KIRQL to);
/// Checks that a release may set the IRQL.
void check_release_irql(processor& self, const void* lock, KIRQL to);

/// Reports PAGED_CODE above APC_LEVEL.
void check_paged_code(processor& self, const char* function);

/// Reports a wait at an IRQL that does not allow it. `may_wait`: the wait might not return at once;
/// `for_ever`: the wait has no time-out.
void check_wait_irql(processor& self, const char* function, bool may_wait, bool for_ever);

} // namespace irpverbs::dispatch::detail
