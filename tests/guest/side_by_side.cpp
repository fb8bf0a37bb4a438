// side_by_side: random programs of work requests, executed by libibverbs alone and by the verbs of
// the channel interface over the rdma driver, on soft-RoCE. Both have the same statuses,
// completions, data, states and events. Runs in the guest.
#include "library_subject.hpp"
#include "verbs_guest.hpp"

#include "async_events.hpp"

#include <ci/qp_changes.hpp>

#include <cerrno>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

// Only the statuses that the drawn programs lead to.
int errno_of(NTSTATUS status) {
    switch (status) {
    case STATUS_SUCCESS:
        return 0;
    case STATUS_INVALID_PARAMETER:
        return EINVAL;
    case STATUS_INSUFFICIENT_RESOURCES:
        return ENOMEM;
    default:
        return -1;
    }
}

class verbs_subject final : public transfer_subject {
public:
    verbs_subject(IB_CA* ca, ib_qp_type_t its_type)
        : transfer_subject(its_type), domain_(allocate_pd(ca)) {
        way_.port_num = 1;
        way_.grh_valid = TRUE;
        way_.grh.dest_gid = *IbPortGid(&*port_block(ca, 1), 0);
        way_.grh.hop_limit = 1;
        for (const unsigned end : {0u, 1u}) {
            queues_[end] = create_cq(ca, queue_size);
            regions_[end] = register_mr(domain_, memory(end).data(), memory_size,
                                        IB_AC_LOCAL_WRITE | IB_AC_REMOTE);
            ib_qp_create_t wanted = small_qp(queues_[end], type);
            wanted.sq_depth = wanted.rq_depth = depth;
            wanted.sq_sge = wanted.rq_sge = segments;
            wanted.sq_max_inline = max_inline;
            pairs_[end] = create_qp(domain_, wanted);
        }
        if (type == IB_QPT_UNRELIABLE_DGRM) own_port_ = create_av(domain_, way_);
        connect(0);
        connect(1);
    }
    ~verbs_subject() override {
        for (const unsigned end : {0u, 1u}) {
            EXPECT_EQ(destroy_qp(pairs_[end]), STATUS_SUCCESS);
            EXPECT_EQ(deregister_mr(regions_[end]), STATUS_SUCCESS);
            EXPECT_EQ(destroy_cq(queues_[end]), STATUS_SUCCESS);
        }
        if (own_port_ != nullptr) {
            EXPECT_EQ(destroy_av(own_port_), STATUS_SUCCESS);
        }
        EXPECT_EQ(deallocate_pd(domain_), STATUS_SUCCESS);
    }
    verbs_subject(const verbs_subject&) = delete;
    verbs_subject& operator=(const verbs_subject&) = delete;

    int post(unsigned end, ib_send_wr_t* list, ib_send_wr_t*& failed) override {
        for (ib_send_wr_t* each = list; each != nullptr && own_port_ != nullptr;
             each = each->p_next)
            each->dgrm.ud = {own_port_, number(1 - end), qkey, 0};
        return errno_of(CiPostSend(pairs_[end], list, &failed));
    }
    int post_receive(unsigned end, ib_recv_wr_t& what) override {
        return errno_of(CiPostRecv(pairs_[end], &what, nullptr));
    }
    bool poll(unsigned end, IB_WC& entry) override {
        ULONG taken = 0;
        EXPECT_EQ(CiGetCqResults(queues_[end], 1, &entry, &taken), STATUS_SUCCESS);
        return taken == 1;
    }
    int change_state(unsigned end, ibv_qp_state state) override {
        if (state == IBV_QPS_ERR)
            return errno_of(
                verb_call([&](IRP* irp) { return CiFlushQp(pairs_[end], irp); }).status());
        const ib_qp_state_t to = state == IBV_QPS_SQD ? ULONG{IB_QPS_SQD} : ULONG{IB_QPS_RTS};
        return errno_of(modify_qp(pairs_[end], ci::to_state(to)));
    }
    ibv_qp_state state(unsigned end) override {
        ib_qp_attr_t attr{};
        EXPECT_EQ(verb_call([&](IRP* irp) {
                      return CiQueryQp(pairs_[end], sizeof(attr), &attr, nullptr, irp);
                  }).status(),
                  STATUS_SUCCESS);
        switch (attr.state) {
        case IB_QPS_RTS:
            return IBV_QPS_RTS;
        case IB_QPS_SQD_DRAINING:
        case IB_QPS_SQD_DRAINED:
            return IBV_QPS_SQD;
        case IB_QPS_ERROR:
            return IBV_QPS_ERR;
        default:
            return IBV_QPS_UNKNOWN;
        }
    }
    ibv_event_type next_event(unsigned end) override {
        verb_call waits([&](IRP* irp) { return CiGetQpAsyncEvent(pairs_[end], irp); });
        EXPECT_STREQ(name_of(waits.status()), "STATUS_SUCCESS");
        for (int event = IBV_EVENT_CQ_ERR; event <= IBV_EVENT_WQ_FATAL; ++event)
            if (hca_rdma::event_of(static_cast<ibv_event_type>(event)) ==
                static_cast<IB_ASYNC_EVENT>(waits.information()))
                return static_cast<ibv_event_type>(event);
        return IBV_EVENT_DEVICE_FATAL;
    }
    ULONG lkey(unsigned end) const override { return regions_[end]->LKey; }
    ULONG rkey(unsigned end) const override { return regions_[end]->RKey; }
    ULONG number(unsigned end) const override { return pairs_[end]->Num; }

private:
    void connect(unsigned end) {
        IB_QP* pair = pairs_[end];
        ci::rtr_attributes path;
        path.av = way_;
        path.dest_qp = pairs_[1 - end]->Num;
        path.rq_psn = first_psn;
        path.rnr_nak_timeout = 1;
        EXPECT_EQ(modify_qp(pair, ci::to_init(type, {.access = IB_AC_REMOTE, .qkey = qkey})),
                  STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(pair, ci::to_rtr(type, path)), STATUS_SUCCESS);
        EXPECT_EQ(modify_qp(pair, ci::to_rts(type, {.sq_psn = first_psn,
                                                    .local_ack_timeout = ack_timeout,
                                                    .retry_cnt = retries,
                                                    .rnr_retry_cnt = rnr_retries})),
                  STATUS_SUCCESS);
    }

