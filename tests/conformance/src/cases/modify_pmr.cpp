// Changes of memory regions of physical pages: their pages, their rights and their domain.
#include "physical_pages.hpp"

namespace irpverbs::conformance {

namespace modify_pmr_group {
namespace {

constexpr ULONG page = three_pages::page;

/// One page, which a region has from its second half on.
struct half_page {
    static constexpr ULONG begin = page / 2;
    static constexpr ULONGLONG address = 2 * three_pages::base + begin;

    struct alignas(page) memory {
        std::array<UCHAR, page> bytes{};
    };
    std::unique_ptr<memory> its = std::make_unique<memory>();
    ib_phys_range_t range{number_of(its->bytes.data()), page};
    ib_phys_mod_t wanted(ULONG opts = IB_MR_MOD_ADDR) const {
        return {opts, nullptr, {page - begin, 1, begin, &range, address, page, IB_AC_RDMA_READ}};
    }
    UCHAR at(ULONG offset) const { return its->bytes[begin + offset]; }
};

ib_phys_mod_t new_rights(ib_access_t access) {
    ib_phys_mod_t made{};
    made.opts = IB_MR_MOD_ACCESS;
    made.create.access_ctrl = access;
    return made;
}
ib_phys_mod_t new_domain(IB_PD* domain) { return {IB_MR_MOD_PD, domain, {}}; }

NTSTATUS changed(IB_MR* region, const ib_phys_mod_t& change) {
    return status_of(modify_pmr(region, &change));
}

void named_members_change_and_others_stay(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const pd other(opened);
    three_pages memory;
    const half_page later;
    const mr region(register_pmr(domain, &memory.wanted));
    ASSERT_EQ(changed(region, later.wanted()), STATUS_SUCCESS);
    EXPECT_EQ(attributes_of(region).local_lb, half_page::address);
    EXPECT_EQ(attributes_of(region).remote_ub, half_page::address + page / 2);
    EXPECT_EQ(attributes_of(region).access_ctrl, three_pages::access);
    ASSERT_EQ(changed(region, new_domain(other)), STATUS_SUCCESS);
    EXPECT_EQ(attributes_of(region).h_pd, other);
    EXPECT_STATUS(status_of(deallocate_pd(other)), STATUS_DEVICE_BUSY);
    EXPECT_EQ(attributes_of(region).local_lb, half_page::address);
    EXPECT_EQ(attributes_of(region).lkey, region->LKey);
    EXPECT_EQ(attributes_of(region).rkey, region->RKey);
    ASSERT_EQ(changed(region, new_rights(IB_AC_LOCAL_WRITE)), STATUS_SUCCESS);
    EXPECT_EQ(region->RKey, 0u);
    EXPECT_EQ(attributes_of(region).local_ub, half_page::address + page / 2);
}

void wrong_values_change_nothing(world& here) {
    const ca opened(here);
    const ca second(here);
    const pd domain(opened);
    const pd foreign(second);
    three_pages memory;
    const half_page later;
    const mr region(register_pmr(domain, &memory.wanted));
    const ib_mr_attr_t before = attributes_of(region);
    const auto refuses = [&](const ib_phys_mod_t& wrong) {
        EXPECT_STATUS(changed(region, wrong), STATUS_INVALID_PARAMETER) << wrong.opts;
    };
    refuses(later.wanted(0));
    refuses(later.wanted(IB_MR_MOD_ADDR | 8));
    refuses(new_domain(nullptr));
    refuses(new_domain(foreign));
    refuses(new_rights(0x80000000));
    const auto refuses_pages = [&](auto&& change) {
        ib_phys_mod_t wrong = later.wanted();
        change(wrong.create);
        refuses(wrong);
    };
    refuses_pages([](auto& of) { of.num_ranges = 0; });
    refuses_pages([](auto& of) { of.length += 1; });
    refuses_pages([](auto& of) { of.length = 0; });
    refuses_pages([](auto& of) { of.vaddr += 1; });
    refuses_pages([](auto& of) { of.hca_page_size = 2; });
    EXPECT_STATUS(status_of(modify_pmr(region, nullptr)), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(changed(region, new_rights(IB_AC_RDMA_WRITE)), STATUS_ACCESS_DENIED);
    const ib_mr_attr_t after = attributes_of(region);
    EXPECT_EQ(after.local_lb, before.local_lb);
    EXPECT_EQ(after.local_ub, before.local_ub);
    EXPECT_EQ(after.access_ctrl, before.access_ctrl);
    EXPECT_EQ(after.h_pd, before.h_pd);
}

void other_regions_are_refused(world& here) {
    const ca opened(here);
    const pd domain(opened);
    three_pages memory;
    const half_page later;
    const mr region(register_pmr(domain, &memory.wanted));
    const mr of_bytes(domain, {memory.pages->bytes.data(), page, 0, 0});
    EXPECT_STATUS(changed(of_bytes, later.wanted()), STATUS_INVALID_DEVICE_REQUEST);
    const ib_mr_mod_t range{IB_MR_MOD_ACCESS, nullptr, {}};
    EXPECT_STATUS(status_of(modify_mr(region, &range)), STATUS_INVALID_DEVICE_REQUEST);
}

void shared_pages_are_held(world& here) {
    region_scene scene(here);
    three_pages memory;
    const half_page later;
    const mr region(register_pmr(scene.domain, &memory.wanted));
    const ib_smr_create_t wanted{region,
                                 reinterpret_cast<VOID*>(ULONG_PTR{three_pages::begin} + 16 * page),
                                 three_pages::access};
    mr shares(register_smr(scene.domain, &wanted));
    EXPECT_STATUS(changed(region, later.wanted()), STATUS_DEVICE_BUSY);
    EXPECT_STATUS(changed(shares, later.wanted()), STATUS_INVALID_DEVICE_REQUEST);
    EXPECT_EQ(scene.write(shares->RKey, three_pages::begin + 16 * page), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(memory.at(63), scene.one.memory[63]);
    shares.deregister();
    EXPECT_STATUS(changed(region, later.wanted()), STATUS_SUCCESS);
}

void user_has_no_physical_addresses(world& here) {
    const ca opened(here);
    const pd domain(opened);
    three_pages memory;
    const mr region(register_pmr(domain, &memory.wanted));
    const ib_phys_mod_t change = new_rights(0);
    EXPECT_STATUS(verb_call(for_user(modify_pmr(region, &change))).status(), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(attributes_of(region).access_ctrl, three_pages::access);
}

void peer_reaches_the_new_pages(world& here) {
    region_scene scene(here);
    three_pages memory;
    const half_page later;
    const mr region(register_pmr(scene.domain, &memory.wanted));
    EXPECT_EQ(scene.write(region->RKey, memory.wanted.vaddr, 1), ULONG{IB_WC_SUCCESS});
    memory.at(0) = 0x5A;
    ASSERT_EQ(changed(region, later.wanted()), STATUS_SUCCESS);
    EXPECT_EQ(scene.write(region->RKey, half_page::address + page / 2 - 64), ULONG{IB_WC_SUCCESS});
    for (ULONG i = 0; i < 64; ++i)
        ASSERT_EQ(later.at(page / 2 - 64 + i), scene.one.memory[i]) << i;
    EXPECT_EQ(scene.write(region->RKey, memory.wanted.vaddr, 1), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_EQ(memory.at(0), 0x5A);
}

void peer_lacks_a_right_that_was_removed(world& here) {
    region_scene scene(here);
    three_pages memory;
    const mr region(register_pmr(scene.domain, &memory.wanted));
    ASSERT_EQ(changed(region, new_rights(IB_AC_RDMA_READ)), STATUS_SUCCESS);
    EXPECT_EQ(scene.write(region->RKey, memory.wanted.vaddr), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void peer_of_the_former_domain_has_no_access(world& here) {
    region_scene scene(here);
    const pd other(scene.opened);
    three_pages memory;
    const mr region(register_pmr(scene.domain, &memory.wanted));
    ASSERT_EQ(changed(region, new_domain(other)), STATUS_SUCCESS);
    EXPECT_EQ(scene.write(region->RKey, memory.wanted.vaddr), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

// The former pages are freed while the write may still be under way.
void outstanding_write_reaches_former_or_new_pages(world& here) {
    region_scene scene(here);
    auto former = std::make_unique<three_pages>();
    three_pages later;
    const mr region(register_pmr(scene.domain, &former->wanted));
    const ib_phys_mod_t change{IB_MR_MOD_ADDR, nullptr, later.wanted};
    scene.post_write(region->RKey, later.wanted.vaddr);
    ASSERT_EQ(changed(region, change), STATUS_SUCCESS);
    const auto last = [&](three_pages& of) { return of.at(63); };
    const bool before = last(*former) == scene.one.memory[63];
    former.reset();
    scene.one.expect(1);
    EXPECT_NE(before, last(later) == scene.one.memory[63]);
}

constexpr const char* change =
    "Changes the protection domain of a memory region of CiRegisterPmr, its pages with their "
    "address, its rights, or several of these;";

constexpr test_case cases[] = {
    {"ModifyPmr.NamedMembers_Change", change, nothing, kind::steps,
     named_members_change_and_others_stay},
    {"ModifyPmr.WrongValues_ChangeNothing",
     "STATUS_INVALID_PARAMETER: also opts that are 0 or unknown, a domain of another channel "
     "adapter, and pages that CiRegisterPmr refuses.",
     nothing, kind::steps, wrong_values_change_nothing},
    {"ModifyPmr.OtherRegions_AreRefused",
     "STATUS_INVALID_DEVICE_REQUEST: the region is not one of CiRegisterPmr.", nothing, kind::steps,
     other_regions_are_refused},
    {"ModifyPmr.SharedPages_ReturnDeviceBusy",
     "STATUS_DEVICE_BUSY: a memory window is bound to it, or a region shares its pages.", nothing,
     kind::steps, shared_pages_are_held},
    {"ModifyPmr.ForUser_ReturnsNotSupported",
     "STATUS_ACCESS_DENIED, STATUS_NOT_SUPPORTED, STATUS_INSUFFICIENT_RESOURCES: as CiRegisterPmr.",
     nothing, kind::steps, user_has_no_physical_addresses},
    {"ModifyPmr.Peer_ReachesTheNewPages", change, nothing, kind::steps, peer_reaches_the_new_pages},
    {"ModifyPmr.Peer_LacksARightThatWasRemoved", change, nothing, kind::steps,
     peer_lacks_a_right_that_was_removed},
    {"ModifyPmr.PeerOfTheFormerDomain_HasNoAccess", change, nothing, kind::steps,
     peer_of_the_former_domain_has_no_access},
    {"ModifyPmr.OutstandingWrite_ReachesFormerOrNewPages",
     "outstanding work requests see it as before or as after the change.", nothing, kind::race,
     outstanding_write_reaches_former_or_new_pages},
};

} // namespace
} // namespace modify_pmr_group

const std::span<const test_case> modify_pmr_cases = modify_pmr_group::cases;

} // namespace irpverbs::conformance
