// The queue pairs of an HCA that are attached to multicast groups.
#pragma once

#include <ci/driver.h>

#include <boost/intrusive/list.hpp>

#include <array>

namespace irpverbs::hca_software {

struct queue_pair;

inline constexpr ULONG max_attachments = 1u << 16;

/// HCA_MCAST.Extension.
struct attachment : boost::intrusive::list_base_hook<> {
    attachment(queue_pair& its, const ib_gid_t& group, ib_lid_t group_lid)
        : qp(its), gid(group), lid(group_lid) {}

    queue_pair& qp;
    const ib_gid_t gid;
    const ib_lid_t lid;
    WORK_QUEUE_ITEM work; // on Ethernet: joins or leaves the group for this IRP
    IRP* pending = nullptr;
};

/// Guarded by the fabric's lock.
class multicast_attachments {
public:
    /// False: max_attachments exist.
    bool add(attachment& added) {
        if (count_ == max_attachments) return false;
        ++count_;
        list_of(added.lid, added.gid).push_back(added);
        return true;
    }
    void remove(attachment& removed) {
        --count_;
        auto& from = list_of(removed.lid, removed.gid);
        from.erase(from.iterator_to(removed));
    }
    /// Calls `use` with the queue pair of each attachment to the group.
    template <class Use>
    void for_each(ib_lid_t lid, const ib_gid_t& gid, const Use& use) {
        for (attachment& each : list_of(lid, gid))
            if (each.lid == lid && each.gid == gid) use(each.qp);
    }

private:
    using list = boost::intrusive::list<attachment, boost::intrusive::constant_time_size<false>>;

    list& list_of(ib_lid_t lid, const ib_gid_t& gid) {
        return lists_[(lid ^ gid.gid_guid) % lists_.size()];
    }

    std::array<list, 256> lists_;
    ULONG count_ = 0;
};

NTSTATUS attach_mcast(HCA_MCAST* mcast, CI_UDATA* user, PIRP irp);
NTSTATUS detach_mcast(HCA_MCAST* mcast, CI_UDATA* user, PIRP irp);

} // namespace irpverbs::hca_software
