// Queue pairs of the rdma driver, and the objects that they need, over the fake kernel.
#include "verbs_hcas.hpp"

#include <ci/data_path.h>
#include <ci/qp_changes.hpp>

#include <cerrno>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;
using call = fake_verbs;

constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;
constexpr ib_qp_type_t ud = IB_QPT_UNRELIABLE_DGRM;

ib_av_attr_t some_way(UCHAR port = 1) {
    ib_av_attr_t made{};
    made.port_num = port;
    made.grh_valid = TRUE;
    made.grh.dest_gid = {IB_DEFAULT_GID_PREFIX, 0x1234};
    made.grh.flow_label = 0x12345;
    made.grh.sgid_index = 1;
    made.grh.hop_limit = 7;
    made.sl = 5;
    return made;
}

/// An open HCA with a domain, a completion queue and a queue pair.
struct pair_scene {
    explicit pair_scene(ib_qp_type_t type = rc) {
        ib_qp_create_t wanted{};
        wanted.qp_type = type;
        wanted.h_sq_cq = wanted.h_rq_cq = queue;
        wanted.sq_depth = wanted.rq_depth = 64;
        wanted.sq_sge = wanted.rq_sge = 4;
        wanted.dispatch.AsyncEvent = note;
        wanted.qp_context = this;
        KeInitializeSemaphore(&noted_, 0, 64);
        pair = create_qp(domain, wanted);
    }
    ~pair_scene() {
        if (pair != nullptr) {
            EXPECT_EQ(destroy_qp(pair), STATUS_SUCCESS);
        }
        EXPECT_EQ(destroy_cq(queue), STATUS_SUCCESS);
        EXPECT_EQ(deallocate_pd(domain), STATUS_SUCCESS);
    }
    pair_scene(const pair_scene&) = delete;
    pair_scene& operator=(const pair_scene&) = delete;

    void make_ready(ib_qp_type_t type = rc) const {
        ci::rtr_attributes path;
        path.av = some_way();
        EXPECT_EQ(modify_qp(pair, ci::to_init(type, {})), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(pair, ci::to_rtr(type, path)), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(pair, ci::to_rts(type)), STATUS_SUCCESS);
    }
    static void note(VOID* self, IB_ASYNC_EVENT event) {
        auto& scene = *static_cast<pair_scene*>(self);
        scene.events.push_back(event);
        KeReleaseSemaphore(&scene.noted_, IO_NO_INCREMENT, 1, FALSE);
    }
    void await_up_calls(int count) {
        for (; count != 0; --count)
            KeWaitForSingleObject(&noted_, Executive, KernelMode, FALSE, nullptr);
    }

    open_verbs hca;
    IB_PD* domain = allocate_pd(hca.ca);
    IB_CQ* queue = create_cq(hca.ca, 16);
    IB_QP* pair = nullptr;
    std::vector<IB_ASYNC_EVENT> events;

private:
    KSEMAPHORE noted_;
};

auto creating_av(IB_PD* pd, const ib_av_attr_t& way) {
    return [=](IRP* irp) { return CiCreateAv(pd, &way, nullptr, irp); };
}
auto modifying_av(IB_AV* av, const ib_av_attr_t& way) {
    return [=](IRP* irp) { return CiModifyAv(av, &way, nullptr, irp); };
}
auto destroying_av(IB_AV* av) {
    return [=](IRP* irp) { return CiDestroyAv(av, nullptr, irp); };
}
auto registering(IB_PD* pd, void* memory, ib_access_t access) {
    return [=](IRP* irp) {
        const ib_mr_create_t wanted{memory, 64, access, 0};
        return CiRegisterMr(pd, &wanted, nullptr, irp);
    };
}
auto attaching(IB_QP* qp, ib_lid_t lid) {
    return [=](IRP* irp) {
        const ib_gid_t group{0xFF12401BFFFF0000, 1};
        return CiAttachMcast(qp, &group, lid, nullptr, irp);
    };
}
auto detaching(IB_MCAST* mcast) {
    return [=](IRP* irp) { return CiDetachMcast(mcast, nullptr, irp); };
}
auto querying_qp(IB_QP* qp, ib_qp_attr_t& attr) {
    return [=, &attr](IRP* irp) { return CiQueryQp(qp, sizeof(attr), &attr, nullptr, irp); };
}