    ib_av_attr_t way_{};
    IB_AV* own_port_ = nullptr; // of datagrams
    IB_PD* domain_;
    std::array<IB_CQ*, 2> queues_{};
    std::array<IB_MR*, 2> regions_{};
    std::array<IB_QP*, 2> pairs_{};
};

/// The statuses that the programs of a test led to.
struct coverage {
    void add(const std::vector<std::string>& lines) {
        for (const std::string& each : lines)
            for (unsigned status = 0; status < by_status.size(); ++status)
                if (each.find(" status " + std::to_string(status) + ' ') != std::string::npos)
                    ++by_status[status];
    }
    std::array<unsigned, 22> by_status{};
};

class SideBySide : public VerbsGuest {
protected:
    /// Executes random programs both ways, and expects that some lead to each of the statuses.
    static void compare(ib_qp_type_t type, std::initializer_list<IB_WC_STATUS> statuses) {
        const char* count = std::getenv("IRPVERBS_PROGRAMS");
        const unsigned long programs = count != nullptr ? std::strtoul(count, nullptr, 10) : 300;
        const device hca("rxe0");
        const open_hca ca(hca.fdo());
        coverage met;
        for (unsigned long seed = 1; seed <= programs && !HasFailure(); ++seed) {
            dispatch::random_choices source(seed);
            const std::vector<drawn_step> program = draw_program(source, type);
            library_subject library("rxe0", type);
            verbs_subject ours(ca, type);
            const std::vector<std::string> expected = execute(program, library);
            met.add(expected);
            EXPECT_EQ(execute(program, ours), expected) << "seed " << seed;
        }
        for (const IB_WC_STATUS status : statuses)
            EXPECT_NE(met.by_status[status], 0u) << "no program led to status " << status;
    }
};

TEST_F(SideBySide, ReliableConnection_HasTheSameResults) {
    compare(IB_QPT_RELIABLE_CONN,
            {IB_WC_SUCCESS, IB_WC_LOCAL_QP_OPERATION_ERROR, IB_WC_LOCAL_PROTECTION_ERROR,
             IB_WC_FLUSHED, IB_WC_REMOTE_ACCESS_ERROR, IB_WC_REMOTE_OPERATION_ERROR,
             IB_WC_RNR_RETRY_EXCEEDED});
}

TEST_F(SideBySide, UnreliableConnection_HasTheSameResults) {
    compare(IB_QPT_UNRELIABLE_CONN, {IB_WC_SUCCESS, IB_WC_LOCAL_QP_OPERATION_ERROR, IB_WC_FLUSHED});
}

TEST_F(SideBySide, Datagrams_HaveTheSameResults) {
    compare(IB_QPT_UNRELIABLE_DGRM, {IB_WC_SUCCESS, IB_WC_LOCAL_QP_OPERATION_ERROR, IB_WC_FLUSHED});
}

} // namespace
