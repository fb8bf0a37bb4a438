// Memory windows: their verbs, their bindings, and the access that these give to the peer.
#include "transfers.hpp"

#include <algorithm>
#include <set>

namespace irpverbs::conformance {

namespace memory_window_group {
namespace {

constexpr ULONG begin = 128; // of the windows in their regions, in bytes
constexpr ULONG length = 200;

/// Two connected queue pairs, and a region on the memory of the other end to which windows may be
/// bound.
struct window_scene : transfer_scene {
    explicit window_scene(const world& here)
        : transfer_scene(here), region(domain, {other.memory.data(), other.memory.size(),
                                                IB_AC_LOCAL_WRITE | IB_AC_MW_BIND, 0}) {}

    ULONGLONG address() const { return other.address() + begin; }
    /// Writes by the key; returns the status of the completion.
    ULONG write(ULONG rkey, ULONG offset = 0, ULONG count = length) {
        ib_send_wr_t what = one.remote(WR_RDMA_WRITE, 1, other, count);
        what.remote_ops.vaddr = address() + offset;
        what.remote_ops.rkey = rkey;
        one.post(what);
        return one.next().Status;
    }
    bool was_written() const { return other.memory[begin] != 0; }

    ib_bind_wr_t binding(const IB_MW* window) const {
        ib_bind_wr_t made{};
        made.wr_id = 50;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        made.h_mr = region;
        made.access_ctrl = IB_AC_RDMA_READ | IB_AC_RDMA_WRITE;
        made.current_rkey = window->RKey;
        made.local_ds = {address(), length, 0};
        return made;
    }
    /// Binds a window of type 1, and waits for the completion.
    ULONG bind(IB_MW* window, const ib_bind_wr_t& how) {
        ULONG rkey = 0;
        const NTSTATUS status = CiBindMw(window, other.pair, &how, &rkey);
        if (status == STATUS_NOT_SUPPORTED) throw skipped{"CiBindMw returns STATUS_NOT_SUPPORTED"};
        EXPECT_STATUS(status, STATUS_SUCCESS);
        EXPECT_EQ(rkey, window->RKey);
        EXPECT_NE(rkey, how.current_rkey);
        EXPECT_EQ(other.expect(50).Opcode, IB_WC_BIND_MW);
        return rkey;
    }
    ib_send_wr_t binding_of_type_2(IB_MW* window, UCHAR variant) {
        ib_send_wr_t made{};
        made.wr_id = 60;
        made.wr_type = WR_BIND_MW;
        made.send_opt = IB_SEND_OPT_SIGNALED;
        made.bind_mw = {window,
                        region,
                        address(),
                        length,
                        (window->RKey & ~0xFFu) | variant,
                        IB_AC_RDMA_READ | IB_AC_RDMA_WRITE};
        return made;
    }
    /// Binds a window of type 2 by a queue pair, and waits for the completion.
    ULONG bind(IB_MW* window, UCHAR variant, const transfer_end& by) {
        const ib_send_wr_t what = binding_of_type_2(window, variant);
        by.post(what);
        EXPECT_EQ(by.expect(60).Opcode, IB_WC_BIND_MW);
        return what.bind_mw.rkey;
    }