class VerbsQp : public BothMachines {
protected:
    verbs_kernel kernel;
};

TEST_P(VerbsQp, Modify_PassesAttributesOfLibibverbs) {
    const pair_scene scene;
    scene.make_ready();
    ASSERT_EQ(kernel.verbs.changes.size(), 3u);
    const ibv_qp_attr& init = kernel.verbs.changes[0];
    EXPECT_EQ(init.qp_state, IBV_QPS_INIT);
    EXPECT_EQ(init.port_num, 1);
    const ibv_qp_attr& rtr = kernel.verbs.changes[1];
    EXPECT_EQ(rtr.qp_state, IBV_QPS_RTR);
    EXPECT_EQ(rtr.path_mtu, IBV_MTU_1024);
    EXPECT_EQ(rtr.ah_attr.is_global, 1);
    EXPECT_EQ(rtr.ah_attr.grh.dgid.global.interface_id, htobe64(0x1234));
    EXPECT_EQ(rtr.ah_attr.grh.flow_label, 0x12345u);
    EXPECT_EQ(rtr.ah_attr.grh.sgid_index, 1);
    EXPECT_EQ(rtr.ah_attr.sl, 5);
    EXPECT_EQ(kernel.verbs.changes[2].retry_cnt, 7);
    EXPECT_EQ(kernel.verbs.masks[2], IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC |
                                         IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
}

// The error is reported by completions only, so the driver asks the kernel for the state.
TEST_P(VerbsQp, StateChangedByError_DecidesNextModify) {
    const pair_scene scene;
    scene.make_ready();
    kernel.verbs.set_state(scene.pair->Num, IBV_QPS_ERR);
    EXPECT_EQ(modify_qp(scene.pair, ci::to_state(IB_QPS_SQD)), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(kernel.verbs.changes.size(), 3u);
    ib_qp_attr_t attr{};
    EXPECT_EQ(status_of(querying_qp(scene.pair, attr)), STATUS_SUCCESS);
    EXPECT_EQ(attr.state, IB_QPS_ERROR);
    EXPECT_EQ(modify_qp(scene.pair, ci::to_state(IB_QPS_RESET)), STATUS_SUCCESS);
}

TEST_P(VerbsQp, FailedModify_ChangesNoState) {
    const pair_scene scene;
    kernel.verbs.fail(call::modify_qp, {call::positive(EINVAL), call::by_errno(ENOMEM)});
    EXPECT_EQ(modify_qp(scene.pair, ci::to_init(rc, {})), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(modify_qp(scene.pair, ci::to_init(rc, {})), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(modify_qp(scene.pair, ci::to_init(rc, {.pkey_index = 1})), STATUS_INVALID_PARAMETER)
        << "the port has one P_Key";
    EXPECT_EQ(modify_qp(scene.pair, ci::to_init(rc, {})), STATUS_SUCCESS);
    ci::rtr_attributes path;
    path.av = some_way();
    path.av.grh.sgid_index = 0x101;
    EXPECT_EQ(modify_qp(scene.pair, ci::to_rtr(rc, path)), STATUS_INVALID_PARAMETER)
        << "libibverbs has 8 bits";
}

// Soft-RoCE names the capability, and the kernel refuses the attribute.
TEST_P(VerbsQp, AlternatePath_IsPassedToInfiniBandOnly) {
    for (const auto& [flags, layer, status] :
         {std::tuple{unsigned{IBV_DEVICE_AUTO_PATH_MIG}, UCHAR{IBV_LINK_LAYER_INFINIBAND},
                     STATUS_SUCCESS},
          {0u, UCHAR{IBV_LINK_LAYER_INFINIBAND}, STATUS_NOT_SUPPORTED},
          {unsigned{IBV_DEVICE_AUTO_PATH_MIG}, UCHAR{IBV_LINK_LAYER_ETHERNET},
           STATUS_NOT_SUPPORTED}}) {
        kernel.verbs.changes.clear();
        kernel.verbs.at("rxe0").attr.orig_attr.device_cap_flags = flags;
        kernel.verbs.at("rxe0").ports.at(0).attr.link_layer = layer;
        const pair_scene scene;
        scene.make_ready();
        ib_qp_mod_t change{};
        change.opts = IB_MOD_QP_ALTERNATE_AV | IB_MOD_QP_APM_STATE;
        change.apm_state = IB_APM_REARM;
        change.alternate_av = some_way();
        change.alternate_local_ack_timeout = 9;
        EXPECT_EQ(modify_qp(scene.pair, change), status);
        change.opts = IB_MOD_QP_APM_STATE;
        EXPECT_EQ(modify_qp(scene.pair, change), status);
        change.apm_state = IB_APM_MIGRATED;
        EXPECT_EQ(modify_qp(scene.pair, change), STATUS_SUCCESS) << "the initial state";
        if (status != STATUS_SUCCESS) continue;
        ASSERT_EQ(kernel.verbs.changes.size(), 3u + 3u);
        const ibv_qp_attr& loaded = kernel.verbs.changes[3];
        EXPECT_EQ(loaded.path_mig_state, IBV_MIG_REARM);
        EXPECT_EQ(loaded.alt_port_num, 1);
        EXPECT_EQ(loaded.alt_timeout, 9);
        EXPECT_EQ(loaded.alt_ah_attr.sl, 5);
        EXPECT_EQ(kernel.verbs.changes[5].path_mig_state, IBV_MIG_MIGRATED);
        ib_qp_attr_t seen{};
        EXPECT_EQ(status_of(querying_qp(scene.pair, seen)), STATUS_SUCCESS);
        EXPECT_EQ(seen.apm_state, IB_APM_MIGRATED);
    }
}

TEST_P(VerbsQp, Event_IsReportedAndAcknowledged) {
    pair_scene scene;
    verb_call waits([&](IRP* irp) { return CiGetQpAsyncEvent(scene.pair, irp); });
    kernel.verbs.raise_for_qp(scene.pair->Num, IBV_EVENT_COMM_EST);
    EXPECT_EQ(waits.status(), STATUS_SUCCESS);
    EXPECT_EQ(waits.information(), static_cast<ULONG_PTR>(IB_AE_COMMUNICATION_ESTABLISHED));
    kernel.verbs.raise_for_qp(scene.pair->Num, IBV_EVENT_QP_LAST_WQE_REACHED);
    scene.await_up_calls(2);
    EXPECT_EQ(destroy_qp(std::exchange(scene.pair, nullptr)), STATUS_SUCCESS);
    EXPECT_EQ(scene.events, (std::vector{IB_AE_COMMUNICATION_ESTABLISHED, IB_AE_LAST_WQE_REACHED}));
}

// Its events still name it, so the driver keeps it until the context closes.
TEST_P(VerbsQp, DestroyThatKernelRefuses_IsRepeatedAtTheEnd) {
    pair_scene scene;
    const ib_qpn_t number = scene.pair->Num;
    kernel.verbs.fail(call::destroy_qp, {call::positive(EBUSY)});
    EXPECT_EQ(destroy_qp(std::exchange(scene.pair, nullptr)), STATUS_SUCCESS);
    kernel.verbs.raise_for_qp(number, IBV_EVENT_QP_FATAL);
    verb_call port(awaiting_port(scene.hca.ca));
    kernel.raise(IBV_EVENT_SM_CHANGE);
    EXPECT_EQ(port.status(), STATUS_SUCCESS);
    EXPECT_TRUE(scene.events.empty());
}

TEST_P(VerbsQp, Failures_HaveTheirStatuses) {
    pair_scene scene;
    std::array<UCHAR, 64> memory{};
    const auto region = registering(scene.domain, memory.data(), 0);
    kernel.verbs.fail(call::reg_mr, {call::by_errno(EFAULT), call::by_errno(ENOMEM)});
    EXPECT_EQ(status_of(region), STATUS_ACCESS_VIOLATION);
    EXPECT_EQ(status_of(region), STATUS_INSUFFICIENT_RESOURCES);
    for (const ib_access_t right : {IB_AC_ZERO_BASED, IB_AC_ON_DEMAND, IB_AC_MW_BIND})
        EXPECT_EQ(status_of(registering(scene.domain, memory.data(), right)), STATUS_NOT_SUPPORTED);
    kernel.verbs.fail(call::alloc_pd, {call::by_errno(ENOMEM)});
    EXPECT_EQ(verb_call([&](IRP* irp) {
                  return CiAllocatePd(scene.hca.ca, IB_PDT_NORMAL, nullptr, irp);
              }).status(),
              STATUS_INSUFFICIENT_RESOURCES);
    ib_av_attr_t way = some_way();
    way.grh_valid = FALSE;
    EXPECT_EQ(status_of(creating_av(scene.domain, way)), STATUS_INVALID_PARAMETER)
        << "Ethernet needs a GRH";
}

TEST_P(VerbsQp, RegionsIova_IsTheKernels) {
    const pair_scene scene;
    std::array<UCHAR, 64> memory{};
    const auto first = reinterpret_cast<std::uintptr_t>(memory.data()) + 1;
    const ULONGLONG iova = (ULONGLONG{5} << 40) + first % 4096;
    ib_mr_create_t wanted{memory.data() + 1, 16, 0, iova};
    const auto registered = [&] {
        return verb_call(
            [&](IRP* irp) { return CiRegisterMr(scene.domain, &wanted, nullptr, irp); });
    };
    verb_call made = registered();
    ASSERT_EQ(made.status(), STATUS_SUCCESS);
    wanted.iova = 0;
    wanted.length = 0;
    verb_call empty = registered();
    ASSERT_EQ(empty.status(), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.iovas, (std::vector<std::uint64_t>{iova, first}));
    wanted.iova = iova + 1;
    EXPECT_EQ(registered().status(), STATUS_INVALID_PARAMETER);
    ib_mr_attr_t attr{};
    auto* region = made.object<IB_MR>();
    EXPECT_EQ(
        status_of([&](IRP* irp) { return CiQueryMr(region, sizeof(attr), &attr, nullptr, irp); }),
        STATUS_SUCCESS);
    EXPECT_EQ(attr.local_lb, iova);
    EXPECT_EQ(attr.local_ub, iova + 16);
    for (const ib_mr_create_t& range : {ib_mr_create_t{memory.data() + 1, 8, 0, iova},
                                        ib_mr_create_t{memory.data() + 1, 0, 0, 0}})
        EXPECT_EQ(modify_mr(region, {IB_MR_MOD_ADDR, nullptr, range}), STATUS_NOT_SUPPORTED)
            << "ibv_rereg_mr has no such range";
    EXPECT_EQ(deregister_mr(region), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(empty.object<IB_MR>()), STATUS_SUCCESS);
}

// A common buffer of another process: its addresses mean nothing here.
TEST_P(VerbsQp, RegionOfAnotherProcess_IsTheMemoryThatIsMappedHere) {
    const pair_scene scene;
    alignas(64) std::array<UCHAR, 64> here{};
    const auto offset = reinterpret_cast<std::uintptr_t>(here.data()) % 4096;
    const auto theirs = (ULONGLONG{7} << 40) + offset;
    ib_mr_create_t wanted{reinterpret_cast<void*>(static_cast<std::uintptr_t>(theirs)), here.size(),
                          IB_AC_LOCAL_WRITE, 0};
    MDL* const mdl = IoAllocateMdl(here.data(), here.size(), FALSE, FALSE, nullptr);
    const auto as_user = [mdl](IRP* irp, bool mapped) {
        irp->RequestorMode = UserMode;
        irp->Flags |= IRP_BUFFERED_IO;
        irp->MdlAddress = mapped ? mdl : nullptr;
    };
    const auto registered = [&](bool mapped) {
        return verb_call([&](IRP* irp) {
            as_user(irp, mapped);
            return CiRegisterMr(scene.domain, &wanted, nullptr, irp);
        });
    };
    EXPECT_EQ(registered(false).status(), STATUS_NOT_SUPPORTED);
    verb_call made = registered(true);
    ASSERT_EQ(made.status(), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.registered, std::vector<void*>{here.data()});
    EXPECT_EQ(kernel.verbs.iovas, std::vector<std::uint64_t>{theirs});
    auto* const region = made.object<IB_MR>();
    const auto modified = [&](ULONG what, bool mapped) {
        const ib_mr_mod_t change{what, nullptr, wanted};
        return status_of([&](IRP* irp) {
            as_user(irp, mapped);
            return CiModifyMr(region, &change, nullptr, irp);
        });
    };
    EXPECT_EQ(modified(IB_MR_MOD_ACCESS, true), STATUS_SUCCESS);
    EXPECT_EQ(modified(IB_MR_MOD_ADDR, true), STATUS_NOT_SUPPORTED) << "it has no such range";
    EXPECT_EQ(modified(IB_MR_MOD_ACCESS, false), STATUS_NOT_SUPPORTED);
    wanted.length = here.size() + 1;
    EXPECT_EQ(registered(true).status(), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(deregister_mr(region), STATUS_SUCCESS);
    IoFreeMdl(mdl);
}

TEST_P(VerbsQp, ModifiedRegion_HasTheKeysOfTheKernel) {
    const pair_scene scene;
    std::array<UCHAR, 64> memory{};
    IB_PD* other = allocate_pd(scene.hca.ca);
    IB_MR* region = register_mr(scene.domain, memory.data(), memory.size(), IB_AC_LOCAL_WRITE);
    const ULONG before = region->LKey;
    const ib_mr_mod_t change{IB_MR_MOD_ADDR | IB_MR_MOD_PD | IB_MR_MOD_ACCESS,
                             other,
                             {memory.data() + 8, 16, IB_AC_RDMA_READ, 0}};
    EXPECT_EQ(modify_mr(region, change), STATUS_SUCCESS);
    EXPECT_NE(region->LKey, before);
    EXPECT_EQ(region->RKey, region->LKey);
    ib_mr_attr_t attr{};
    EXPECT_EQ(
        status_of([&](IRP* irp) { return CiQueryMr(region, sizeof(attr), &attr, nullptr, irp); }),
        STATUS_SUCCESS);
    EXPECT_EQ(attr.h_pd, other);
    EXPECT_EQ(attr.lkey, region->LKey);
    EXPECT_EQ(attr.local_ub - attr.local_lb, 16u);
    for (const ULONG one : {IB_MR_MOD_ADDR, IB_MR_MOD_ACCESS, IB_MR_MOD_PD}) {
        ib_mr_mod_t single = change;
        single.opts = one;
        EXPECT_EQ(modify_mr(region, single), STATUS_SUCCESS) << one;
    }
    EXPECT_EQ(deregister_mr(region), STATUS_SUCCESS);
    EXPECT_EQ(deallocate_pd(other), STATUS_SUCCESS);
}

// The result of libibverbs and the cause in errno decide together.
TEST_P(VerbsQp, FailedModifyOfRegion_HasItsStatus) {
    const pair_scene scene;
    std::array<UCHAR, 64> memory{};
    IB_MR* region = register_mr(scene.domain, memory.data(), memory.size(), 0);
    const ib_mr_mod_t change{IB_MR_MOD_ACCESS, nullptr, {nullptr, 0, IB_AC_RDMA_READ, 0}};
    const auto fails = [&](int result, int error) {
        kernel.verbs.fail(call::rereg_mr, {{result, error}});
        return modify_mr(region, change);
    };
    EXPECT_EQ(fails(IBV_REREG_MR_ERR_CMD, ENOSYS), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(fails(IBV_REREG_MR_ERR_CMD, EOPNOTSUPP), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(fails(IBV_REREG_MR_ERR_CMD, EINVAL), STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(fails(IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW, ENOMEM), STATUS_IO_DEVICE_ERROR);
    EXPECT_EQ(fails(IBV_REREG_MR_ERR_INPUT, EINVAL), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(fails(IBV_REREG_MR_ERR_DONT_FORK_NEW, ENOMEM), STATUS_INSUFFICIENT_RESOURCES);
    EXPECT_EQ(region->RKey, 0u);
    EXPECT_EQ(fails(IBV_REREG_MR_ERR_DO_FORK_OLD, EINVAL), STATUS_SUCCESS) << "it is changed";
    EXPECT_NE(region->RKey, 0u);
    EXPECT_EQ(deregister_mr(region), STATUS_SUCCESS);
}

TEST_P(VerbsQp, CancelInTheKernel_ObjectIsUndone) {
    const pair_scene scene;
    std::array<UCHAR, 64> memory{};
    ib_qp_create_t wanted{};
    wanted.h_sq_cq = wanted.h_rq_cq = scene.queue;
    const auto creating_qp = [&](IRP* irp) {
        return CiCreateQp(scene.domain, &wanted, nullptr, irp);
    };
    const auto cancel_in = [&](call::call which, const auto& verb) {
        kernel.verbs.hold(which);
        verb_call pended(verb);
        kernel.verbs.wait_for(which);
        pended.cancel();
        kernel.verbs.release(which);
        EXPECT_EQ(pended.status(), STATUS_CANCELLED) << which;
    };
    cancel_in(call::reg_mr, registering(scene.domain, memory.data(), 0));
    cancel_in(call::create_ah, creating_av(scene.domain, some_way()));
    cancel_in(call::create_qp, creating_qp);
    cancel_in(call::alloc_pd,
              [&](IRP* irp) { return CiAllocatePd(scene.hca.ca, IB_PDT_NORMAL, nullptr, irp); });
}

// Work requests that were posted with an earlier handle may be outstanding.
TEST_P(VerbsQp, ModifiedAddressVector_KeepsEarlierHandles) {
    const pair_scene scene;
    verb_call create(creating_av(scene.domain, some_way()));
    auto* vector = create.object<IB_AV>();
    ib_av_attr_t other = some_way();
    other.grh.hop_limit = 1;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(status_of(modifying_av(vector, other)), STATUS_SUCCESS);
        EXPECT_EQ(vector->Attr.grh.hop_limit, 1);
        EXPECT_EQ(status_of(modifying_av(vector, some_way())), STATUS_SUCCESS);
    }
    EXPECT_EQ(kernel.verbs.handles(), 2u) << "each way has one handle";
    other.grh.hop_limit = 2;
    kernel.verbs.fail(call::create_ah, {call::by_errno(EINVAL)});
    EXPECT_EQ(status_of(modifying_av(vector, other)), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(vector->Attr.grh.hop_limit, 7);
    EXPECT_EQ(status_of(destroying_av(vector)), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.handles(), 0u);
}

// The kernel attaches a group once, however often it is asked.
TEST_P(VerbsQp, GroupAttachedTwice_StaysUntilLastDetach) {
    const pair_scene scene(ud);
    verb_call first(attaching(scene.pair, 0xC001));
    verb_call second(attaching(scene.pair, 0xC001));
    verb_call other(attaching(scene.pair, 0xC002));
    EXPECT_EQ(other.status(), STATUS_SUCCESS);
    EXPECT_EQ(status_of(detaching(first.object<IB_MCAST>())), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.groups(), 2u);
    EXPECT_EQ(status_of(detaching(second.object<IB_MCAST>())), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.groups(), 1u);
    EXPECT_EQ(status_of(detaching(other.object<IB_MCAST>())), STATUS_SUCCESS);
}

// ---- posts

/// A list of sends with their ids from 1.
std::vector<ib_send_wr_t> list_of_sends(std::size_t count) {
    std::vector<ib_send_wr_t> made(count);
    for (std::size_t i = 0; i < count; ++i) {
        made[i].wr_id = i + 1;
        made[i].wr_type = WR_SEND;
        made[i].p_next = i + 1 < count ? &made[i + 1] : nullptr;
    }
    return made;
}

TEST_P(VerbsQp, LongList_IsPostedInOrderInPieces) {
    const pair_scene scene;
    scene.make_ready();
    kernel.verbs.records_posts = true;
    std::vector<ib_send_wr_t> list = list_of_sends(40);
    EXPECT_EQ(CiPostSend(scene.pair, list.data(), nullptr), STATUS_SUCCESS);
    ASSERT_EQ(kernel.verbs.sends.size(), 40u);
    for (std::size_t i = 0; i < 40; ++i)
        EXPECT_EQ(kernel.verbs.sends[i].wr_id, i + 1);
    EXPECT_EQ(kernel.verbs.lengths_of_lists, (std::vector<std::size_t>{16, 16, 8}));
}

TEST_P(VerbsQp, FullQueue_ReturnsFirstThatWasNotPosted) {
    const pair_scene scene;
    scene.make_ready();
    kernel.verbs.records_posts = true;
    std::vector<ib_send_wr_t> list = list_of_sends(40);
    for (const std::size_t space : {0u, 1u, 15u, 16u, 17u, 33u, 39u}) {
        kernel.verbs.space = space;
        kernel.verbs.sends.clear();
        ib_send_wr_t* failed = nullptr;
        EXPECT_EQ(CiPostSend(scene.pair, list.data(), &failed), STATUS_INSUFFICIENT_RESOURCES);
        EXPECT_EQ(failed, &list[space]);
        EXPECT_EQ(kernel.verbs.sends.size(), space);
    }
}

TEST_P(VerbsQp, BadWorkRequest_EarlierOnesArePosted) {
    const pair_scene scene;
    scene.make_ready();
    kernel.verbs.records_posts = true;
    std::array<ib_local_ds_t, 5> segments{};
    const auto refuses = [&](std::size_t at, NTSTATUS status, auto change) {
        std::vector<ib_send_wr_t> list = list_of_sends(20);
        change(list[at]);
        kernel.verbs.sends.clear();
        ib_send_wr_t* failed = nullptr;
        EXPECT_EQ(CiPostSend(scene.pair, list.data(), &failed), status);
        EXPECT_EQ(failed, &list[at]);
        EXPECT_EQ(kernel.verbs.sends.size(), at);
    };
    for (const std::size_t at : {0u, 3u, 16u, 19u}) {
        refuses(at, STATUS_INVALID_PARAMETER, [&](ib_send_wr_t& bad) {
            bad.ds_array = segments.data();
            bad.num_ds = 5;
        });
        refuses(at, STATUS_INVALID_PARAMETER, [&](ib_send_wr_t& bad) {
            bad.wr_type = WR_RDMA_READ; // reads have fewer
            bad.ds_array = segments.data();
            bad.num_ds = 3;
        });
        for (const ib_wr_type_t type : {ULONG{0}, ULONG{WR_LSO}, ULONG{WR_NOP}, ~ULONG{0}})
            refuses(at, STATUS_NOT_SUPPORTED, [&](ib_send_wr_t& bad) { bad.wr_type = type; });
    }
    kernel.verbs.fail(call::post_send, {call::negative(EINVAL)});
    ib_send_wr_t one = list_of_sends(1)[0];
    EXPECT_EQ(CiPostSend(scene.pair, &one, nullptr), STATUS_INVALID_PARAMETER);
}

TEST_P(VerbsQp, Post_ConvertsEachOperation) {
    const pair_scene scene;
    scene.make_ready();
    kernel.verbs.records_posts = true;
    ib_local_ds_t segment{0x1000, 8, 0x77};
    const auto posted = [&](ib_wr_type_t type, ib_send_opt_t options) {
        ib_send_wr_t what{};
        what.wr_id = 5;
        what.wr_type = type;
        what.send_opt = options;
        what.ds_array = &segment;
        what.num_ds = 1;
        what.immediate_data = 0x11223344;
        what.remote_ops = {0x2000, 3, 4, 0x99};
        EXPECT_EQ(CiPostSend(scene.pair, &what, nullptr), STATUS_SUCCESS);
        const ibv_send_wr& seen = kernel.verbs.sends.back();
        EXPECT_EQ(seen.sg_list->addr, 0x1000u);
        EXPECT_EQ(seen.num_sge, 1);
        return seen;
    };
    EXPECT_EQ(posted(WR_SEND, IB_SEND_OPT_SIGNALED).opcode, IBV_WR_SEND);
    EXPECT_EQ(posted(WR_SEND, IB_SEND_OPT_SIGNALED).send_flags, unsigned{IBV_SEND_SIGNALED});
    const ibv_send_wr all = posted(WR_SEND, IB_SEND_OPT_IMMEDIATE | IB_SEND_OPT_FENCE |
                                                IB_SEND_OPT_SOLICITED | IB_SEND_OPT_INLINE);
    EXPECT_EQ(all.opcode, IBV_WR_SEND_WITH_IMM);
    EXPECT_EQ(all.imm_data, 0x11223344u);
    EXPECT_EQ(all.send_flags, unsigned{IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_INLINE});
    EXPECT_EQ(posted(WR_SEND, IB_SEND_OPT_INVALIDATE).opcode, IBV_WR_SEND_WITH_INV);
    const ibv_send_wr write = posted(WR_RDMA_WRITE, 0);
    EXPECT_EQ(write.opcode, IBV_WR_RDMA_WRITE);
    EXPECT_EQ(write.wr.rdma.remote_addr, 0x2000u);
    EXPECT_EQ(write.wr.rdma.rkey, 0x99u);
    EXPECT_EQ(posted(WR_RDMA_WRITE, IB_SEND_OPT_IMMEDIATE).opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    EXPECT_EQ(posted(WR_RDMA_READ, 0).opcode, IBV_WR_RDMA_READ);
    const ibv_send_wr swap = posted(WR_COMPARE_SWAP, 0);
    EXPECT_EQ(swap.opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
    EXPECT_EQ(swap.wr.atomic.compare_add, 3u);
    EXPECT_EQ(swap.wr.atomic.swap, 4u);
    EXPECT_EQ(swap.wr.atomic.rkey, 0x99u);
    EXPECT_EQ(posted(WR_FETCH_ADD, 0).wr.atomic.compare_add, 3u);
    EXPECT_EQ(posted(WR_LOCAL_INV, 0).opcode, IBV_WR_LOCAL_INV);
}

TEST_P(VerbsQp, PostOfDatagrams_NeedsAddressVector) {
    const pair_scene scene(ud);
    scene.make_ready(ud);
    kernel.verbs.records_posts = true;
    ib_send_wr_t what = list_of_sends(1)[0];
    what.dgrm.ud = {nullptr, 0x123, 0x456, 0};
    EXPECT_EQ(CiPostSend(scene.pair, &what, nullptr), STATUS_INVALID_PARAMETER);
    verb_call create(creating_av(scene.domain, some_way()));
    auto* vector = create.object<IB_AV>();
    what.dgrm.ud.h_av = vector;
    EXPECT_EQ(CiPostSend(scene.pair, &what, nullptr), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.sends.back().wr.ud.remote_qpn, 0x123u);
    EXPECT_EQ(kernel.verbs.sends.back().wr.ud.remote_qkey, 0x456u);
    for (const ib_wr_type_t type :
         {WR_RDMA_WRITE, WR_RDMA_READ, WR_COMPARE_SWAP, WR_FETCH_ADD, WR_LOCAL_INV}) {
        what.wr_type = type;
        EXPECT_EQ(CiPostSend(scene.pair, &what, nullptr), STATUS_INVALID_DEVICE_REQUEST) << type;
    }
    EXPECT_EQ(status_of(destroying_av(vector)), STATUS_SUCCESS);
}

// A provider takes work requests of every state, which the kernel then refuses.
TEST_P(VerbsQp, Post_IsCheckedAgainstState) {
    const pair_scene scene;
    kernel.verbs.records_posts = true;
    ib_send_wr_t send = list_of_sends(1)[0];
    ib_recv_wr_t receive{};
    const auto posts = [&](NTSTATUS sends, NTSTATUS receives) {
        EXPECT_EQ(CiPostSend(scene.pair, &send, nullptr), sends);
        EXPECT_EQ(CiPostRecv(scene.pair, &receive, nullptr), receives);
    };
    posts(STATUS_INVALID_DEVICE_STATE, STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(modify_qp(scene.pair, ci::to_init(rc, {})), STATUS_SUCCESS);
    posts(STATUS_INVALID_DEVICE_STATE, STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(scene.pair, ci::to_state(IB_QPS_ERROR)), STATUS_SUCCESS);
    posts(STATUS_SUCCESS, STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(scene.pair, ci::to_state(IB_QPS_RESET)), STATUS_SUCCESS);
    posts(STATUS_INVALID_DEVICE_STATE, STATUS_INVALID_DEVICE_STATE);
    kernel.verbs.remove("rxe0");
    verb_call fatal(awaiting_fatal(scene.hca.ca));
    EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
    posts(STATUS_FILE_FORCED_CLOSED, STATUS_FILE_FORCED_CLOSED);
}

IRPVERBS_ON_BOTH_MACHINES(VerbsQp);

} // namespace
