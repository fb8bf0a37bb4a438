#include "multicast_attachments.hpp"

#include "adapter.hpp"
#include "queue_pair.hpp"

#include <memory>
#include <new>

namespace irpverbs::hca_software {

namespace {

qp_traffic& traffic_of(const HCA_MCAST* mcast) {
    return adapter::of(mcast->Qp->Pd->Ca->Device).traffic();
}

} // namespace

NTSTATUS attach_mcast(HCA_MCAST* mcast, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    if (adapter::of(mcast->Qp->Pd->Ca->Device).is_on_ethernet()) return STATUS_NOT_SUPPORTED;
    auto& made = *new (mcast->Extension) attachment(queue_pair::of(mcast->Qp), mcast->Mcast);
    if (traffic_of(mcast).attach(made)) return STATUS_SUCCESS;
    std::destroy_at(&made);
    return STATUS_INSUFFICIENT_RESOURCES;
}

NTSTATUS detach_mcast(HCA_MCAST* mcast, CI_UDATA* user, PIRP) {
    HcaCopyUserData(user, nullptr, 0);
    auto& ended = *static_cast<attachment*>(mcast->Extension);
    traffic_of(mcast).detach(ended);
    std::destroy_at(&ended);
    return STATUS_SUCCESS;
}

} // namespace irpverbs::hca_software
