#include "memory_objects.hpp"

#include "qp/create_checks.hpp"

#include <utility>

namespace irpverbs::ci {

namespace {

constexpr ULONG known_changes = IB_MR_MOD_ADDR | IB_MR_MOD_PD | IB_MR_MOD_ACCESS;

const auto& shared_in(const create_parameters& wanted) {
    return *static_cast<const ib_smr_create_t*>(wanted.attributes);
}

bool is_changeable(const HCA_MR& region) {
    return region.MaxPages == 0 && region.Physical.num_ranges == 0 &&
           region.Sharing.h_mr == nullptr;
}

} // namespace

used_objects mr_object::used_by(const create_parameters& wanted) {
    if (wanted.verb != HCA_MN_REGISTER_SMR) return {};
    return {{mr_object::find(shared_in(wanted).h_mr), nullptr, nullptr}};
}

used_objects mr_object::used() const {
    return {{mr_object::find(shared.Sharing.h_mr), nullptr, nullptr}};
}

void mr_object::set_up(const create_parameters& wanted, event_channel*) {
    shared.Device = shared.Pd->Ca->Device;
    switch (wanted.verb) {
    case HCA_MN_ALLOCATE_FRMR:
        shared.MaxPages = wanted.count;
        break;
    case HCA_MN_REGISTER_MR:
        shared.Create = *static_cast<const ib_mr_create_t*>(wanted.attributes);
        break;
    case HCA_MN_REGISTER_PMR:
        shared.Physical = *static_cast<const ib_phys_create_t*>(wanted.attributes);
        shared.Create = virtual_part(shared.Physical);
        break;
    case HCA_MN_REGISTER_SMR:
        shared.Sharing = shared_in(wanted);
        shared.Create = virtual_part(shared.Sharing);
        break;
    }
}

NTSTATUS mr_object::begin_change(const ib_mr_mod_t* wanted) {
    if (!is_changeable(shared)) return STATUS_INVALID_DEVICE_REQUEST;
    if (has_children()) return STATUS_DEVICE_BUSY;
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
