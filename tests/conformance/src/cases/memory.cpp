// Protection domains and memory regions.
#include "transfers.hpp"

#include <ci/common_buffer.hpp>

#include <algorithm>
#include <cstdint>
#include <set>

namespace irpverbs::conformance {

namespace memory_group {
namespace {

using buffer = std::array<UCHAR, 256>;

ib_mr_create_t whole(buffer& memory, ib_access_t access) {
    return {memory.data(), memory.size(), access, 0};
}

void allocated_ca_is_busy(world& here) {
    ca opened(here);
    {
        const pd domain(opened);
        EXPECT_STATUS(status_of(close_ca(opened)), STATUS_DEVICE_BUSY);
    }
    opened.close();
}

void other_type_returns_not_supported(world& here) {
    const ca opened(here);
    const pd domain(opened);
    for (const ULONG type : {IB_PDT_ALIAS, IB_PDT_SQP, IB_PDT_UD})
        EXPECT_STATUS(verb_call(allocate_pd(opened, type)).status(), STATUS_NOT_SUPPORTED);
    for (const ULONG type : {4u, ~0u})
        EXPECT_STATUS(verb_call(allocate_pd(opened, type)).status(), STATUS_INVALID_PARAMETER);
}

void children_return_device_busy(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    const mr region(domain, whole(memory, 0));
    EXPECT_STATUS(status_of(deallocate_pd(domain)), STATUS_DEVICE_BUSY);
    ib_mr_attr_t attr{};
    EXPECT_STATUS(status_of(query_mr(region, &attr, sizeof(attr))), STATUS_SUCCESS);
}

void remote_rights_require_local_write(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    for (const ib_access_t remote : {IB_AC_RDMA_WRITE, IB_AC_ATOMIC}) {
        const ib_mr_create_t wanted = whole(memory, remote);
        EXPECT_STATUS(status_of(register_mr(domain, &wanted)), STATUS_ACCESS_DENIED);
    }
    const mr writable(domain, whole(memory, IB_AC_RDMA_WRITE | IB_AC_LOCAL_WRITE));
    const mr readable(domain, whole(memory, IB_AC_RDMA_READ));
    EXPECT_NE(writable->RKey, 0u);
    EXPECT_NE(readable->RKey, 0u);
}

void invalid_region_returns_invalid_parameter(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    auto* last = reinterpret_cast<void*>(~std::uintptr_t{0});
    for (const ib_mr_create_t& wanted :
         {ib_mr_create_t{nullptr, 1, 0, 0}, ib_mr_create_t{memory.data(), 2, 0, ~0ull},
          ib_mr_create_t{memory.data(), ~0ull, 0, 0}, ib_mr_create_t{last, 2, 0, 0},
          ib_mr_create_t{memory.data(), 1, 0x80000000, 0},
          ib_mr_create_t{memory.data(), 1, IB_AC_ZERO_BASED, 4096}})
        EXPECT_STATUS(status_of(register_mr(domain, &wanted)), STATUS_INVALID_PARAMETER)
            << wanted.length;
    EXPECT_STATUS(status_of(register_mr(domain, nullptr)), STATUS_INVALID_PARAMETER);
    IB_CA_ATTR limits{};
    status_of(query_ca(opened, &limits, sizeof(limits)));
    if (limits.MaxMrSize == 0 || limits.MaxMrSize == ~0ull) return; // unknown, or any
    const ib_mr_create_t longer{memory.data(), limits.MaxMrSize + 1, 0, 0};
    EXPECT_STATUS(status_of(register_mr(domain, &longer)), STATUS_INVALID_PARAMETER);
}

// Both segments and remote addresses are those of the regions.
void iova_is_the_address_in_work_requests(world& here) {
    transfer_scene scene(here);
    auto& from = scene.one.memory;
    auto& to = scene.other.memory;
    const mr source(scene.domain, {from.data(), 64, 0, iova_of(from.data())});
    const mr target(scene.domain,
                    {to.data(), 64, IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE, iova_of(to.data())});
    EXPECT_EQ(attributes_of(target).local_lb, iova_of(to.data()));
    EXPECT_EQ(attributes_of(target).remote_ub, iova_of(to.data()) + 64);
    std::fill(from.begin(), from.begin() + 64, UCHAR{7});
    ib_local_ds_t segment{iova_of(from.data()) + 8, 16, source->LKey};
    ib_send_wr_t what = scene.one.remote(WR_RDMA_WRITE, 1, scene.other);
    what.ds_array = &segment;
    what.remote_ops.vaddr = iova_of(to.data()) + 8;
    what.remote_ops.rkey = target->RKey;
    scene.one.post(what);
    scene.one.expect(1);
    EXPECT_EQ(std::count(to.begin() + 8, to.begin() + 24, UCHAR{7}), 16);
    what.remote_ops.vaddr = scene.other.address();
    scene.one.post(what);
    scene.one.expect(1, IB_WC_REMOTE_ACCESS_ERROR);
}

void region_without_bytes_lets_the_peer_reach_none(world& here) {
    transfer_scene scene(here);
    UCHAR* const place = scene.other.memory.data() + 1; // not the beginning of a page
    const mr region(scene.domain, {place, 0, IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE, 0});
    EXPECT_EQ(attributes_of(region).local_ub, attributes_of(region).local_lb);
    ib_send_wr_t what = scene.one.remote(WR_RDMA_WRITE, 1, scene.other);
    what.remote_ops.vaddr = attributes_of(region).remote_lb;
    what.remote_ops.rkey = region->RKey;
    scene.one.post(what);
    scene.one.expect(1, IB_WC_REMOTE_ACCESS_ERROR);
}

void keys_of_regions_differ(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    std::set<ULONG> keys;
    for (int i = 0; i < 20; ++i) {
        const mr local(domain, whole(memory, IB_AC_LOCAL_WRITE));
        const mr remote(domain, whole(memory, IB_AC_RDMA_READ));
        EXPECT_EQ(local->RKey, 0u);
        EXPECT_NE(local->LKey, remote->LKey);
        EXPECT_TRUE(keys.insert(local->LKey).second) << "a key became valid again at once";
    }
}

void query_returns_range_rights_and_keys(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    const auto first = static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(memory.data()));
    const mr region(domain, whole(memory, IB_AC_RDMA_READ | IB_AC_LOCAL_WRITE));
    const block all =
        conformance::whole([&](void* to, SIZE_T size) { return query_mr(region, to, size); });
    const auto& attr = all.as<ib_mr_attr_t>();
    EXPECT_EQ(attr.h_pd, domain);
    EXPECT_EQ(attr.local_lb, first);
    EXPECT_EQ(attr.local_ub, first + memory.size());
    EXPECT_EQ(attr.remote_lb, first);
    EXPECT_EQ(attr.remote_ub, first + memory.size());
    EXPECT_EQ(attr.access_ctrl, IB_AC_RDMA_READ | IB_AC_LOCAL_WRITE);
    EXPECT_EQ(attr.lkey, region->LKey);
    EXPECT_EQ(attr.rkey, region->RKey);
}

void query_short_buffer_returns_too_small(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    const mr region(domain, whole(memory, 0));
    ULONG size = 0;
    EXPECT_STATUS(status_of(query_mr(region, &size, 3)), STATUS_BUFFER_TOO_SMALL);
    EXPECT_STATUS(status_of(query_mr(region, &size, 4)), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(size, sizeof(ib_mr_attr_t));
}

void registrations_race_all_complete(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    const ib_mr_create_t wanted = whole(memory, 0);
    std::array<verb_call, 2> calls;
    world::together({[&] { calls[0].send(register_mr(domain, &wanted)); },
                     [&] { calls[1].send(register_mr(domain, &wanted)); },
                     [&] { calls[1].cancel(); }});
    std::set<ULONG> keys;
    for (verb_call& each : calls) {
        if (each.status() == STATUS_NOT_SUPPORTED) throw skipped{"no memory regions"};
        if (each.status() != STATUS_SUCCESS) {
            EXPECT_STATUS(each.status(), STATUS_CANCELLED);
            continue;
        }
        auto* region = each.object<IB_MR>();
        EXPECT_TRUE(keys.insert(region->LKey).second);
        EXPECT_STATUS(status_of(deregister_mr(region)), STATUS_SUCCESS);
    }
}

void user_region_parameters_are_copied(world& here) {
    const ca opened(here);
    const pd domain(opened);
    buffer memory{};
    const ib_mr_create_t wanted = whole(memory, IB_AC_RDMA_READ);
    std::array<UCHAR, 16> in{};
    std::array<UCHAR, 16> out{};
    CI_UDATA data{in.data(), out.data(), in.size(), out.size()};
    verb_call call(for_user(register_mr(domain, &wanted, &data)));
    ASSERT_EQ(call.status(), STATUS_SUCCESS);
    EXPECT_LE(data.OutputSize, out.size());
    EXPECT_STATUS(status_of(deregister_mr(call.object<IB_MR>())), STATUS_SUCCESS);
    const auto* unmapped = reinterpret_cast<const ib_mr_create_t*>(std::uintptr_t{16});
    EXPECT_STATUS(status_of(for_user(register_mr(domain, unmapped))), STATUS_ACCESS_VIOLATION);
}

void common_buffers_are_memory_like_any_other(world& here) {
    transfer_scene scene(here);
    const ci::common_buffer from(transfer_end::size);
    const ci::common_buffer to(transfer_end::size);
    for (const ci::common_buffer* each : {&from, &to})
        EXPECT_TRUE(
            std::ranges::all_of(each->bytes(), [](std::byte b) { return b == std::byte{}; }));
    std::ranges::fill(from.bytes(), std::byte{7});
    const mr source(scene.domain, {from.bytes().data(), from.bytes().size(), 0, 0});
    const mr target(scene.domain, {to.bytes().data(), to.bytes().size(),
                                   IB_AC_LOCAL_WRITE | IB_AC_RDMA_WRITE, 0});
    ib_local_ds_t segment{reinterpret_cast<std::uintptr_t>(from.bytes().data()), transfer_end::size,
                          source->LKey};
    ib_send_wr_t write = scene.one.remote(WR_RDMA_WRITE, 1, scene.other);
    write.ds_array = &segment;
    write.remote_ops = {reinterpret_cast<std::uintptr_t>(to.bytes().data()), 0, 0, target->RKey};
    scene.one.post(write);
    scene.one.expect(1);
    EXPECT_TRUE(std::ranges::equal(from.bytes(), to.bytes()));
}

constexpr const char* wrong_region =
    "STATUS_INVALID_PARAMETER: also a NULL vaddr, more bytes than the HCA supports "
    "(IB_CA_ATTR.MaxMrSize), a range beyond the last address, or an iova with IB_AC_ZERO_BASED;";
constexpr const char* query = "Attributes of a memory region; sizes and statuses as CiQueryCa.";

constexpr test_case cases[] = {
    {"AllocatePd.Success_CaIsBusy",
     "Ownership: the IB_PD is the caller's until CiDeallocatePd completes.", nothing, kind::steps,
     allocated_ca_is_busy},
    {"AllocatePd.OtherType_ReturnsNotSupported", "STATUS_NOT_SUPPORTED: also another ib_pd_type_t.",
     nothing, kind::steps, other_type_returns_not_supported},
    {"DeallocatePd.RegionRemains_ReturnsDeviceBusy",
     "STATUS_DEVICE_BUSY: objects created with it remain; nothing changed.", nothing, kind::steps,
     children_return_device_busy},
    {"RegisterMr.RemoteRights_RequireLocalWrite",
     "STATUS_ACCESS_DENIED: IB_AC_RDMA_WRITE or IB_AC_ATOMIC without IB_AC_LOCAL_WRITE.", nothing,
     kind::steps, remote_rights_require_local_write},
    {"RegisterMr.InvalidRegion_ReturnsInvalidParameter", wrong_region, nothing, kind::steps,
     invalid_region_returns_invalid_parameter},
    {"RegisterMr.Iova_IsTheAddressInWorkRequests",
     "the address of the first byte in work requests;", nothing, kind::steps,
     iova_is_the_address_in_work_requests},
    {"RegisterMr.NoBytes_LetsThePeerReachNone", "0: no work request reaches a byte by the region",
     nothing, kind::steps, region_without_bytes_lets_the_peer_reach_none},
    {"RegisterMr.CommonBuffer_IsMemoryLikeAnyOther", "It is memory like any other, for all HCAs.",
     nothing, kind::steps, common_buffers_are_memory_like_any_other},
    {"RegisterMr.Keys_Differ", "Its keys are invalid from the completion on", nothing, kind::steps,
     keys_of_regions_differ},
    {"RegisterMr.RacesWithCancel_AllComplete",
     "Ownership: the IB_MR is the caller's until CiDeregisterMr completes;", nothing, kind::race,
     registrations_race_all_complete},
    {"RegisterMr.ForUser_ParametersAreCopied",
     "STATUS_ACCESS_VIOLATION when Irp->RequestorMode is UserMode and a buffer is not mapped.",
     nothing, kind::steps, user_region_parameters_are_copied},
    {"QueryMr.ReturnsRangeRightsAndKeys", query, nothing, kind::steps,
     query_returns_range_rights_and_keys},
    {"QueryMr.ShortBuffer_ReturnsTooSmall", query, nothing, kind::steps,
     query_short_buffer_returns_too_small},
};

} // namespace
} // namespace memory_group

const std::span<const test_case> memory_cases = memory_group::cases;

} // namespace irpverbs::conformance
