// Attachments of queue pairs to multicast groups.
#include "address.hpp"
#include "attributes.hpp"
#include "open_device.hpp"
#include "own_objects.hpp"
#include "queue_pair.hpp"
#include "verb_call.hpp"

#include <algorithm>
#include <new>

namespace irpverbs::verbs {

namespace {

auto find(queue_pair& in, const ib_gid_t& gid, ib_lid_t lid) {
    return std::ranges::find_if(in.groups, [&](const IB_MCAST* each) {
        return IbSameGid(each->Gid, gid) && each->Lid == lid;
    });
}

bool is_on_ethernet(const ibv_qp* qp) {
    ibv_port_attr attr{};
    return query_port(qp->context, 1, &attr, sizeof(attr)) == 0 &&
           attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

// Ethernet has no LIDs: programs pass 0, and CiAttachMcast takes any group's.
ib_lid_t lid_for(const ibv_qp* qp, std::uint16_t lid) {
    return lid == 0 && is_on_ethernet(qp) ? IB_LID_MULTICAST_FIRST : lid;
}

} // namespace

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

// A second attachment to the same group has no effect, as in the kernel.
int irpverbs_ibv_attach_mcast(ibv_qp* shown, const ibv_gid* gid, std::uint16_t lid) try {
    auto& self = queue_pair::of(shown);
    const ib_gid_t group = from_libibverbs(*gid);
    const ib_lid_t group_lid = lid_for(shown, lid);
    const std::lock_guard guard(self.groups_lock);
    if (find(self, group, group_lid) != self.groups.end()) return 0;
    self.groups.reserve(self.groups.size() + 1);
    const outcome done =
        call(CiAttachMcast, self.qp, &group, ib_lid_t(group_lid), static_cast<CI_UDATA*>(nullptr));
    auto* const made = own_object<IB_MCAST>(open_device::of(shown->context).ca(), done);
    if (made != nullptr) self.groups.push_back(made);
    return done.error();
} catch (const std::bad_alloc&) {
    return ENOMEM;
}

int irpverbs_ibv_detach_mcast(ibv_qp* shown, const ibv_gid* gid, std::uint16_t lid) {
    auto& self = queue_pair::of(shown);
    const ib_lid_t group_lid = lid_for(shown, lid);
    const std::lock_guard guard(self.groups_lock);
    const auto place = find(self, from_libibverbs(*gid), group_lid);
    if (place == self.groups.end()) return EINVAL;
    const outcome done = destroy_own(CiDetachMcast, *place);
    if (done) self.groups.erase(place);
    return done.error();
}

} // extern "C"
