#include "memory_objects.hpp"

#include "qp/create_checks.hpp"

#include <utility>

namespace irpverbs::ci {

namespace {

constexpr ULONG known_changes = IB_MR_MOD_ADDR | IB_MR_MOD_PD | IB_MR_MOD_ACCESS;

const auto& shared_in(const create_parameters& wanted) {
    return *static_cast<const ib_smr_create_t*>(wanted.attributes);
}

bool is_physical(const HCA_MR& region) { return region.Physical.num_ranges != 0; }

// ---- the changes: of regions of CiRegisterMr, and of those of CiRegisterPmr

bool is_for(const HCA_MR& region, const ib_mr_mod_t*) {
    return region.MaxPages == 0 && !is_physical(region) && region.Sharing.h_mr == nullptr;
}
bool is_for(const HCA_MR& region, const ib_phys_mod_t*) { return is_physical(region); }

HCA_PD* domain_after(const HCA_MR& region, const ib_mr_mod_t& wanted) {
    return HcaModifiedPd(&region, &wanted);
}
HCA_PD* domain_after(const HCA_MR& region, const ib_phys_mod_t& wanted) {
    return HcaModifiedPmrPd(&region, &wanted);
}

NTSTATUS check_after(const HCA_MR& region, const ib_mr_mod_t& wanted) {
    return check_region(HcaModifiedMr(&region, &wanted));
}
// The ranges of pages that stay do not exist any more.
NTSTATUS check_after(const HCA_MR& region, const ib_phys_mod_t& wanted) {
    const ib_phys_create_t after = HcaModifiedPmr(&region, &wanted);
    return (wanted.opts & IB_MR_MOD_ADDR) != 0 ? check_physical_region(after)
                                               : check_region(virtual_part(after));
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

template <class Change>
NTSTATUS mr_object::begin_change(const Change* wanted) {
    if (!is_for(shared, wanted)) return STATUS_INVALID_DEVICE_REQUEST;
    if (has_children()) return STATUS_DEVICE_BUSY;
    if (wanted == nullptr || wanted->opts == 0 || (wanted->opts & ~known_changes) != 0)
        return STATUS_INVALID_PARAMETER;
    HCA_PD* pd = domain_after(shared, *wanted);
    if (pd == nullptr || pd->Ca != shared.Pd->Ca) return STATUS_INVALID_PARAMETER;
    NTSTATUS status = check_after(shared, *wanted);
    if (!NT_SUCCESS(status)) return status;
    pd_object& next = pd_object::of(pd);
    status = next.add_child();
    if (NT_SUCCESS(status)) next_pd_ = &next;
    return status;
}
template NTSTATUS mr_object::begin_change(const ib_mr_mod_t*);
template NTSTATUS mr_object::begin_change(const ib_phys_mod_t*);

// Both domains count the region during the change. A query has no next domain.
void mr_object::on_changed(const parameters& with, NTSTATUS status) {
    pd_object* next = std::exchange(next_pd_, nullptr);
    if (next == nullptr) return;
    pd_object& before = parent();
    if (!NT_SUCCESS(status)) return next->remove_child();
    if (is_physical(shared)) {
        shared.Physical = HcaModifiedPmr(&shared, static_cast<const ib_phys_mod_t*>(with.buffer));
        shared.Create = virtual_part(shared.Physical);
    } else {
        shared.Create = HcaModifiedMr(&shared, static_cast<const ib_mr_mod_t*>(with.buffer));
    }
    shared.Pd = &next->shared;
    before.remove_child();
}

} // namespace irpverbs::ci
