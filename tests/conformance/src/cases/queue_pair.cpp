// Queue pairs: create, modify, query, flush, destroy, and the arguments of the posts.
#include "queue_pairs.hpp"

#include <ci/data_path.h>
#include <dispatch/testing/fault_sweep.hpp>

namespace irpverbs::conformance {

namespace queue_pair_group {
namespace {

constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;
constexpr ib_qp_type_t uc = IB_QPT_UNRELIABLE_CONN;
constexpr ib_qp_type_t ud = IB_QPT_UNRELIABLE_DGRM;

// 0 and 1 are the numbers of special queue pairs, which iWARP does not have.
ib_qpn_t first_number(IB_CA* of) {
    IB_CA_ATTR attr{};
    status_of(query_ca(of, &attr, sizeof(attr)));
    return attr.Transport == IB_TRANSPORT_IWARP ? 1 : 2;
}

void granted_at_least_as_requested(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const cq queue(opened.get());
    for (const ib_qp_type_t type : {rc, uc, ud}) {
        const ib_qp_create_t wanted = small_queue_pair(queue, queue, type);
        const qp pair(domain, wanted);
        EXPECT_GE(pair->Num, first_number(opened));
        EXPECT_GE(pair->SqDepth, wanted.sq_depth);
        EXPECT_GE(pair->RqDepth, wanted.rq_depth);
        EXPECT_GE(pair->SqSge, wanted.sq_sge);
        EXPECT_GE(pair->RqSge, wanted.rq_sge);
        const ib_qp_attr_t attr = pair.attributes();
        EXPECT_EQ(attr.state, IB_QPS_RESET);
        EXPECT_EQ(attr.qp_type, type);
        EXPECT_EQ(attr.num, pair->Num);
        EXPECT_EQ(attr.sq_depth, pair->SqDepth);
        EXPECT_EQ(attr.h_pd, domain);
        EXPECT_EQ(attr.h_rq_cq, queue);
    }
}

void parents_are_busy(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const cq sends(opened.get());
    const cq receives(opened.get());
    const qp pair(domain, small_queue_pair(sends, receives));
    for (const verb& each :
         {close_ca(opened), deallocate_pd(domain), destroy_cq(sends), destroy_cq(receives)})
        EXPECT_STATUS(status_of(each), STATUS_DEVICE_BUSY) << each.name;
}

void invalid_parameters_are_refused(world& here) {
    const ca other(here);
    const ca opened(here);
    const pd domain(opened);
    const cq queue(opened.get());
    const cq others(other.get());
    const qp pair(domain, small_queue_pair(queue, queue));
    IB_CA_ATTR limits{};
    status_of(query_ca(opened, &limits, sizeof(limits)));
    const auto refused = [&](auto change) {
        ib_qp_create_t wanted = small_queue_pair(queue, queue);
        change(wanted);
        EXPECT_STATUS(verb_call(create_qp(domain, &wanted)).status(), STATUS_INVALID_PARAMETER);
    };
    refused([](ib_qp_create_t& wanted) { wanted.h_sq_cq = nullptr; });
    refused([&](ib_qp_create_t& wanted) { wanted.h_rq_cq = others; });
    refused([](ib_qp_create_t& wanted) { wanted.qp_type = 99; });
    refused([&](ib_qp_create_t& wanted) { wanted.sq_depth = limits.MaxQpWrs + 1; });
    refused([&](ib_qp_create_t& wanted) { wanted.rq_depth = limits.MaxQpWrs + 1; });
    refused([&](ib_qp_create_t& wanted) { wanted.sq_sge = limits.MaxSges + 1; });
    refused([&](ib_qp_create_t& wanted) { wanted.rq_sge = limits.MaxSges + 1; });
    EXPECT_STATUS(verb_call(create_qp(domain, nullptr)).status(), STATUS_INVALID_PARAMETER);
}

void special_types_are_not_the_clients(world& here) {
    const ca opened(here);
    const pd domain(opened);
    const cq queue(opened.get());
    for (const ib_qp_type_t type : {IB_QPT_QP0, IB_QPT_QP1}) {
        const ib_qp_create_t wanted = small_queue_pair(queue, queue, type);
        EXPECT_STATUS(verb_call(create_qp(domain, &wanted)).status(), STATUS_NOT_SUPPORTED);
    }
}

ci::rtr_attributes some_path(IB_CA* of) {
    ci::rtr_attributes path;
    path.av = way_to_own_port(of);
    path.av.dlid = 1;
    path.dest_qp = 0x123;
    path.rq_psn = 0xFFFFFF;
    path.path_mtu = IB_MTU_256;
    return path;
}

void each_state_is_reached(world& here) {
    for (const ib_qp_type_t type : {rc, uc, ud}) {
        const qp_scene scene(here, type);
        const auto reaches = [&](const ib_qp_mod_t& change, ib_qp_state_t state) {
            EXPECT_STATUS(scene.pair.modify(change), STATUS_SUCCESS) << state;
            EXPECT_EQ(scene.pair.attributes().state, state);
        };
        reaches(ci::to_init(type, {.access = IB_AC_RDMA_WRITE, .qkey = 9}), IB_QPS_INIT);
        reaches(ci::to_rtr(type, some_path(scene.opened)), IB_QPS_RTR);
        reaches(ci::to_rts(type, {.sq_psn = 3}), IB_QPS_RTS);
        EXPECT_EQ(scene.pair.attributes().sq_psn, 3u);
        reaches(ci::to_state(IB_QPS_ERROR), IB_QPS_ERROR);
        reaches(ci::to_state(IB_QPS_RESET), IB_QPS_RESET);
    }
}

void missing_transition_returns_invalid_device_state(world& here) {
    const qp_scene scene(here);
    for (const ib_qp_state_t to :
         {IB_QPS_RTR, IB_QPS_RTS, IB_QPS_SQD, IB_QPS_SQERR, IB_QPS_ERROR}) {
        EXPECT_STATUS(scene.pair.modify(ci::to_state(to)), STATUS_INVALID_DEVICE_STATE) << to;
        EXPECT_EQ(scene.pair.attributes().state, IB_QPS_RESET);
    }
    ib_qp_mod_t wrong = ci::to_init(rc, {});
    EXPECT_STATUS(scene.pair.modify(wrong), STATUS_SUCCESS);
    wrong = ci::to_rts(rc);
    EXPECT_STATUS(scene.pair.modify(wrong), STATUS_INVALID_DEVICE_STATE);
}

void wrong_attributes_change_nothing(world& here) {
    const qp_scene scene(here);
    const ib_qp_mod_t good = ci::to_init(rc, {.access = IB_AC_RDMA_READ});
    for (unsigned bit = 1; bit < 32; ++bit) {
        ib_qp_mod_t change = good;
        change.opts ^= 1u << bit; // either a required attribute is missing, or one is not allowed
        EXPECT_STATUS(scene.pair.modify(change), STATUS_INVALID_PARAMETER) << bit;
    }
    ib_qp_mod_t no_port = good;
    no_port.primary_port = port_beyond_the_last(scene.opened);
    EXPECT_STATUS(scene.pair.modify(no_port), STATUS_INVALID_PARAMETER);
    ib_qp_mod_t no_pkey = good;
    no_pkey.pkey_index = 0xFFFF;
    EXPECT_STATUS(scene.pair.modify(no_pkey), STATUS_INVALID_PARAMETER);
    const ib_qp_attr_t attr = scene.pair.attributes();
    EXPECT_EQ(attr.state, IB_QPS_RESET);
    EXPECT_EQ(attr.access_ctrl, 0u);
    EXPECT_EQ(attr.primary_port, 0);
    EXPECT_STATUS(status_of(modify_qp(scene.pair, nullptr)), STATUS_INVALID_PARAMETER);
}

void races_with_flush_execute_in_turn(world& here) {
    const qp_scene scene(here);
    const ib_qp_mod_t init = ci::to_init(rc, {});
    EXPECT_STATUS(scene.pair.modify(init), STATUS_SUCCESS);
    const ib_qp_mod_t again = ci::to_state(IB_QPS_INIT);
    verb_call modify;
    verb_call flush;
    world::together({[&] { modify.send(modify_qp(scene.pair, &again)); },
                     [&] { flush.send(flush_qp(scene.pair)); }});
    EXPECT_STATUS(flush.status(), STATUS_SUCCESS);
    const NTSTATUS status = modify.status();
    EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_INVALID_DEVICE_STATE)
        << name_of(status);
    EXPECT_EQ(scene.pair.attributes().state, IB_QPS_ERROR);
}

void races_with_cancel_completes_once(world& here) {
    const qp_scene scene(here);
    const ib_qp_mod_t init = ci::to_init(rc, {});
    std::array<verb_call, 2> calls;
    world::together({[&] { calls[0].send(modify_qp(scene.pair, &init)); },
                     [&] { calls[1].send(modify_qp(scene.pair, &init)); },
                     [&] { calls[0].cancel(); }});
    const NTSTATUS first = calls[0].status();
    EXPECT_TRUE(first == STATUS_SUCCESS || first == STATUS_CANCELLED) << name_of(first);
    EXPECT_STATUS(calls[1].status(), STATUS_SUCCESS);
    EXPECT_EQ(scene.pair.attributes().state, IB_QPS_INIT);
}

void query_block_has_its_size(world& here) {
    const qp_scene scene(here);
    const block all = whole([&](void* to, SIZE_T size) { return query_qp(scene.pair, to, size); });
    EXPECT_GE(all.as<ib_qp_attr_t>().size, sizeof(ib_qp_attr_t));
    ULONG size = 0;
    EXPECT_STATUS(status_of(query_qp(scene.pair, &size, 3)), STATUS_BUFFER_TOO_SMALL);
}

void flush_enters_error(world& here) {
    const qp_scene scene(here);
    EXPECT_STATUS(status_of(flush_qp(scene.pair)), STATUS_INVALID_DEVICE_STATE);
    EXPECT_STATUS(scene.pair.modify(ci::to_init(rc, {})), STATUS_SUCCESS);
    for (int i = 0; i < 2; ++i) {
        EXPECT_STATUS(status_of(flush_qp(scene.pair)), STATUS_SUCCESS);
        EXPECT_EQ(scene.pair.attributes().state, IB_QPS_ERROR);
    }
}

void destroy_cancels_waits_before_return(world& here) {
    qp_scene scene(here);
    verb_call waits(get_qp_event(scene.pair));
    verb_call destroy([&](IRP* irp) {
        const NTSTATUS status = CiDestroyQp(scene.pair.release(), nullptr, irp);
        EXPECT_TRUE(waits.done()) << "pended when destroy had returned";
        return status;
    });
    EXPECT_STATUS(waits.status(), STATUS_CANCELLED);
    EXPECT_STATUS(destroy.status(), STATUS_SUCCESS);
}

void wait_for_event_races_with_cancel(world& here) {
    const qp_scene scene(here);
    verb_call waits;
    world::together({[&] { waits.send(get_qp_event(scene.pair)); }, [&] { waits.cancel(); }});
    EXPECT_STATUS(waits.status(), STATUS_CANCELLED);
}

void destroy_races_with_end_of_its_queue(world& here) {
    const ca opened(here);
    const pd domain(opened);
    cq queue(opened.get());
    qp pair(domain, small_queue_pair(queue, queue));
    verb_call end;
    world::together({[&] { end.send(destroy_cq(queue)); }, [&] { pair.destroy(); }});
    if (end.status() == STATUS_SUCCESS)
        static_cast<void>(queue.release());
    else
        EXPECT_STATUS(end.status(), STATUS_DEVICE_BUSY);
}

void missing_arguments_of_posts_are_refused(world& here) {
    const qp_scene scene(here);
    ib_send_wr_t send{};
    ib_recv_wr_t receive{};
    EXPECT_STATUS(CiPostSend(nullptr, &send, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(CiPostSend(scene.pair, nullptr, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(CiPostRecv(nullptr, &receive, nullptr), STATUS_INVALID_PARAMETER);
    EXPECT_STATUS(CiPostRecv(scene.pair, nullptr, nullptr), STATUS_INVALID_PARAMETER);
}

void verbs_at_dispatch_level_complete(world& here) {
    qp_scene scene(here);
    ib_qp_attr_t attr{};
    const ib_qp_mod_t init = ci::to_init(rc, {});
    const ib_qp_create_t wanted = small_queue_pair(scene.queue, scene.queue);
    const std::vector<verb> all{modify_qp(scene.pair, &init),
                                query_qp(scene.pair, &attr, sizeof(attr)), flush_qp(scene.pair),
                                create_qp(scene.domain, &wanted)};
    std::vector<verb_call> calls(all.size());
    {
        const at_dispatch_level caller;
        for (std::size_t i = 0; i < all.size(); ++i)
            calls[i].send(all[i]);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_STATUS(calls[i].status(), STATUS_SUCCESS) << all[i].name;
    EXPECT_STATUS(status_of(destroy_qp(calls.back().object<IB_QP>())), STATUS_SUCCESS);
}

bool done_or_short(verb_call& call) {
    const NTSTATUS status = call.status();
    EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_INSUFFICIENT_RESOURCES)
        << name_of(status);
    return status == STATUS_SUCCESS;
}

void allocation_failure_leaves_nothing(world& here) {
    { const qp_scene probe(here); }
    const ca opened(here);
    const cq queue(opened.get());
    std::array<UCHAR, 8> memory{};
    const ib_mr_create_t region{memory.data(), memory.size(), 0, 0};
    const ib_qp_create_t wanted = small_queue_pair(queue, queue);
    dispatch::fault_sweep([&](dispatch::sweep& faults) {
        verb_call allocate;
        verb_call add_region;
        verb_call remove_region;
        verb_call create;
        verb_call destroy;
        verb_call deallocate;
        const dispatch::fault_plan plan(dispatch::machine::current(), faults);
        allocate.send(allocate_pd(opened));
        if (!done_or_short(allocate)) return;
        auto* domain = allocate.object<IB_PD>();
        add_region.send(register_mr(domain, &region));
        if (done_or_short(add_region)) {
            remove_region.send(deregister_mr(add_region.object<IB_MR>()));
            EXPECT_STATUS(remove_region.status(), STATUS_SUCCESS);
        }
        create.send(create_qp(domain, &wanted));
        if (done_or_short(create)) {
            destroy.send(destroy_qp(create.object<IB_QP>()));
            EXPECT_STATUS(destroy.status(), STATUS_SUCCESS);
        }
        deallocate.send(deallocate_pd(domain));
        EXPECT_STATUS(deallocate.status(), STATUS_SUCCESS);
    });
}

constexpr const char* counts =
    "It counts as created with the protection domain, both completion queues, which may be one, "
    "the shared receive queue and the XRC domain.";
constexpr const char* in_turn =
    "Modify and flush of one queue pair execute one at a time, in their order.";
constexpr const char* wrong_create =
    "STATUS_INVALID_PARAMETER: also a completion queue that is NULL or of another IB_CA, a shared "
    "receive queue of another IB_CA or together with a receive queue, an unknown type, or more "
    "work requests, data segments or inline bytes than the HCA supports;";
constexpr const char* wrong_modify = "STATUS_INVALID_PARAMETER: also a required attribute is "
                                     "missing, an attribute is not allowed in "
                                     "this transition, or a value is out of its range.";
constexpr const char* ends =
    "Destroys a queue pair; its event IRPs and up-calls end as in CiCloseCa.";

constexpr test_case cases[] = {
    {"CreateQp.Granted_AtLeastAsRequested",
     "The numbers below are granted: at least those that were requested.", nothing, kind::steps,
     granted_at_least_as_requested},
    {"CreateQp.Success_ParentsAreBusy", counts, nothing, kind::steps, parents_are_busy},
    {"CreateQp.InvalidParameters_AreRefused", wrong_create, nothing, kind::steps,
     invalid_parameters_are_refused},
    {"CreateQp.SpecialTypes_AreNotTheClients",
     "STATUS_NOT_SUPPORTED: also a type that the HCA does not support, or that clients do not own.",
     nothing, kind::steps, special_types_are_not_the_clients},
    {"CreateQp.AllocationFailure_LeavesNothing", "STATUS_INSUFFICIENT_RESOURCES.", nothing,
     kind::steps, allocation_failure_leaves_nothing},
    {"ModifyQp.EachState_IsReached",
     "Changes the attributes that pModify->opts names, and the state if it names IB_MOD_QP_STATE.",
     nothing, kind::steps, each_state_is_reached},
    {"ModifyQp.MissingTransition_ReturnsInvalidDeviceState",
     "STATUS_INVALID_DEVICE_STATE: the transition does not exist for this type, current_state is "
     "not the state, or the send queue is not yet drained.",
     nothing, kind::steps, missing_transition_returns_invalid_device_state},
    {"ModifyQp.WrongAttributes_ChangeNothing", wrong_modify, nothing, kind::steps,
     wrong_attributes_change_nothing},
    {"ModifyQp.RacesWithFlush_ExecuteInTurn", in_turn, nothing, kind::race,
     races_with_flush_execute_in_turn},
    {"ModifyQp.RacesWithCancel_CompletesOnce", in_turn, nothing, kind::race,
     races_with_cancel_completes_once},
    {"QueryQp.Block_HasItsSize", "Attributes of a queue pair; sizes and statuses as CiQueryCa.",
     nothing, kind::steps, query_block_has_its_size},
    {"FlushQp.Success_EntersError",
     "Completes all outstanding work requests IB_WC_FLUSHED, as CiModifyQp to IB_QPS_ERROR does.",
     nothing, kind::steps, flush_enters_error},
    {"DestroyQp.PendedWaits_CancelledBeforeReturn", ends, nothing, kind::steps,
     destroy_cancels_waits_before_return},
    {"DestroyQp.RacesWithEndOfItsQueue_EachCompletes", counts, nothing, kind::race,
     destroy_races_with_end_of_its_queue},
    {"GetQpAsyncEvent.RacesWithCancel_CompletesOnce", "Every pended verb can be cancelled", nothing,
     kind::race, wait_for_event_races_with_cancel},
    {"PostSend.MissingArguments_AreRefused", "STATUS_INVALID_PARAMETER: pQp or pSendWr is NULL",
     nothing, kind::steps, missing_arguments_of_posts_are_refused},
    {"QpVerbs.DispatchLevel_Complete", "may be called at IRQL <= DISPATCH_LEVEL;", dispatch_callers,
     kind::steps, verbs_at_dispatch_level_complete},
};

} // namespace
} // namespace queue_pair_group

const std::span<const test_case> queue_pair_cases = queue_pair_group::cases;

} // namespace irpverbs::conformance