    mr region;
};

void allocated_domain_is_busy(world& here) {
    const ca opened(here);
    const pd domain(opened);
    std::set<ULONG> keys;
    for (const ULONG type : {IB_MWT_TYPE_1, IB_MWT_TYPE_2}) {
        const mw window(domain, type);
        EXPECT_EQ(window->Type, type);
        EXPECT_TRUE(keys.insert(window->RKey).second);
        EXPECT_STATUS(status_of(deallocate_pd(domain)), STATUS_DEVICE_BUSY);
    }
}

void other_type_returns_invalid_parameter(world& here) {
    const ca opened(here);
    const pd domain(opened);
    for (const ULONG type : {0u, 3u, ~0u})
        EXPECT_STATUS(verb_call(allocate_mw(domain, type)).status(), STATUS_INVALID_PARAMETER);
}

void query_returns_type_domain_and_key(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const mw window(domain, IB_MWT_TYPE_2);
    const block all =
        conformance::whole([&](void* to, SIZE_T size) { return query_mw(window, to, size); });
    const auto& attr = all.as<ib_mw_attr_t>();
    EXPECT_EQ(attr.type, ULONG{IB_MWT_TYPE_2});
    EXPECT_EQ(attr.h_pd, domain);
    EXPECT_EQ(attr.rkey, window->RKey);
    ULONG size = 0;
    EXPECT_STATUS(status_of(query_mw(window, &size, 3)), STATUS_BUFFER_TOO_SMALL);
    EXPECT_STATUS(status_of(query_mw(window, &size, 4)), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(size, sizeof(ib_mw_attr_t));
}

void allocations_race_all_complete(world& here) {
    const ca opened(here);
    const pd domain(opened);
    std::array<verb_call, 2> calls;
    world::together({[&] { calls[0].send(allocate_mw(domain, IB_MWT_TYPE_1)); },
                     [&] { calls[1].send(allocate_mw(domain, IB_MWT_TYPE_2)); },
                     [&] { calls[1].cancel(); }});
    for (verb_call& each : calls) {
        if (each.status() == STATUS_NOT_SUPPORTED) throw skipped{"no memory windows"};
        if (each.status() == STATUS_SUCCESS)
            EXPECT_STATUS(status_of(deallocate_mw(each.object<IB_MW>())), STATUS_SUCCESS);
        else
            EXPECT_STATUS(each.status(), STATUS_CANCELLED);
    }
}

void bound_window_gives_its_range(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_1);
    const ULONG rkey = scene.bind(window, scene.binding(window));
    EXPECT_EQ(scene.write(rkey), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(scene.other.memory[begin - 1], 0);
    EXPECT_TRUE(scene.was_written());
    EXPECT_NE(scene.other.memory[begin + length - 1], 0);
    EXPECT_EQ(scene.other.memory[begin + length], 0);
    if (!is_rxe(here)) { // soft-RoCE compares with the region's range
        EXPECT_EQ(scene.write(rkey, 1), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    }
}

void right_that_the_window_lacks_fails(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_1);
    ib_bind_wr_t how = scene.binding(window);
    how.access_ctrl = IB_AC_RDMA_READ;
    EXPECT_EQ(scene.write(scene.bind(window, how)), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_FALSE(scene.was_written());
}

void new_binding_replaces_the_earlier(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_1);
    const ULONG stale = scene.bind(window, scene.binding(window));
    const ULONG rkey = scene.bind(window, scene.binding(window));
    EXPECT_EQ(scene.write(rkey, 0, 8), ULONG{IB_WC_SUCCESS});
    scene.other.memory = {};
    EXPECT_EQ(scene.write(stale, 0, 8), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_FALSE(scene.was_written());
}

void binding_without_length_unbinds(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_1);
    scene.bind(window, scene.binding(window));
    ib_bind_wr_t nothing = scene.binding(window);
    nothing.h_mr = nullptr;
    nothing.local_ds = {};
    EXPECT_EQ(scene.write(scene.bind(window, nothing)), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void wrong_binding_is_not_posted(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_1);
    const mw of_type_2(scene.domain, IB_MWT_TYPE_2);
    const pd other_domain(scene.opened);
    const mw foreign(other_domain, IB_MWT_TYPE_1);
    scene.bind(window, scene.binding(window)); // skips
    ULONG rkey = 7;
    const auto refuses = [&](IB_MW* which, NTSTATUS expected, const auto& change) {
        ib_bind_wr_t how = scene.binding(which);
        change(how);
        EXPECT_STATUS(CiBindMw(which, scene.other.pair, &how, &rkey), expected);
        EXPECT_EQ(rkey, 7u);
    };
    const auto nothing = [](ib_bind_wr_t&) {};
    refuses(of_type_2, STATUS_INVALID_DEVICE_REQUEST, nothing);
    refuses(foreign, STATUS_INVALID_PARAMETER, nothing);
    refuses(window, STATUS_INVALID_PARAMETER, [](auto& how) { how.h_mr = nullptr; });
    refuses(window, STATUS_INVALID_PARAMETER, [](auto& how) { how.current_rkey ^= 1; });
    refuses(window, STATUS_INVALID_PARAMETER, [](auto& how) { how.local_ds.vaddr -= begin + 1; });
    refuses(window, STATUS_INVALID_PARAMETER,
            [](auto& how) { how.local_ds.length = transfer_end::size; });
    refuses(window, STATUS_ACCESS_DENIED, [](auto& how) { how.access_ctrl = IB_AC_LOCAL_WRITE; });
    refuses(window, STATUS_ACCESS_DENIED,
            [&](auto& how) { how.h_mr = scene.other.region; }); // not bindable
    const mr read_only(scene.domain, {scene.other.memory.data(), 512, IB_AC_MW_BIND, 0});
    refuses(window, STATUS_ACCESS_DENIED, [&](auto& how) { how.h_mr = read_only; });
    const ib_bind_wr_t good = scene.binding(window);
    EXPECT_STATUS(CiBindMw(nullptr, scene.other.pair, &good, &rkey), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(CiBindMw(window, nullptr, &good, &rkey), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(CiBindMw(window, scene.other.pair, nullptr, &rkey), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(CiBindMw(window, scene.other.pair, &good, nullptr), STATUS_INVALID_PARAMETER);
    scene.other.expect_none();
}

void state_decides_whether_it_binds(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_1);
    scene.bind(window, scene.binding(window)); // skips
    const qp reset(scene.domain, small_queue_pair(scene.one.queue, scene.one.queue));
    const qp datagrams(scene.domain,
                       small_queue_pair(scene.one.queue, scene.one.queue, IB_QPT_UNRELIABLE_DGRM));
    const ib_bind_wr_t how = scene.binding(window);
    ULONG rkey = 0;
    EXPECT_STATUS(CiBindMw(window, reset, &how, &rkey), STATUS_INVALID_DEVICE_STATE);
    EXPECT_STATUS(CiBindMw(window, datagrams, &how, &rkey), STATUS_INVALID_DEVICE_REQUEST);
}

void type_2_gives_its_range_to_one_queue_pair(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_2);
    EXPECT_EQ(scene.write(scene.bind(window, 0x41, scene.other)), ULONG{IB_WC_SUCCESS});
    EXPECT_TRUE(scene.was_written());
}

// The write arrives at the other queue pair of the same domain.
void type_2_of_another_queue_pair_fails(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_2);
    EXPECT_EQ(scene.write(scene.bind(window, 0x41, scene.one)), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_FALSE(scene.was_written());
}

void bound_type_2_is_not_bound_again(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_2);
    scene.bind(window, 0x41, scene.other);
    scene.other.post(scene.binding_of_type_2(window, 0x42));
    scene.other.expect(60, IB_WC_MW_BIND_ERROR);
    EXPECT_EQ(scene.other.pair.attributes().state, IB_QPS_ERROR);
}

void local_invalidate_ends_the_binding(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_2);
    for (const UCHAR variant : {UCHAR{0x41}, UCHAR{0x42}}) {
        const ULONG rkey = scene.bind(window, variant, scene.other);
        EXPECT_EQ(scene.write(rkey, 0, 8), ULONG{IB_WC_SUCCESS});
        ib_send_wr_t ends{};
        ends.wr_id = 70;
        ends.wr_type = WR_LOCAL_INV;
        ends.send_opt = IB_SEND_OPT_SIGNALED;
        ends.invalidate_rkey = rkey;
        scene.other.post(ends);
        EXPECT_EQ(scene.other.expect(70).Opcode, IB_WC_LOCAL_INVALIDATE);
    }
    scene.other.memory = {};
    EXPECT_EQ(scene.write((window->RKey & ~0xFFu) | 0x42), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_FALSE(scene.was_written());
}

void peer_invalidates(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_2);
    const ULONG rkey = scene.bind(window, 0x41, scene.other);
    scene.other.post_receive(7);
    ib_send_wr_t send = scene.one.request(WR_SEND, 1);
    send.send_opt |= IB_SEND_OPT_INVALIDATE;
    send.invalidate_rkey = rkey;
    scene.one.post(send);
    scene.one.expect(1);
    const IB_WC received = scene.other.expect(7);
    EXPECT_EQ(received.Flags & (IB_WC_INVALIDATED | IB_WC_IMMEDIATE_PRESENT), IB_WC_INVALIDATED);
    EXPECT_EQ(received.Immediate, rkey);
    scene.other.memory = {};
    EXPECT_EQ(scene.write(rkey), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_FALSE(scene.was_written());
}

void list_binds_and_uses_the_key(world& here) {
    window_scene scene(here);
    const mw window(scene.domain, IB_MWT_TYPE_2);
    std::array<ib_send_wr_t, 3> list{};
    list[0] = scene.binding_of_type_2(window, 0x41);
    list[1].wr_id = 61;
    list[1].wr_type = WR_LOCAL_INV;
    list[1].send_opt = IB_SEND_OPT_SIGNALED;
    list[1].invalidate_rkey = list[0].bind_mw.rkey;
    list[2] = scene.binding_of_type_2(window, 0x42);
    list[0].p_next = &list[1];
    list[1].p_next = &list[2];
    scene.other.post(list[0]);
    for (const ULONGLONG id : {60u, 61u, 60u})
        scene.other.expect(id);
    EXPECT_EQ(scene.write(list[2].bind_mw.rkey, 0, 8), ULONG{IB_WC_SUCCESS});
    EXPECT_EQ(scene.write(list[0].bind_mw.rkey, 0, 8), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
}

void bound_region_is_busy(world& here) {
    window_scene scene(here);
    scene.other.skip_without_posts();
    static_cast<void>(mw(scene.domain, IB_MWT_TYPE_2)); // skips before there is a region
    const ib_mr_create_t wanted{scene.other.memory.data(), transfer_end::size,
                                IB_AC_LOCAL_WRITE | IB_AC_MW_BIND, 0};
    auto* region = reinterpret_cast<IB_MR*>(must(register_mr(scene.domain, &wanted)));
    {
        mw window(scene.domain, IB_MWT_TYPE_2);
        ib_send_wr_t what = scene.binding_of_type_2(window, 0x41);
        what.bind_mw.h_mr = region;
        scene.other.post(what);
        scene.other.expect(60);
        EXPECT_STATUS(status_of(deregister_mr(region)), STATUS_DEVICE_BUSY);
        ib_mr_attr_t attr{};
        EXPECT_STATUS(status_of(query_mr(region, &attr, sizeof(attr))), STATUS_SUCCESS);
        EXPECT_EQ(scene.write(what.bind_mw.rkey, 0, 8), ULONG{IB_WC_SUCCESS});
    }
    EXPECT_STATUS(status_of(deregister_mr(region)), STATUS_SUCCESS);
}

void deallocated_window_gives_no_access(world& here) {
    window_scene scene(here);
    mw window(scene.domain, IB_MWT_TYPE_2);
    const ULONG rkey = scene.bind(window, 0x41, scene.other);
    window.deallocate();
    EXPECT_EQ(scene.write(rkey), ULONG{IB_WC_REMOTE_ACCESS_ERROR});
    EXPECT_FALSE(scene.was_written());
}

constexpr const char* binds = "Posts a work request that binds a window of type 1 to a range of a "
                              "region, and replaces its earlier binding.";
constexpr const char* range_of_type_2 = "The binding of a window of type 2 to a range of a region.";
constexpr const char* query = "Attributes of a memory window; sizes and statuses as CiQueryCa.";

constexpr test_case cases[] = {
    {"AllocateMw.Success_DomainIsBusy",
     "Ownership: the IB_MW is the caller's until CiDeallocateMw completes.", nothing, kind::steps,
     allocated_domain_is_busy},
    {"AllocateMw.OtherType_ReturnsInvalidParameter",
     "STATUS_INVALID_PARAMETER: also a type that is none.", nothing, kind::values,
     other_type_returns_invalid_parameter},
    {"AllocateMw.RacesWithCancel_AllComplete",
     "Ownership: the IB_MW is the caller's until CiDeallocateMw completes.", nothing, kind::race,
     allocations_race_all_complete},
    {"QueryMw.ReturnsTypeDomainAndKey", query, nothing, kind::steps,
     query_returns_type_domain_and_key},
    {"BindMw.Window_GivesItsRangeToThePeer", binds, nothing, kind::steps,
     bound_window_gives_its_range},
    {"BindMw.RightThatTheWindowLacks_Fails", "access_ctrl; /* of IB_AC_REMOTE */", nothing,
     kind::steps, right_that_the_window_lacks_fails},
    {"BindMw.NewBinding_ReplacesTheEarlier", binds, nothing, kind::steps,
     new_binding_replaces_the_earlier},
    {"BindMw.LengthOfZero_Unbinds", "length 0: the window is bound to nothing", nothing,
     kind::steps, binding_without_length_unbinds},
    {"BindMw.WrongBinding_IsNotPosted",
     "STATUS_ACCESS_DENIED: the region lacks IB_AC_MW_BIND, or IB_AC_LOCAL_WRITE that "
     "IB_AC_RDMA_WRITE or IB_AC_ATOMIC requires, or access_ctrl has another right.",
     nothing, kind::steps, wrong_binding_is_not_posted},
    {"BindMw.State_DecidesWhetherItBinds",
     "STATUS_INVALID_DEVICE_REQUEST: the window is of type 2, or the queue pair of datagrams.",
     nothing, kind::steps, state_decides_whether_it_binds},
    {"PostSend.BindingOfType2_GivesItsRangeToThePeer", range_of_type_2, nothing, kind::steps,
     type_2_gives_its_range_to_one_queue_pair},
    {"PostSend.BindingOfType2_IsForItsQueuePairOnly",
     "for the queue pair whose WR_BIND_MW binds it", nothing, kind::steps,
     type_2_of_another_queue_pair_fails},
    {"PostSend.BindingOfABoundWindow_Fails", range_of_type_2, nothing, kind::steps,
     bound_type_2_is_not_bound_again},
    {"PostSend.LocalInvalidate_EndsTheBinding", "of WR_LOCAL_INV, and with IB_SEND_OPT_INVALIDATE",
     nothing, kind::steps, local_invalidate_ends_the_binding},
    {"PostSend.SendWithInvalidate_EndsTheBinding",
     "of a send: the peer invalidates invalidate_rkey", nothing, kind::steps, peer_invalidates},
    {"PostSend.ListOfBindings_ExecutesInOrder",
     "Posts a list of work requests to the send queue, in order, up to the first that fails.",
     nothing, kind::steps, list_binds_and_uses_the_key},
    {"DeregisterMr.BoundWindow_ReturnsDeviceBusy",
     "STATUS_DEVICE_BUSY: a memory window is bound to it, or a region shares its pages; nothing "
     "changed.",
     nothing, kind::steps, bound_region_is_busy},
    {"DeallocateMw.BoundWindow_GivesNoAccess",
     "Deallocates a memory window, after it has unbound it.", nothing, kind::steps,
     deallocated_window_gives_no_access},
};

} // namespace
} // namespace memory_window_group

const std::span<const test_case> memory_window_cases = memory_window_group::cases;

} // namespace irpverbs::conformance
