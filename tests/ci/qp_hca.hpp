// A driver with protection domains, memory regions and queue pairs.
#pragma once

#include "fake_hca.hpp"

#include <support/verbs.hpp>

#include <vector>

namespace irpverbs::testing {

struct qp_hca : fake_hca {
    std::function<NTSTATUS(const ib_qp_mod_t&, IRP*)> on_modify; // instead of success
    std::vector<ib_qp_state_t> modified;                         // the requested states
    int domains = 0;                                             // allocated and not deallocated
    int regions = 0;
    int pairs = 0;

    qp_hca() {
        set_memory_operations();
        set_qp_operations();
    }

    static qp_hca& of(const HCA_PD* pd) {
        return static_cast<qp_hca&>(fake_hca::of(pd->Ca->Device));
    }
    static HCA_QP* shared(IB_QP* qp) { return reinterpret_cast<HCA_QP*>(qp); }

private:
    void set_memory_operations() {
        operations.AllocatePd = [](HCA_PD* pd, CI_UDATA*, IRP*) {
            ++of(pd).domains;
            return STATUS_SUCCESS;
        };
        operations.DeallocatePd = [](HCA_PD* pd, CI_UDATA*, IRP*) {
            --of(pd).domains;
            return STATUS_SUCCESS;
        };
        operations.RegisterMr = [](HCA_MR* mr, CI_UDATA*, IRP*) {
            ++of(mr->Pd).regions;
            mr->Mr.LKey = 7;
            return STATUS_SUCCESS;
        };
        operations.DeregisterMr = [](HCA_MR* mr, CI_UDATA*, IRP*) {
            --of(mr->Pd).regions;
            return STATUS_SUCCESS;
        };
    }
    void set_qp_operations() {
        operations.CreateQp = [](HCA_QP* qp, CI_UDATA*, IRP*) {
            ++of(qp->Pd).pairs;
            qp->Qp.Num = 5;
            return STATUS_SUCCESS;
        };
        operations.DestroyQp = [](HCA_QP* qp, CI_UDATA*, IRP*) {
            --of(qp->Pd).pairs;
            return STATUS_SUCCESS;
        };
        operations.ModifyQp = [](HCA_QP* qp, const ib_qp_mod_t* modify, CI_UDATA*, IRP* irp) {
            qp_hca& self = of(qp->Pd);
            self.modified.push_back(modify->req_state);
            if (self.on_modify) return self.on_modify(*modify, irp);
            HcaSetQpState(qp, modify->req_state);
            return STATUS_SUCCESS;
        };
        operations.FlushQp = [](HCA_QP* qp, IRP*) {
            of(qp->Pd).modified.push_back(IB_QPS_ERROR);
            HcaSetQpState(qp, IB_QPS_ERROR);
            return STATUS_SUCCESS;
        };
    }
};

/// An open CA with a protection domain, a completion queue and a queue pair.
struct open_qp {
    IB_CA* const ca;
    IB_PD* const pd;
    IB_CQ* const cq;
    IB_QP* qp;

    explicit open_qp(fake_hca& hca)
        : ca(open_ca(hca.fdo)), pd(allocate_pd(ca)), cq(create_cq(ca)),
          qp(create_qp(pd, small_qp(cq))) {}
    ~open_qp() {
        if (qp != nullptr) {
            EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
        }
        EXPECT_EQ(deallocate_pd(pd), STATUS_SUCCESS);
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
    }
    open_qp(const open_qp&) = delete;
    open_qp& operator=(const open_qp&) = delete;
};

/// A legal change from reset to init.
inline ib_qp_mod_t to_init() {
    ib_qp_mod_t change{};
    change.opts = IB_MOD_QP_STATE | IB_MOD_QP_PKEY | IB_MOD_QP_PRIMARY_PORT | IB_MOD_QP_ACCESS_CTRL;
    change.req_state = IB_QPS_INIT;
    change.primary_port = 1;
    return change;
}

inline ib_qp_mod_t to_state(ib_qp_state_t state) {
    ib_qp_mod_t change{};
    change.opts = IB_MOD_QP_STATE;
    change.req_state = state;
    return change;
}

} // namespace irpverbs::testing
