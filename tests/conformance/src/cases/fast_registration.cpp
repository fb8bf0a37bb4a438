// Fast registration: the region, the work requests that register pages and make keys invalid, and
// the access that a key gives.
#include "transfers.hpp"

#include <memory>

namespace irpverbs::conformance {

namespace fast_registration_group {
namespace {

constexpr ULONG page = 4096;
constexpr ULONG pages = 3;
constexpr ULONGLONG base = 0x40000000; // of the addresses in work requests
constexpr ULONG begin = 40;            // of the region in its first page

struct alignas(page) page_memory {
    std::array<std::array<UCHAR, page>, pages> bytes{};
};

/// Two connected queue pairs, and a region for the memory of the other end: its pages in reverse
/// order, behind the first 40 bytes.
struct fast_scene : transfer_scene {
    explicit fast_scene(const world& here)
        : transfer_scene(here), region(allocate_frmr(domain, pages)) {
        for (ULONG i = 0; i < pages; ++i)
            list[i] = static_cast<ULONGLONG>(
                reinterpret_cast<std::uintptr_t>(memory->bytes[pages - 1 - i].data()));
    }
    ib_send_wr_t registration(UCHAR variant, ULONGLONG wr_id = 30) const {
        ib_send_wr_t made{};
        made.wr_id = wr_id;
        made.wr_type = WR_FAST_REG_MR;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        made.fast_reg = {base + begin,
                         list.data(),
                         pages,
                         12,
                         pages * page - begin,
                         begin,
                         (region->LKey & ~0xFFu) | variant,
                         IB_AC_REMOTE | IB_AC_LOCAL_WRITE};
        return made;
    }
    static ib_send_wr_t invalidation(ULONG key, ULONGLONG wr_id = 31) {
        ib_send_wr_t made{};
        made.wr_id = wr_id;
        made.wr_type = WR_LOCAL_INV;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        made.invalidate_rkey = key;
        return made;
    }
    /// Registers the pages, and waits for the completion.
    ULONG registered(UCHAR variant) {
        const ib_send_wr_t what = registration(variant);
        other.post(what);
        EXPECT_EQ(other.expect(30).Opcode, IB_WC_FAST_REGISTER);
        return what.fast_reg.rkey;
    }
    /// Writes by the key; returns the status of the completion.
    ULONG write(ULONG rkey, ULONG offset = 0, ULONG count = 64) {
        ib_send_wr_t what = one.remote(WR_RDMA_WRITE, 1, other, count);
        what.remote_ops.vaddr = base + begin + offset;
        what.remote_ops.rkey = rkey;
        one.post(what);
        return one.next().Status;
    }
    /// A byte, counted from the region's first.
    UCHAR& at(ULONG offset) {
        const ULONG place = begin + offset;
        return memory->bytes[pages - 1 - place / page][place % page];
    }

