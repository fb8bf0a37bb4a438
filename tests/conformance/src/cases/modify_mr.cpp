// Changes of memory regions: their range, their rights and their domain.
#include "transfers.hpp"

#include <algorithm>
#include <optional>

namespace irpverbs::conformance {

namespace modify_mr_group {
namespace {

using buffer = std::array<UCHAR, 256>;

constexpr ib_access_t writable = IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE;

ib_mr_mod_t new_range(void* at, ULONGLONG length) {
    return {IB_MR_MOD_ADDR, nullptr, {at, length, 0, 0}};
}
ib_mr_mod_t new_rights(ib_access_t access) {
    return {IB_MR_MOD_ACCESS, nullptr, {nullptr, 0, access, 0}};
}
ib_mr_mod_t zero_based_at(buffer& memory) {
    return {IB_MR_MOD_ADDR | IB_MR_MOD_ACCESS,
            nullptr,
            {memory.data(), memory.size(), IB_AC_ZERO_BASED, 1}};
}
ib_mr_mod_t new_domain(IB_PD* domain) { return {IB_MR_MOD_PD, domain, {}}; }

ULONGLONG address_of(const buffer& memory, ULONG offset = 0) {
    return static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(memory.data())) + offset;
}

/// Changes a region; skips the case when the HCA does not.
NTSTATUS changed(IB_MR* region, const ib_mr_mod_t& change) {
    return status_of(modify_mr(region, &change));
}

void named_members_change_and_others_stay(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const pd other(opened);
    buffer memory{};
    buffer later{};
    const mr region(domain, {memory.data(), memory.size(), writable, 0});
    ASSERT_EQ(changed(region, new_range(later.data() + 8, 100)), STATUS_SUCCESS);
    EXPECT_EQ(attributes_of(region).local_lb, address_of(later, 8));
    EXPECT_EQ(attributes_of(region).remote_ub, address_of(later, 108));
    EXPECT_EQ(attributes_of(region).access_ctrl, writable);
    ASSERT_EQ(changed(region, new_rights(IB_AC_RDMA_READ)), STATUS_SUCCESS);
    EXPECT_EQ(attributes_of(region).access_ctrl, IB_AC_RDMA_READ);
    EXPECT_EQ(attributes_of(region).local_lb, address_of(later, 8));
    ASSERT_EQ(changed(region, new_domain(other)), STATUS_SUCCESS);
    EXPECT_EQ(attributes_of(region).h_pd, other);
    EXPECT_EQ(attributes_of(region).local_lb, address_of(later, 8));
    EXPECT_EQ(attributes_of(region).lkey, region->LKey);
    EXPECT_EQ(attributes_of(region).rkey, region->RKey);
    ASSERT_EQ(changed(region, new_rights(IB_AC_LOCAL_WRITE)), STATUS_SUCCESS);
    EXPECT_EQ(region->RKey, 0u);
}

// The addresses in work requests belong to the range.
void new_rights_keep_the_iova(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    const ULONGLONG iova = iova_of(memory.data());
    const mr region(domain, {memory.data(), memory.size(), writable, iova});
    ASSERT_EQ(changed(region, new_rights(IB_AC_RDMA_READ)), STATUS_SUCCESS);
    EXPECT_EQ(attributes_of(region).remote_lb, iova);
    ASSERT_EQ(changed(region, new_range(memory.data(), 100)), STATUS_SUCCESS);
    EXPECT_EQ(attributes_of(region).remote_lb, address_of(memory));
}

void new_domain_counts_the_region(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const pd other(opened);
    buffer memory{};
    const mr region(domain, {memory.data(), memory.size(), 0, 0});
    ASSERT_EQ(changed(region, new_domain(other)), STATUS_SUCCESS);
    EXPECT_STATUS(status_of(deallocate_pd(other)), STATUS_DEVICE_BUSY);
    EXPECT_STATUS(changed(region, new_range(nullptr, 1)), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(status_of(deallocate_pd(other)), STATUS_DEVICE_BUSY);
    ASSERT_EQ(changed(region, new_domain(domain)), STATUS_SUCCESS);
    EXPECT_STATUS(status_of(deallocate_pd(domain)), STATUS_DEVICE_BUSY);
}

void wrong_values_change_nothing(world& here) {
    const ca opened(here);
    const ca second(here);
    const pd domain(opened);
    const pd foreign(second);
    buffer memory{};
    const mr region(domain, {memory.data(), memory.size(), writable, 0});
    const ib_mr_attr_t before = attributes_of(region);
    ASSERT_EQ(changed(region, new_rights(writable)), STATUS_SUCCESS);
    for (const ib_mr_mod_t& change :
         {ib_mr_mod_t{}, ib_mr_mod_t{8, nullptr, {memory.data(), 1, 0, 0}}, new_range(nullptr, 1),
          zero_based_at(memory), new_range(memory.data(), ~0ull), new_rights(0x80000000),
          new_domain(nullptr), new_domain(foreign)})
        EXPECT_STATUS(changed(region, change), STATUS_INVALID_PARAMETER) << change.opts;
    EXPECT_STATUS(status_of(modify_mr(region, nullptr)), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(changed(region, new_rights(IB_AC_RDMA_WRITE)), STATUS_ACCESS_DENIED);
    const ib_mr_attr_t after = attributes_of(region);
    EXPECT_EQ(after.local_lb, before.local_lb);
    EXPECT_EQ(after.local_ub, before.local_ub);
    EXPECT_EQ(after.access_ctrl, before.access_ctrl);
    EXPECT_EQ(after.h_pd, before.h_pd);
}

void bound_window_returns_device_busy(world& here) {
    transfer_scene scene(here);
    const mr region(scene.domain, {scene.other.memory.data(), scene.other.memory.size(),
                                   IB_AC_LOCAL_WRITE | IB_AC_MW_BIND, 0});
    ASSERT_EQ(changed(region, new_rights(IB_AC_LOCAL_WRITE | IB_AC_MW_BIND)), STATUS_SUCCESS);
    const mw window(scene.domain, IB_MWT_TYPE_1);
    ib_bind_wr_t binding{};
    binding.send_opt = IB_SEND_OPT_SIGNALED;
    binding.h_mr = region;
    binding.current_rkey = window->RKey;
    binding.local_ds = {scene.other.address(), 64, 0};
    ULONG rkey = 0;
    const NTSTATUS status = CiBindMw(window, scene.other.pair, &binding, &rkey);
    if (status == STATUS_NOT_SUPPORTED) throw skipped{"CiBindMw returns STATUS_NOT_SUPPORTED"};
    ASSERT_EQ(status, STATUS_SUCCESS);
    scene.other.expect(0);
    EXPECT_STATUS(changed(region, new_rights(0)), STATUS_DEVICE_BUSY);
    EXPECT_EQ(attributes_of(region).access_ctrl, IB_AC_LOCAL_WRITE | IB_AC_MW_BIND);
    binding.current_rkey = window->RKey;
    binding.local_ds.length = 0;
    ASSERT_EQ(CiBindMw(window, scene.other.pair, &binding, &rkey), STATUS_SUCCESS);
    scene.other.expect(0);
    EXPECT_STATUS(changed(region, new_rights(0)), STATUS_SUCCESS);
}

// Writes 64 bytes to `address` of the other end; returns the status of the completion.
ULONG write_to(transfer_scene& scene, ULONGLONG address) {
    ib_send_wr_t what = scene.one.remote(WR_RDMA_WRITE, 1, scene.other);
    what.remote_ops.vaddr = address;
    scene.one.post(what);
    return scene.one.next().Status;
}

void peer_reaches_the_new_range(world& here) {
    transfer_scene scene(here);
    buffer later{};
    ASSERT_EQ(changed(scene.other.region, new_range(later.data(), later.size())), STATUS_SUCCESS);
    EXPECT_EQ(write_to(scene, address_of(later)), ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(std::equal(later.begin(), later.begin() + 64, scene.one.memory.begin()));
    EXPECT_EQ(write_to(scene, scene.other.address()), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void peer_lacks_a_right_that_was_removed(world& here) {
    transfer_scene scene(here);
    EXPECT_EQ(write_to(scene, scene.other.address()), ULONG{IB_WC_SUCCESS});
    ASSERT_EQ(changed(scene.other.region, new_rights(IB_AC_RDMA_READ)), STATUS_SUCCESS);
    EXPECT_EQ(write_to(scene, scene.other.address()), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

// The queue pair of the region's former domain has no access any more.
void peer_of_the_former_domain_has_no_access(world& here) {
    transfer_scene scene(here);
    const pd other(scene.opened);
    scene.one.skip_without_posts();
    ASSERT_EQ(changed(scene.other.region, new_domain(other)), STATUS_SUCCESS);
    EXPECT_EQ(write_to(scene, scene.other.address()), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    ASSERT_EQ(changed(scene.other.region, new_domain(scene.domain)), STATUS_SUCCESS);
}

void changes_race_one_after_the_other(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    const mr region(domain, {memory.data(), memory.size(), writable, 0});
    const ib_mr_mod_t range = new_range(memory.data() + 8, 64);
    const ib_mr_mod_t rights = new_rights(IB_AC_RDMA_READ);
    std::array<verb_call, 2> calls;
    ib_mr_attr_t seen{};
    verb_call query;
    world::together({[&] { calls[0].send(modify_mr(region, &range)); },
                     [&] { calls[1].send(modify_mr(region, &rights)); }, [&] { calls[1].cancel(); },
                     [&] { query.send(query_mr(region, &seen, sizeof(seen))); }});
    if (calls[0].status() == STATUS_NOT_SUPPORTED)
        throw skipped{"CiModifyMr returns STATUS_NOT_SUPPORTED"};
    EXPECT_STATUS(calls[0].status(), STATUS_SUCCESS);
    EXPECT_STATUS(query.status(), STATUS_SUCCESS);
    EXPECT_EQ(seen.local_ub - seen.local_lb,
              seen.local_lb == address_of(memory, 8) ? 64 : memory.size());
    const bool cancelled = calls[1].status() == STATUS_CANCELLED;
    const ib_mr_attr_t attr = attributes_of(region);
    EXPECT_EQ(attr.local_lb, address_of(memory, 8));
    EXPECT_EQ(attr.access_ctrl, cancelled ? writable : ib_access_t{IB_AC_RDMA_READ});
}

constexpr const char* change =
    "Changes the protection domain of a memory region, its range, its rights, or several of these, "
    "as if it were deregistered and registered again in one step; what opts does not name stays.";
constexpr const char* busy =
    "STATUS_DEVICE_BUSY: a memory window is bound to it, or a region shares its pages.";
constexpr const char* keys =
    "pMr->LKey and pMr->RKey are the keys from the completion on, which may be the same.";

constexpr test_case cases[] = {
    {"ModifyMr.NamedMembers_Change", change, nothing, kind::steps,
     named_members_change_and_others_stay},
    {"ModifyMr.NewRights_KeepTheIova", change, nothing, kind::steps, new_rights_keep_the_iova},
    {"ModifyMr.NewDomain_CountsTheRegion", "The region counts as created with the new domain.",
     nothing, kind::steps, new_domain_counts_the_region},
    {"ModifyMr.WrongValues_ChangeNothing",
     "STATUS_INVALID_PARAMETER: also opts that are 0 or unknown, a domain of another channel "
     "adapter, and a range that CiRegisterMr refuses.",
     nothing, kind::steps, wrong_values_change_nothing},
    {"ModifyMr.BoundWindow_ReturnsDeviceBusy", busy, nothing, kind::steps,
     bound_window_returns_device_busy},
    {"ModifyMr.Peer_ReachesTheNewRange", keys, nothing, kind::steps, peer_reaches_the_new_range},
    {"ModifyMr.Peer_LacksARightThatWasRemoved", change, nothing, kind::steps,
     peer_lacks_a_right_that_was_removed},
    {"ModifyMr.PeerOfTheFormerDomain_HasNoAccess", change, nothing, kind::steps,
     peer_of_the_former_domain_has_no_access},
    {"ModifyMr.RacesWithCancel_BothTakeEffect", change, nothing, kind::race,
     changes_race_one_after_the_other},
};

} // namespace
} // namespace modify_mr_group

const std::span<const test_case> modify_mr_cases = modify_mr_group::cases;

} // namespace irpverbs::conformance
