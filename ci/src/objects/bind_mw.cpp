// CiBindMw: the checks that do not depend on the driver.
#include "hca_device.hpp"
#include "qp/create_checks.hpp"

#include <dispatch/support/checks.hpp>

namespace {

using namespace irpverbs::ci;

constexpr irpverbs::dispatch::detail::irql_rule bind_rule{
    "CiBindMw", irpverbs::dispatch::detail::irql_bound::at_most, DISPATCH_LEVEL, 0x00020022,
    "IrqlIoDispatch"};

NTSTATUS check_binding(const HCA_MW& mw, const HCA_QP& qp, const ib_bind_wr_t& bind) {
    if (mw.Mw.Type != IB_MWT_TYPE_1 || qp.Create.qp_type == IB_QPT_UNRELIABLE_DGRM)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (qp.Pd != mw.Pd) return STATUS_INVALID_PARAMETER;
    const bool unbinds = bind.local_ds.length == 0;
    if (bind.h_mr == nullptr) return unbinds ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
    const auto& region = *reinterpret_cast<const HCA_MR*>(bind.h_mr);
    if (region.Pd != mw.Pd) return STATUS_INVALID_PARAMETER;
    // A region of pages lacks IB_AC_MW_BIND.
    return unbinds ? STATUS_SUCCESS : check_window(region.Create, bind);
}

} // namespace

extern "C" NTSTATUS CiBindMw(IB_MW* pMw, IB_QP* pQp, const ib_bind_wr_t* pBindWr, ULONG* pRKey) {
    if (irpverbs::dispatch::detail::verifying()) irpverbs::dispatch::detail::check_irql(bind_rule);
    if (pMw == nullptr || pQp == nullptr || pBindWr == nullptr || pRKey == nullptr)
        return STATUS_INVALID_PARAMETER;
    auto* mw = reinterpret_cast<HCA_MW*>(pMw);
    auto* qp = reinterpret_cast<HCA_QP*>(pQp);
    const hca_device& device = device_of(mw->Pd->Ca->Device);
    if (device.failed.load()) return STATUS_FILE_FORCED_CLOSED;
    NTSTATUS status = check_binding(*mw, *qp, *pBindWr);
    if (NT_SUCCESS(status)) status = device.operations.BindMw(mw, qp, pBindWr, pRKey);
    if (NT_SUCCESS(status)) pMw->RKey = *pRKey;
    return status;
}