    std::unique_ptr<page_memory> memory = std::make_unique<page_memory>();
    std::array<ULONGLONG, pages> list{};
    mr region;
};

void allocated_domain_is_busy(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const mr region(allocate_frmr(domain, pages));
    EXPECT_NE(region->LKey, 0u);
    EXPECT_STATUS(status_of(deallocate_pd(domain)), STATUS_DEVICE_BUSY);
    ib_mr_attr_t attr{};
    EXPECT_STATUS(status_of(query_mr(region, &attr, sizeof(attr))), STATUS_SUCCESS);
    EXPECT_EQ(attr.lkey, region->LKey);
    EXPECT_EQ(attr.local_ub, 0u);
    const ib_mr_mod_t change{IB_MR_MOD_PD, domain, {}};
    EXPECT_STATUS(status_of(modify_mr(region, &change)), STATUS_INVALID_DEVICE_REQUEST);
}

void wrong_number_of_pages_is_refused(world& here) {
    const ca opened(here);
    const pd domain(opened);
    IB_CA_ATTR limits{};
    status_of(query_ca(opened, &limits, sizeof(limits)));
    EXPECT_STATUS(status_of(allocate_frmr(domain, 0)), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(status_of(allocate_frmr(domain, limits.MaxFastRegistrationPages + 1)),
                  STATUS_INVALID_PARAMETER);
    const mr most(allocate_frmr(domain, limits.MaxFastRegistrationPages));
}

void user_has_no_physical_addresses(world& here) {
    const ca opened(here);
    const pd domain(opened);
    EXPECT_STATUS(verb_call(for_user(allocate_frmr(domain, pages))).status(), STATUS_NOT_SUPPORTED);
}

void peer_reaches_the_pages(world& here) {
    fast_scene scene(here);
    const ULONG rkey = scene.registered(0x21);
    const ULONG length = pages * page - begin;
    EXPECT_EQ(scene.write(rkey, length - 5000, 5000), ULONG{IB_WC_SUCCESS});
    for (ULONG i = 0; i < 5000; ++i)
        ASSERT_EQ(scene.at(length - 5000 + i), scene.one.memory[i]) << i;
    scene.at(page - begin - 1) = 0x77; // the last byte of the first page
    scene.at(page - begin) = 0x78;
    ib_send_wr_t read = scene.one.remote(WR_RDMA_READ, 2, scene.other, 2);
    read.remote_ops = {base + page - 1, 0, 0, rkey};
    scene.one.post(read);
    scene.one.expect(2);
    EXPECT_EQ(scene.one.memory[0], 0x77);
    EXPECT_EQ(scene.one.memory[1], 0x78);
    EXPECT_EQ(scene.write(rkey, length - 63), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void local_segments_reach_the_pages(world& here) {
    fast_scene scene(here);
    const ULONG lkey = scene.registered(0x21);
    ib_local_ds_t segment{base + page - 10, 20, lkey};
    ib_recv_wr_t receive{nullptr, 7, &segment, 1};
    ASSERT_EQ(CiPostRecv(scene.other.pair, &receive, nullptr), STATUS_SUCCESS);
    scene.one.post(scene.one.request(WR_SEND, 1, 20));
    scene.one.expect(1);
    EXPECT_EQ(scene.other.expect(7).ByteCount, 20u);
    for (ULONG i = 0; i < 20; ++i)
        EXPECT_EQ(scene.at(page - begin - 10 + i), scene.one.memory[i]) << i;
}

void wrong_registration_fails(world& here) {
    const auto fails = [&](const char* what, const auto& change) {
        fast_scene scene(here);
        ib_send_wr_t wrong = scene.registration(0x21);
        change(wrong.fast_reg, scene);
        scene.other.post(wrong);
        const IB_WC found = scene.other.next();
        EXPECT_EQ(found.Status, ULONG{IB_WC_LOCAL_QP_OPERATION_ERROR}) << what;
        EXPECT_EQ(scene.other.pair.attributes().state, IB_QPS_ERROR) << what;
    };
    fails("pages of another size", [](auto& of, auto&) { of.page_shift = 5; });
    fails("a longer range", [](auto& of, auto&) { of.length += 1; });
    fails("another offset", [](auto& of, auto&) { of.fbo = 8; });
    fails("windows", [](auto& of, auto&) { of.access_flags |= IB_AC_MW_BIND; });
    fails("no local write", [](auto& of, auto&) { of.access_flags = IB_AC_RDMA_WRITE; });
    fails("another key", [](auto& of, auto& in) { of.rkey = in.other.region->LKey; });
    fails("an unaligned page", [](auto&, auto& in) { in.list[1] += 8; });
}

void region_of_another_domain_fails(world& here) {
    fast_scene scene(here);
    const pd domain(scene.opened);
    const mr region(allocate_frmr(domain, pages));
    ib_send_wr_t what = scene.registration(0x21);
    what.fast_reg.rkey = region->LKey;
    scene.other.post(what);
    scene.other.expect(30, IB_WC_LOCAL_QP_OPERATION_ERROR);
}

void registration_without_pages_is_not_posted(world& here) {
    fast_scene scene(here);
    ib_send_wr_t without = scene.registration(0x21);
    without.fast_reg.page_list = nullptr;
    EXPECT_STATUS(CiPostSend(scene.other.pair, &without, nullptr), STATUS_INVALID_PARAMETER);
    ib_send_wr_t empty = scene.registration(0x21);
    empty.fast_reg.page_list_len = 0;
    EXPECT_STATUS(CiPostSend(scene.other.pair, &empty, nullptr), STATUS_INVALID_PARAMETER);
    scene.other.expect_none();
}

void second_registration_needs_an_invalidation(world& here) {
    fast_scene scene(here);
    const ULONG rkey = scene.registered(0x21);
    scene.other.post(scene.registration(0x22));
    scene.other.expect(30, IB_WC_LOCAL_QP_OPERATION_ERROR);
    EXPECT_NE(rkey, 0u);
}

void invalidated_key_gives_no_access(world& here) {
    fast_scene scene(here);
    ULONG rkey = 0;
    for (const UCHAR variant : {UCHAR{0x21}, UCHAR{0x22}}) {
        rkey = scene.registered(variant);
        EXPECT_EQ(scene.write(rkey), ULONG{IB_WC_SUCCESS});
        scene.other.post(fast_scene::invalidation(rkey));
        EXPECT_EQ(scene.other.expect(31).Opcode, IB_WC_LOCAL_INVALIDATE);
    }
    scene.at(0) = 0xEE;
    EXPECT_EQ(scene.write(rkey), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_EQ(scene.at(0), 0xEE);
}

void former_key_gives_no_access(world& here) {
    fast_scene scene(here);
    const ULONG former = scene.registered(0x21);
    scene.other.post(fast_scene::invalidation(former));
    scene.other.expect(31);
    scene.registered(0x22);
    EXPECT_EQ(scene.write(former), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void key_that_is_not_valid_is_not_invalidated(world& here) {
    fast_scene scene(here);
    scene.other.post(fast_scene::invalidation(scene.region->LKey));
    scene.other.expect(31, IB_WC_LOCAL_QP_OPERATION_ERROR);
}

void peer_invalidates_the_key(world& here) {
    fast_scene scene(here);
    const ULONG rkey = scene.registered(0x21);
    scene.other.post_receive(7);
    ib_send_wr_t send = scene.one.request(WR_SEND, 1);
    send.send_opt |= IB_SEND_OPT_INVALIDATE;
    send.invalidate_rkey = rkey;
    scene.one.post(send);
    scene.one.expect(1);
    const IB_WC received = scene.other.expect(7);
    EXPECT_EQ(received.Flags & (IB_WC_INVALIDATED | IB_WC_IMMEDIATE_PRESENT), IB_WC_INVALIDATED);
    EXPECT_EQ(received.Immediate, rkey);
    scene.registered(0x22);
    EXPECT_EQ(scene.write(rkey), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void list_registers_and_ends(world& here) {
    fast_scene scene(here);
    std::array<ib_send_wr_t, 3> list{};
    list[0] = scene.registration(0x21, 40);
    list[1] = fast_scene::invalidation(list[0].fast_reg.rkey, 41);
    list[2] = scene.registration(0x22, 42);
    list[0].p_next = &list[1];
    list[1].p_next = &list[2];
    scene.other.post(list[0]);
    for (const ULONGLONG id : {40u, 41u, 42u})
        scene.other.expect(id);
    EXPECT_EQ(scene.write(list[2].fast_reg.rkey), ULONG{IB_WC_SUCCESS});
}

void deregistered_region_gives_no_access(world& here) {
    fast_scene scene(here);
    const ULONG rkey = scene.registered(0x21);
    scene.region.deregister();
    EXPECT_EQ(scene.write(rkey), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

constexpr const char* pages_of = "A fast registration: pages become the memory of a region of "
                                 "CiAllocateFrmr that has none.";
constexpr const char* fails = "The work request executes after all earlier ones. It completes "
                              "IB_WC_FAST_REGISTER, or IB_WC_LOCAL_QP_OPERATION_ERROR: no such "
                              "region of the queue pair's domain is free, or one of the members is "
                              "not as below.";
constexpr const char* ends =
    "WR_LOCAL_INV, or a send of the peer with IB_SEND_OPT_INVALIDATE, makes the key invalid, and "
    "then the region can be registered again.";

constexpr test_case cases[] = {
    {"AllocateFrmr.Success_DomainIsBusy",
     "Allocates a memory region for fast registration, without memory: no key gives access by it.",
     nothing, kind::steps, allocated_domain_is_busy},
    {"AllocateFrmr.WrongNumberOfPages_ReturnsInvalidParameter",
     "STATUS_INVALID_PARAMETER: also a MaxPages of 0 or above IB_CA_ATTR.MaxFastRegistrationPages.",
     nothing, kind::steps, wrong_number_of_pages_is_refused},
    {"AllocateFrmr.ForUser_ReturnsNotSupported",
     "STATUS_NOT_SUPPORTED: also when Irp->RequestorMode is UserMode, since pages have physical "
     "addresses.",
     nothing, kind::steps, user_has_no_physical_addresses},
    {"PostSend.FastRegistration_PeerReachesThePages", pages_of, nothing, kind::steps,
     peer_reaches_the_pages},
    {"PostSend.FastRegistration_SegmentsReachThePages", pages_of, nothing, kind::steps,
     local_segments_reach_the_pages},
    {"PostSend.WrongFastRegistration_Fails", fails, nothing, kind::steps, wrong_registration_fails},
    {"PostSend.FastRegistrationOfAnotherDomain_Fails", fails, nothing, kind::steps,
     region_of_another_domain_fails},
    {"PostSend.FastRegistrationWithoutPages_IsNotPosted", "a fast registration has no page list,",
     nothing, kind::steps, registration_without_pages_is_not_posted},
    {"PostSend.SecondFastRegistration_NeedsAnInvalidation", ends, nothing, kind::steps,
     second_registration_needs_an_invalidation},
    {"PostSend.InvalidatedFastRegistration_GivesNoAccess", ends, nothing, kind::steps,
     invalidated_key_gives_no_access},
    {"PostSend.FormerFastRegistration_GivesNoAccess", ends, nothing, kind::steps,
     former_key_gives_no_access},
    {"PostSend.LocalInvalidateOfAFreeRegion_Fails", ends, nothing, kind::steps,
     key_that_is_not_valid_is_not_invalidated},
    {"PostSend.SendWithInvalidate_EndsAFastRegistration", ends, nothing, kind::steps,
     peer_invalidates_the_key},
    {"PostSend.ListOfFastRegistrations_ExecutesInOrder", fails, nothing, kind::steps,
     list_registers_and_ends},
    {"DeregisterMr.FastRegistration_GivesNoAccess", "CiDeregisterMr ends it in either state.",
     nothing, kind::steps, deregistered_region_gives_no_access},
};

} // namespace
} // namespace fast_registration_group

const std::span<const test_case> fast_registration_cases = fast_registration_group::cases;

} // namespace irpverbs::conformance
