// Rules about the IRQL: what raises it and what lowers it pair up. Called on the slow path; each
// looks itself whether IRQLs are watched.
#pragma once

#include "processor_checks.hpp"

namespace irpverbs::dispatch::detail {

/// The IRQL is about to rise.
void note_raise(processor& self, KIRQL from);
/// It does so by the acquisition of `lock`, at `where` if that is known.
void note_raise(processor& self, KIRQL from, const void* lock, const call_stack& where);
/// KeRaiseIrql is about to set it.
void note_raise_to(processor& self, KIRQL to);
/// KeLowerIrql is about to set it.
void check_lower(processor& self, KIRQL to);
/// A release is about to set it.
void check_release_irql(processor& self, const void* lock, KIRQL to);

/// PAGED_CODE above APC_LEVEL.
void check_paged_code(processor& self, const char* function);

/// A wait at an IRQL that does not allow it. `may_wait`: it would not come back at once;
/// `for_ever`: no time-out at all.
void check_wait_irql(processor& self, const char* function, bool may_wait, bool for_ever);

} // namespace irpverbs::dispatch::detail
