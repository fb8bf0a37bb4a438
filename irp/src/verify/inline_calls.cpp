// What the inline functions of irp/irp.h tell: see IRPVERBS_CHECKED_INLINES.
#include "../rules.hpp"

#include <irp/irp.h>

namespace irpverbs::irp::verify {
namespace {

// Only those of them that have a precondition.
void check_level(INLINE_IRP_CALL which) {
    if (which == InlineSetCompletionRoutine) VERIFY_IRQL(IoSetCompletionRoutine);
    if (which == InlineCopyLocation) VERIFY_IRQL(IoCopyCurrentIrpStackLocationToNext);
}

} // namespace
} // namespace irpverbs::irp::verify

extern "C" void VerifierInlineCall(PIRP, INLINE_IRP_CALL Which) {
    if (irpverbs::dispatch::detail::verifying()) irpverbs::irp::verify::check_level(Which);
}
