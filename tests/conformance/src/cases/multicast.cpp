// The attachment of queue pairs to multicast groups.
#include "queue_pairs.hpp"

namespace irpverbs::conformance {

namespace multicast_group {
namespace {

constexpr ib_gid_t group{0xFF12401BFFFF0000, 1};
constexpr ib_lid_t group_lid = 0xC001;

/// An attachment; the destructor detaches it.
class mcast {
public:
    explicit mcast(IB_QP* parent)
        : mcast_(reinterpret_cast<IB_MCAST*>(must(attach_mcast(parent, &group, group_lid)))) {}
    ~mcast() { EXPECT_STATUS(verb_call(detach_mcast(mcast_)).status(), STATUS_SUCCESS); }
    mcast(const mcast&) = delete;
    mcast& operator=(const mcast&) = delete;

    const IB_MCAST* operator->() const { return mcast_; }

private:
    IB_MCAST* mcast_;
};

void attached_queue_pair_is_busy(world& here) {
    const qp_scene scene(here, IB_QPT_UNRELIABLE_DGRM);
    {
        const mcast first(scene.pair);
        const mcast second(scene.pair);
        EXPECT_EQ(first->Gid, group);
        EXPECT_EQ(second->Lid, group_lid);
        EXPECT_STATUS(status_of(destroy_qp(scene.pair)), STATUS_DEVICE_BUSY);
    }
    EXPECT_EQ(scene.pair.attributes().state, IB_QPS_RESET);
}

void other_type_returns_invalid_device_request(world& here) {
    const qp_scene datagrams(here, IB_QPT_UNRELIABLE_DGRM);
    const mcast supported(datagrams.pair); // skips the case on an HCA without multicast
    for (const ib_qp_type_t type : {IB_QPT_RELIABLE_CONN, IB_QPT_UNRELIABLE_CONN}) {
        const qp_scene scene(here, type);
        EXPECT_STATUS(status_of(attach_mcast(scene.pair, &group, group_lid)),
                      STATUS_INVALID_DEVICE_REQUEST);
    }
}

void wrong_group_returns_invalid_parameter(world& here) {
    const qp_scene scene(here, IB_QPT_UNRELIABLE_DGRM);
    const mcast supported(scene.pair);
    const ib_gid_t unicast{IB_DEFAULT_GID_PREFIX, 1};
    EXPECT_STATUS(status_of(attach_mcast(scene.pair, nullptr, group_lid)),
                  STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(status_of(attach_mcast(scene.pair, &unicast, group_lid)),
                  STATUS_INVALID_PARAMETER);
    for (const ib_lid_t lid : {ib_lid_t{0}, IB_LID_UNICAST_LAST, IB_LID_PERMISSIVE})
        EXPECT_STATUS(status_of(attach_mcast(scene.pair, &group, lid)), STATUS_INVALID_PARAMETER);
}

void user_group_is_copied(world& here) {
    const qp_scene scene(here, IB_QPT_UNRELIABLE_DGRM);
    const mcast supported(scene.pair);
    verb_call call(for_user(attach_mcast(scene.pair, &group, group_lid)));
    ASSERT_EQ(call.status(), STATUS_SUCCESS);
    EXPECT_STATUS(status_of(detach_mcast(call.object<IB_MCAST>())), STATUS_SUCCESS);
    const auto* unmapped = reinterpret_cast<const ib_gid_t*>(std::uintptr_t{16});
    EXPECT_STATUS(status_of(for_user(attach_mcast(scene.pair, unmapped, group_lid))),
                  STATUS_ACCESS_VIOLATION);
}

constexpr test_case cases[] = {
    {"AttachMcast.Success_QueuePairIsBusy",
     "STATUS_DEVICE_BUSY: it is attached to a multicast group; nothing changed.", nothing,
     kind::steps, attached_queue_pair_is_busy},
    {"AttachMcast.OtherType_ReturnsInvalidDeviceRequest",
     "STATUS_INVALID_DEVICE_REQUEST: the queue pair has another type.", nothing, kind::steps,
     other_type_returns_invalid_device_request},
    {"AttachMcast.WrongGroup_ReturnsInvalidParameter",
     "STATUS_INVALID_PARAMETER: also a GID or LID that is not a group's: a LID below 0xC000, or "
     "0xFFFF.",
     nothing, kind::steps, wrong_group_returns_invalid_parameter},
    {"AttachMcast.ForUser_GroupIsCopied",
     "STATUS_ACCESS_VIOLATION when Irp->RequestorMode is UserMode and a buffer is not mapped.",
     nothing, kind::steps, user_group_is_copied},
};

} // namespace
} // namespace multicast_group

const std::span<const test_case> multicast_cases = multicast_group::cases;

} // namespace irpverbs::conformance
