// Protection domains, memory regions and queue pairs of the software HCA.
#include <support/both_machines.hpp>
#include <support/verbs.hpp>

#include <ci/qp_changes.hpp>
#include <hca/software.h>

#include <array>
#include <memory>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class SoftwareQps : public BothMachines {
protected:
    SoftwareQps() {
        for (UCHAR i = 0; i < bytes_.size(); ++i)
            bytes_[i] = i;
    }
    ~SoftwareQps() override {
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
    static ib_mr_attr_t attributes(IB_MR* mr) {
        ib_mr_attr_t attr{};
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryMr(mr, sizeof(attr), &attr, nullptr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        return attr;
    }
    static ib_qp_attr_t attributes(IB_QP* qp) {
        ib_qp_attr_t attr{};
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryQp(qp, sizeof(attr), &attr, nullptr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        return attr;
    }
    IB_CA_ATTR ca_attributes() const {
        IB_CA_ATTR attr{};
        EXPECT_EQ(
            verb_call([&](IRP* irp) { return CiQueryCa(ca, sizeof(attr), &attr, irp); }).status(),
            STATUS_BUFFER_OVERFLOW);
        return attr;
    }
    NTSTATUS refused(const ib_qp_create_t& wanted) const {
        return verb_call([&](IRP* irp) { return CiCreateQp(pd, &wanted, nullptr, irp); }).status();
    }

    attached hcas_;
    IB_CA* ca = open_ca(hcas_.fdo());
    IB_PD* pd = allocate_pd(ca);
    IB_CQ* cq = create_cq(ca);
    std::array<UCHAR, 100> bytes_{};
};

TEST_P(SoftwareQps, Region_HasItsRangeAndKeysByItsRights) {
    const auto first = static_cast<ULONGLONG>(reinterpret_cast<std::uintptr_t>(bytes_.data()));
    IB_MR* local = register_mr(pd, bytes_.data(), bytes_.size(), IB_AC_LOCAL_WRITE);
    EXPECT_NE(local->LKey, 0u);
    EXPECT_EQ(local->RKey, 0u);
    const ib_mr_attr_t of_local = attributes(local);
    EXPECT_EQ(of_local.h_pd, pd);
    EXPECT_EQ(of_local.local_lb, first);
    EXPECT_EQ(of_local.local_ub, first + bytes_.size());
    EXPECT_EQ(of_local.remote_ub, 0u);
    EXPECT_EQ(of_local.lkey, local->LKey);

    IB_MR* remote =
        register_mr(pd, bytes_.data(), 10, IB_AC_RDMA_READ | IB_AC_ZERO_BASED | IB_AC_ON_DEMAND);
    EXPECT_EQ(remote->RKey, remote->LKey);
    EXPECT_NE(remote->LKey, local->LKey);
    const ib_mr_attr_t of_remote = attributes(remote);
    EXPECT_EQ(of_remote.remote_lb, 0u);
    EXPECT_EQ(of_remote.remote_ub, 10u);
    EXPECT_EQ(of_remote.rkey, remote->RKey);
    EXPECT_EQ(of_remote.access_ctrl, IB_AC_RDMA_READ | IB_AC_ZERO_BASED | IB_AC_ON_DEMAND);
    EXPECT_EQ(deregister_mr(local), STATUS_SUCCESS);
    EXPECT_EQ(deregister_mr(remote), STATUS_SUCCESS);
}

TEST_P(SoftwareQps, Limits_AreTrueAndCheckedAtEachBound) {
    const IB_CA_ATTR limits = ca_attributes();
    ib_qp_create_t wanted = small_qp(cq);
    wanted.sq_depth = wanted.rq_depth = limits.MaxQpWrs;
    wanted.sq_sge = wanted.rq_sge = limits.MaxSges;
    wanted.sq_max_inline = limits.MaxInlineData;
    IB_QP* qp = create_qp(pd, wanted);
    EXPECT_EQ(qp->SqDepth, limits.MaxQpWrs);
    EXPECT_EQ(qp->SqMaxInline, limits.MaxInlineData);
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
    for (ULONG ib_qp_create_t::*member :
         {&ib_qp_create_t::sq_depth, &ib_qp_create_t::rq_depth, &ib_qp_create_t::sq_sge,
          &ib_qp_create_t::rq_sge, &ib_qp_create_t::sq_max_inline}) {
        ib_qp_create_t more = wanted;
        ++(more.*member);
        EXPECT_EQ(refused(more), STATUS_INVALID_PARAMETER);
        more.*member = ~0u;
        EXPECT_EQ(refused(more), STATUS_INVALID_PARAMETER);
    }
    for (const auto& [length, status] : {std::pair{limits.MaxMrSize, STATUS_SUCCESS},
                                         {limits.MaxMrSize + 1, STATUS_INVALID_PARAMETER}}) {
        const ib_mr_create_t region{bytes_.data(), length, 0, 0};
        verb_call call([&](IRP* irp) { return CiRegisterMr(pd, &region, nullptr, irp); });
        EXPECT_EQ(call.status(), status);
        if (status == STATUS_SUCCESS) {
            EXPECT_EQ(deregister_mr(call.object<IB_MR>()), STATUS_SUCCESS);
        }
    }
}

/// The attributes of a path to the port with this LID.
ci::rtr_attributes path_to(ib_lid_t lid) {
    ci::rtr_attributes path;
    path.av.port_num = 1;
    path.av.dlid = lid;
    path.av.sl = 3;
    path.dest_qp = 0x812345;
    path.rq_psn = 77;
    path.resp_res = 4;
    path.rnr_nak_timeout = 9;
    return path;
}

TEST_P(SoftwareQps, States_FollowTheModifiesAndKeepTheirAttributes) {
    IB_QP* qp = create_qp(pd, small_qp(cq));
    EXPECT_GE(qp->Num, 2u);
    EXPECT_EQ(attributes(qp).state, IB_QPS_RESET);
    EXPECT_EQ(attributes(qp).num, qp->Num);
    constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;
    EXPECT_EQ(modify_qp(qp, ci::to_init(rc, {.access = IB_AC_RDMA_READ})), STATUS_SUCCESS);
    EXPECT_EQ(attributes(qp).state, IB_QPS_INIT);
    EXPECT_EQ(attributes(qp).primary_port, 1);
    EXPECT_EQ(modify_qp(qp, ci::to_rtr(rc, path_to(2))), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(qp, ci::to_rts(rc, {.sq_psn = 5, .init_depth = 2, .retry_cnt = 3})),
              STATUS_SUCCESS);
    const ib_qp_attr_t running = attributes(qp);
    EXPECT_EQ(running.state, IB_QPS_RTS);
    EXPECT_EQ(running.access_ctrl, IB_AC_RDMA_READ);
    EXPECT_EQ(running.dest_num, 0x812345u);
    EXPECT_EQ(running.primary_av.dlid, 2);
    EXPECT_EQ(running.primary_av.sl, 3);
    EXPECT_EQ(running.rq_psn, 77u);
    EXPECT_EQ(running.sq_psn, 5u);
    EXPECT_EQ(running.init_depth, 2);
    EXPECT_EQ(running.resp_res, 4);
    EXPECT_EQ(running.rnr_nak_timeout, 9);
    EXPECT_EQ(running.retry_cnt, 3);
    EXPECT_EQ(running.path_mtu, IB_MTU_1024);

    EXPECT_EQ(verb_call([&](IRP* irp) { return CiFlushQp(qp, irp); }).status(), STATUS_SUCCESS);
    EXPECT_EQ(attributes(qp).state, IB_QPS_ERROR);
    EXPECT_EQ(modify_qp(qp, ci::to_state(IB_QPS_RESET)), STATUS_SUCCESS);
    const ib_qp_attr_t reset = attributes(qp);
    EXPECT_EQ(reset.state, IB_QPS_RESET);
    EXPECT_EQ(reset.dest_num, 0u) << "attributes end with a reset";
    EXPECT_EQ(reset.num, qp->Num);
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
}

TEST_P(SoftwareQps, EmptySendQueue_IsDrainedAtOnceAndReportsItIfRequested) {
    IB_QP* qp = create_qp(pd, small_qp(cq, IB_QPT_UNRELIABLE_DGRM));
    constexpr ib_qp_type_t ud = IB_QPT_UNRELIABLE_DGRM;
    EXPECT_EQ(modify_qp(qp, ci::to_init(ud, {.qkey = 7})), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(qp, ci::to_rtr(ud)), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(qp, ci::to_rts(ud)), STATUS_SUCCESS);
    verb_call event([&](IRP* irp) { return CiGetQpAsyncEvent(qp, irp); });
    EXPECT_EQ(modify_qp(qp, ci::to_state(IB_QPS_SQD)), STATUS_SUCCESS);
    EXPECT_EQ(attributes(qp).state, IB_QPS_SQD_DRAINED);
    EXPECT_FALSE(event.done());
    EXPECT_EQ(modify_qp(qp, ci::to_state(IB_QPS_RTS)), STATUS_SUCCESS);
    ib_qp_mod_t drain = ci::to_state(IB_QPS_SQD);
    drain.opts |= IB_MOD_QP_SQD_EVENT;
    drain.sqd_event = TRUE;
    EXPECT_EQ(modify_qp(qp, drain), STATUS_SUCCESS);
    EXPECT_EQ(event.information(), ULONG_PTR{IB_AE_SQ_DRAINED});
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
}

TEST_P(SoftwareQps, ValueThatThePortLacks_IsAnInvalidParameterAndChangesNothing) {
    constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;
    const port_block port(ca, 1);
    IB_QP* qp = create_qp(pd, small_qp(cq));
    EXPECT_EQ(modify_qp(qp, ci::to_init(rc, {.pkey_index = port->PKeyCount})),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(attributes(qp).state, IB_QPS_RESET);
    EXPECT_EQ(modify_qp(qp, ci::to_init(rc, {})), STATUS_SUCCESS);
    const auto refused_path = [&](auto change) {
        ci::rtr_attributes path = path_to(2);
        change(path);
        EXPECT_EQ(modify_qp(qp, ci::to_rtr(rc, path)), STATUS_INVALID_PARAMETER);
        EXPECT_EQ(attributes(qp).state, IB_QPS_INIT);
        EXPECT_EQ(attributes(qp).dest_num, 0u);
    };
    refused_path([](auto& path) { path.av.port_num = 2; });
    refused_path([&](auto& path) {
        path.av.grh_valid = TRUE;
        path.av.grh.sgid_index = port->GidCount;
    });
    refused_path([&](auto& path) { path.av.path_bits = static_cast<UCHAR>(1u << port->Lmc); });
    refused_path([](auto& path) { path.resp_res = 17; });
    EXPECT_EQ(modify_qp(qp, ci::to_rtr(rc, path_to(2))), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(qp, ci::to_rts(rc, {.init_depth = 17})), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
}

// Source: IBA 17.2.8; the states that a consumer may request.
TEST_P(SoftwareQps, PathMigration_IsRearmedOnlyWithAnAlternatePath) {
    constexpr ib_qp_type_t rc = IB_QPT_RELIABLE_CONN;
    IB_QP* qp = create_qp(pd, small_qp(cq));
    EXPECT_EQ(modify_qp(qp, ci::to_init(rc, {})), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(qp, ci::to_rtr(rc, path_to(2))), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(qp, ci::to_rts(rc)), STATUS_SUCCESS);
    EXPECT_EQ(attributes(qp).apm_state, IB_APM_MIGRATED);
    ib_qp_mod_t rearm{};
    rearm.opts = IB_MOD_QP_APM_STATE;
    rearm.apm_state = IB_APM_REARM;
    EXPECT_EQ(modify_qp(qp, rearm), STATUS_INVALID_DEVICE_STATE);
    rearm.opts |= IB_MOD_QP_ALTERNATE_AV;
    rearm.alternate_av = path_to(3).av;
    rearm.alternate_av.port_num = 2;
    rearm.alternate_pkey_index = 0xFFFF;
    EXPECT_EQ(modify_qp(qp, rearm), STATUS_INVALID_PARAMETER);
    rearm.alternate_pkey_index = 0;
    EXPECT_EQ(modify_qp(qp, rearm), STATUS_SUCCESS);
    EXPECT_EQ(attributes(qp).apm_state, IB_APM_REARM);
    EXPECT_EQ(attributes(qp).alternate_av.port_num, 2);
    rearm.opts = IB_MOD_QP_APM_STATE;
    rearm.apm_state = IB_APM_MIGRATED;
    EXPECT_EQ(modify_qp(qp, rearm), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
}

TEST_P(SoftwareQps, Numbers_DifferFromThoseOfAgentsWithQueuePairs) {
    IB_MAD_AGENT_ATTR wanted{};
    wanted.PortNumber = 1;
    wanted.QpKind = IB_MAD_QP_OWN_RAW;
    wanted.Keys = {IB_PKEY_DEFAULT_FULL, 5};
    auto* agent = created<IB_MAD_AGENT>(
        [&](IRP* irp) { return CiRegisterMadAgent(ca, &wanted, nullptr, nullptr, irp); });
    IB_QP* qp = create_qp(pd, small_qp(cq));
    EXPECT_NE(agent->Attr.Qp, qp->Num);
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); }).status(),
              STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(SoftwareQps);

} // namespace
