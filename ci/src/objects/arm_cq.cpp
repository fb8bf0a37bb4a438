// CiArmCqNow.
#include "hca_device.hpp"

#include <dispatch/support/checks.hpp>

namespace {

constexpr irpverbs::dispatch::detail::irql_rule arm_rule{
    "CiArmCqNow", irpverbs::dispatch::detail::irql_bound::at_most, DISPATCH_LEVEL, 0x00020022,
    "IrqlIoDispatch"};

} // namespace

// The checks have the order of those of the verb with an IRP.
extern "C" NTSTATUS CiArmCqNow(IB_CQ* pCq, ULONG Flags) {
    if (irpverbs::dispatch::detail::verifying()) irpverbs::dispatch::detail::check_irql(arm_rule);
    if (pCq == nullptr) return STATUS_INVALID_PARAMETER;
    auto* cq = reinterpret_cast<HCA_CQ*>(pCq);
    const irpverbs::ci::hca_device& device = irpverbs::ci::device_of(cq->Ca->Device);
    if (device.failed.load()) return STATUS_FILE_FORCED_CLOSED;
    if (Flags != IB_CQ_ARM_NEXT && Flags != IB_CQ_ARM_SOLICITED) return STATUS_INVALID_PARAMETER;
    return device.operations.ArmCq(cq, Flags, nullptr);
}
