// Memory regions whose memory is physical pages, or the pages of another region: the parameters,
// and the access that a key gives.
#include "physical_pages.hpp"

namespace irpverbs::conformance {

namespace shared_regions_group {
namespace {

constexpr ULONG page = three_pages::page;
constexpr ULONG begin = three_pages::begin;
constexpr ULONGLONG base = three_pages::base;
constexpr ULONG length = three_pages::length;
constexpr ib_access_t writable = three_pages::access;

VOID* pointer(ULONGLONG address) { return reinterpret_cast<VOID*>(ULONG_PTR{address}); }

// ---- physical regions

void peer_reaches_the_pages(world& here) {
    region_scene scene(here);
    three_pages memory;
    const mr pages(register_pmr(scene.domain, &memory.wanted));
    EXPECT_EQ(scene.write(pages->RKey, base + begin + length - 5000, 5000), ULONG{IB_WC_SUCCESS});
    for (ULONG i = 0; i < 5000; ++i)
        ASSERT_EQ(memory.at(length - 5000 + i), scene.one.memory[i]) << i;
    EXPECT_EQ(attributes_of(pages).remote_lb, base + begin);
    EXPECT_EQ(attributes_of(pages).remote_ub, base + 3 * page);
    EXPECT_EQ(scene.write(pages->RKey, base + 3 * page - 63), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void segment_reaches_the_pages(world& here) {
    transfer_scene scene(here);
    three_pages memory;
    const mr pages(register_pmr(scene.domain, &memory.wanted));
    const ULONG border = page - begin;
    memory.at(border - 1) = 0x77; // the last byte of the first page
    memory.at(border) = 0x78;
    ib_local_ds_t segment{base + page - 1, 2, pages->LKey};
    ib_send_wr_t what = scene.one.remote(WR_RDMA_WRITE, 2, scene.other, 2);
    what.ds_array = &segment;
    scene.one.post(what);
    scene.one.expect(2);
    EXPECT_EQ(scene.other.memory[0], 0x77);
    EXPECT_EQ(scene.other.memory[1], 0x78);
}

void key_of_pages_is_not_invalidated(world& here) {
    region_scene scene(here);
    three_pages memory;
    const mr pages(register_pmr(scene.domain, &memory.wanted));
    ib_send_wr_t what{};
    what.wr_id = 3;
    what.wr_type = WR_LOCAL_INV;
    what.send_opt = IB_SEND_OPT_SIGNALED;
    what.invalidate_rkey = pages->RKey;
    scene.other.post(what);
    scene.other.expect(3, IB_WC_LOCAL_QP_OPERATION_ERROR);
    EXPECT_EQ(attributes_of(pages).remote_ub, base + 3 * page);
}

void wrong_pages_are_refused(world& here) {
    const ca opened(here);
    const pd domain(opened);
    three_pages memory;
    const mr good(register_pmr(domain, &memory.wanted));
    const auto refuses = [&](auto&& change) {
        ib_phys_create_t wrong = memory.wanted;
        change(wrong);
        EXPECT_STATUS(status_of(register_pmr(domain, &wrong)), STATUS_INVALID_PARAMETER);
    };
    refuses([](auto& of) { of.num_ranges = 0; });
    refuses([](auto& of) { of.range_array = nullptr; });
    refuses([](auto& of) { of.length = 0; });
    refuses([](auto& of) { of.length += 1; });
    refuses([](auto& of) { of.length = ~ULONGLONG{0}; });
    refuses([](auto& of) { of.hca_page_size = 0; });
    refuses([](auto& of) { of.hca_page_size = 2; });
    refuses([](auto& of) { of.buf_offset += 1; });
    refuses([](auto& of) { of.vaddr += 1; });
    ib_phys_create_t denied = memory.wanted;
    denied.access_ctrl = IB_AC_ATOMIC;
    EXPECT_STATUS(status_of(register_pmr(domain, &denied)), STATUS_ACCESS_DENIED);
    EXPECT_STATUS(status_of(register_pmr(domain, nullptr)), STATUS_INVALID_PARAMETER);
}

void user_has_no_physical_addresses(world& here) {
    const ca opened(here);
    const pd domain(opened);
    three_pages memory;
    EXPECT_STATUS(verb_call(for_user(register_pmr(domain, &memory.wanted))).status(),
                  STATUS_NOT_SUPPORTED);
}

// ---- shared regions

constexpr ULONG shared_length = 256;

/// A region, and the parameters of one that shares its memory.
struct sharing {
    explicit sharing(IB_PD* domain, ib_access_t access = writable)
        : of_bytes(domain, {bytes.data(), bytes.size(), access, 0}) {}
    ib_smr_create_t wanted(ib_access_t access = writable) const {
        return {of_bytes, pointer(base), access};
    }

    std::array<UCHAR, shared_length> bytes alignas(8){};
    mr of_bytes;
};

void shared_region_has_own_keys_rights_and_address(world& here) {
    region_scene scene(here);
    sharing memory(scene.domain, IB_AC_RDMA_READ);
    const ib_smr_create_t wanted = memory.wanted();
    const mr shares(register_smr(scene.domain, &wanted));
    EXPECT_NE(shares->LKey, memory.of_bytes->LKey);
    const ib_mr_attr_t attr = attributes_of(shares);
    EXPECT_EQ(attr.local_lb, base);
    EXPECT_EQ(attr.local_ub, base + shared_length);
    EXPECT_EQ(attr.access_ctrl, writable);
    EXPECT_EQ(scene.write(shares->RKey, base + shared_length - 64), ULONG{IB_WC_SUCCESS});
    for (ULONG i = 0; i < 64; ++i)
        ASSERT_EQ(memory.bytes[shared_length - 64 + i], scene.one.memory[i]) << i;
    EXPECT_EQ(scene.write(memory.of_bytes->RKey, number_of(memory.bytes.data())),
              ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void shared_region_ends_where_the_other_does(world& here) {
    region_scene scene(here);
    sharing memory(scene.domain);
    const ib_smr_create_t wanted = memory.wanted();
    const mr shares(register_smr(scene.domain, &wanted));
    EXPECT_EQ(scene.write(shares->RKey, base + shared_length - 63),
              ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void shared_pages_are_reached(world& here) {
    region_scene scene(here);
    three_pages memory;
    const mr pages(register_pmr(scene.domain, &memory.wanted));
    constexpr ULONGLONG elsewhere = 2 * base + begin;
    const ib_smr_create_t wanted{pages, pointer(elsewhere), writable};
    mr shares(register_smr(scene.domain, &wanted));
    const ib_smr_create_t shifted{pages, pointer(elsewhere + 8), writable};
    EXPECT_STATUS(status_of(register_smr(scene.domain, &shifted)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(scene.write(shares->RKey, elsewhere + page - 8), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(memory.at(page - 8), scene.one.memory[0]);
    shares.deregister();
    EXPECT_EQ(scene.write(pages->RKey, base + begin), ULONG{IB_WC_SUCCESS});
}

void other_region_is_held(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const pd second(opened);
    std::array<UCHAR, 64> bytes{};
    const ib_mr_create_t created{bytes.data(), bytes.size(), writable, 0};
    mr other(register_mr(domain, &created));
    const ib_smr_create_t wanted{other, bytes.data(), 0};
    mr shares(register_smr(second, &wanted));
    EXPECT_STATUS(status_of(deregister_mr(other)), STATUS_DEVICE_BUSY);
    const ib_mr_mod_t change{IB_MR_MOD_ACCESS, nullptr, {nullptr, 0, 0, 0}};
    EXPECT_STATUS(status_of(modify_mr(other, &change)), STATUS_DEVICE_BUSY);
    EXPECT_STATUS(status_of(deallocate_pd(second)), STATUS_DEVICE_BUSY);
    shares.deregister();
    EXPECT_STATUS(status_of(modify_mr(other, &change)), STATUS_SUCCESS);
}

void wrong_sharing_is_refused(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const ca stranger(here);
    const pd far(stranger);
    const sharing memory(domain);
    const ib_smr_create_t good = memory.wanted();
    const mr shares(register_smr(domain, &good));
    EXPECT_STATUS(status_of(register_smr(far, &good)), STATUS_INVALID_PARAMETER);
    const ib_smr_create_t none{nullptr, pointer(base), 0};
    EXPECT_STATUS(status_of(register_smr(domain, &none)), STATUS_INVALID_PARAMETER);
    const ib_smr_create_t without_address{memory.of_bytes, nullptr, 0};
    EXPECT_STATUS(status_of(register_smr(domain, &without_address)), STATUS_INVALID_PARAMETER);
    const ib_smr_create_t beyond{memory.of_bytes, pointer(~ULONGLONG{0} - 8), 0};
    EXPECT_STATUS(status_of(register_smr(domain, &beyond)), STATUS_INVALID_PARAMETER);
    const ib_smr_create_t denied = memory.wanted(IB_AC_RDMA_WRITE);
    EXPECT_STATUS(status_of(register_smr(domain, &denied)), STATUS_ACCESS_DENIED);
    const mr fast(allocate_frmr(domain, 4));
    const ib_smr_create_t without_pages{fast, pointer(base), 0};
    EXPECT_STATUS(status_of(register_smr(domain, &without_pages)), STATUS_INVALID_DEVICE_REQUEST);
}

constexpr const char* physical = "Registers a memory region whose memory is physical pages, which "
                                 "need not lie side by side.";
constexpr const char* shared =
    "Registers a memory region that shares the pages of another region of the same channel "
    "adapter, with keys, rights, an address and a protection domain of its own.";

constexpr test_case cases[] = {
    {"RegisterPmr.Peer_ReachesThePages", physical, nothing, kind::steps, peer_reaches_the_pages},
    {"RegisterPmr.Segment_ReachesThePages", physical, nothing, kind::steps,
     segment_reaches_the_pages},
    {"RegisterPmr.Key_IsNotInvalidated", physical, nothing, kind::steps,
     key_of_pages_is_not_invalidated},
    {"RegisterPmr.WrongPages_ReturnInvalidParameter",
     "STATUS_INVALID_PARAMETER: also no ranges; a range that is empty, not in whole pages or "
     "beyond the last address; ranges shorter than the region;",
     nothing, kind::steps, wrong_pages_are_refused},
    {"RegisterPmr.ForUser_ReturnsNotSupported",
     "and when Irp->RequestorMode is UserMode, since pages have physical addresses.", nothing,
     kind::steps, user_has_no_physical_addresses},
    {"RegisterSmr.Success_HasOwnKeysRightsAndAddress", shared, nothing, kind::steps,
     shared_region_has_own_keys_rights_and_address},
    {"RegisterSmr.Access_EndsWhereTheOtherRegionDoes", shared, nothing, kind::steps,
     shared_region_ends_where_the_other_does},
    {"RegisterSmr.PagesOfAPhysicalRegion_AreReached", shared, nothing, kind::steps,
     shared_pages_are_reached},
    {"RegisterSmr.Success_HoldsTheOtherRegion",
     "It holds the other region: CiDeregisterMr, CiModifyMr and CiModifyPmr of that one complete "
     "STATUS_DEVICE_BUSY.",
     nothing, kind::steps, other_region_is_held},
    {"RegisterSmr.WrongRegion_IsRefused",
     "STATUS_INVALID_PARAMETER: also a region that is NULL or of another channel adapter, a NULL "
     "vaddr, one whose region ends beyond the last address,",
     nothing, kind::steps, wrong_sharing_is_refused},
};

} // namespace
} // namespace shared_regions_group

const std::span<const test_case> shared_region_cases = shared_regions_group::cases;

} // namespace irpverbs::conformance
