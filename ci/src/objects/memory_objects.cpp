#include "memory_objects.hpp"

#include "qp/create_checks.hpp"

#include <utility>

namespace irpverbs::ci {

namespace {

constexpr ULONG known_changes = IB_MR_MOD_ADDR | IB_MR_MOD_PD | IB_MR_MOD_ACCESS;

}

NTSTATUS mr_object::begin_change(const ib_mr_mod_t* wanted) {
    if (shared.MaxPages != 0) return STATUS_INVALID_DEVICE_REQUEST;
    if (wanted == nullptr || wanted->opts == 0 || (wanted->opts & ~known_changes) != 0)
        return STATUS_INVALID_PARAMETER;
    HCA_PD* pd = HcaModifiedPd(&shared, wanted);
    if (pd == nullptr || pd->Ca != shared.Pd->Ca) return STATUS_INVALID_PARAMETER;
    NTSTATUS status = check_region(HcaModifiedMr(&shared, wanted));
    if (!NT_SUCCESS(status)) return status;
    pd_object& next = pd_object::of(pd);
    status = next.add_child();
    if (NT_SUCCESS(status)) next_pd_ = &next;
    return status;
}

// Both domains count the region during the change. A query has no next domain.
void mr_object::on_changed(const parameters& with, NTSTATUS status) {
    pd_object* next = std::exchange(next_pd_, nullptr);
    if (next == nullptr) return;
    pd_object& before = parent();
    if (!NT_SUCCESS(status)) return next->remove_child();
    shared.Create = HcaModifiedMr(&shared, static_cast<const ib_mr_mod_t*>(with.buffer));
    shared.Pd = &next->shared;
    before.remove_child();
}

} // namespace irpverbs::ci
