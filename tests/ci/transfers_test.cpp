// Transfers over a driver whose completions the test makes.
#include "qp_hca.hpp"

#include <support/both_machines.hpp>
#include <support/bug_checks.hpp>
#include <support/exhaustive_gtest.hpp>

#include <ci/data_path.h>
#include <dispatch/support/spin_lock.hpp>

#include <deque>
#include <optional>

namespace {

using namespace irpverbs::dispatch;
using namespace irpverbs::testing;
using irpverbs::dispatch::detail::spin_guard;

/// A driver with work queues and one completion queue; nothing completes by itself.
struct transfer_hca : qp_hca {
    std::deque<ULONGLONG> posted; // wr_id; guarded by lock, as all below
    std::deque<IB_WC> completions;
    NTSTATUS on_post = STATUS_SUCCESS;
    bool completes_posts = false; // during the post
    bool armed = false;
    KSPIN_LOCK lock = 0;
    HCA_CQ* queue = nullptr;

    transfer_hca() {
        set_cq_operations();
        set_posts();
    }
    static transfer_hca& of(HCA_CQ* cq) {
        return static_cast<transfer_hca&>(fake_hca::of(cq->Ca->Device));
    }
    static transfer_hca& of(HCA_QP* qp) {
        return static_cast<transfer_hca&>(fake_hca::of(qp->Pd->Ca->Device));
    }

    /// Completes the oldest work request, if there is one, and reports the event if the queue is
    /// armed.
    void complete_one(ULONG status = IB_WC_SUCCESS, ULONG bytes = 0) {
        IB_WC made{};
        made.Status = status;
        made.ByteCount = bytes;
        {
            const spin_guard guard(lock);
            if (posted.empty()) return;
            made.WrId = posted.front();
            posted.pop_front();
        }
        insert(made);
    }
    void insert(const IB_WC& made) {
        bool was_armed = false;
        {
            const spin_guard guard(lock);
            completions.push_back(made);
            was_armed = std::exchange(armed, false);
        }
        if (was_armed) HcaReportCqCompletion(queue);
    }
    std::size_t outstanding() {
        const spin_guard guard(lock);
        return posted.size();
    }
    void flush() {
        while (outstanding() != 0)
            complete_one(IB_WC_FLUSHED);
    }

private:
    void set_cq_operations() {
        operations.PollCq = [](HCA_CQ* cq, ULONG room, IB_WC* into, ULONG* taken) {
            transfer_hca& self = of(cq);
            const spin_guard guard(self.lock);
            for (*taken = 0; *taken < room && !self.completions.empty(); ++*taken) {
                into[*taken] = self.completions.front();
                self.completions.pop_front();
            }
            return STATUS_SUCCESS;
        };
        operations.ArmCq = [](HCA_CQ* cq, ULONG, IRP*) {
            transfer_hca& self = of(cq);
            const spin_guard guard(self.lock);
            self.queue = cq;
            self.armed = true;
            return STATUS_SUCCESS;
        };
    }
    template <class Request>
    static NTSTATUS post(void* context, Request* request, Request**) {
        auto& self = *static_cast<transfer_hca*>(context);
        {
            const spin_guard guard(self.lock);
            if (NT_SUCCESS(self.on_post)) self.posted.push_back(request->wr_id);
        }
        if (self.completes_posts) self.complete_one();
        return self.on_post;
    }
    void set_posts() {
        operations.CreateQp = [](HCA_QP* qp, CI_UDATA*, IRP*) {
            transfer_hca& self = of(qp);
            ++self.pairs;
            qp->Posts.Queue = &self;
            HcaSetQpPosts(qp, post<ib_send_wr_t>, post<ib_recv_wr_t>);
            return STATUS_SUCCESS;
        };
        operations.FlushQp = [](HCA_QP* qp, IRP*) {
            HcaSetQpState(qp, IB_QPS_ERROR);
            of(qp).flush();
            return STATUS_SUCCESS;
        };
    }
};

/// A send of 8 bytes, with its completion.
struct sent {
    explicit sent(IB_QP* qp, ULONGLONG wr_id = 42) : qp_(qp) {
        request.wr_id = wr_id;
        request.ds_array = &segment;
        request.num_ds = 1;
        request.wr_type = WR_SEND;
    }
    NTSTATUS operator()(IRP* irp) const { return CiTransfer(qp_, &request, &completion, irp); }

    ib_local_ds_t segment{0, 8, 0};
    ib_send_wr_t request{};
    mutable IB_WC completion{};

private:
    IB_QP* qp_;
};

struct received {
    explicit received(IB_QP* qp, ULONGLONG wr_id = 43) : qp_(qp) { request.wr_id = wr_id; }
    NTSTATUS operator()(IRP* irp) const { return CiTransferRecv(qp_, &request, &completion, irp); }

    ib_recv_wr_t request{};
    mutable IB_WC completion{};

private:
    IB_QP* qp_;
};

void to_error(const open_qp& open) {
    EXPECT_EQ(modify_qp(open.qp, to_init()), STATUS_SUCCESS);
    EXPECT_EQ(modify_qp(open.qp, to_state(IB_QPS_ERROR)), STATUS_SUCCESS);
}

class Transfers : public BothMachines {
protected:
    transfer_hca hca;
    std::optional<open_qp> open{std::in_place, hca};
};

TEST_P(Transfers, Send_CompletesWithItsWorkCompletion) {
    const sent what(open->qp);
    verb_call call(what);
    EXPECT_EQ(call.returned(), STATUS_PENDING);
    EXPECT_FALSE(call.done());
    hca.complete_one();
    EXPECT_EQ(call.status(), STATUS_SUCCESS);
    EXPECT_EQ(call.information(), 8u);
    EXPECT_EQ(what.completion.WrId, 42u);
}

TEST_P(Transfers, Receive_InformationIsTheLengthOfTheMessage) {
    const received what(open->qp);
    verb_call call(what);
    hca.complete_one(IB_WC_SUCCESS, 300);
    EXPECT_EQ(call.status(), STATUS_SUCCESS);
    EXPECT_EQ(call.information(), 300u);
    EXPECT_EQ(what.completion.WrId, 43u);
    EXPECT_EQ(what.completion.ByteCount, 300u);
}

TEST_P(Transfers, FailedCompletion_DecidesTheStatus) {
    const std::pair<ULONG, NTSTATUS> rows[] = {
        {IB_WC_LOCAL_LENGTH_ERROR, STATUS_INVALID_BUFFER_SIZE},
        {IB_WC_LOCAL_QP_OPERATION_ERROR, STATUS_IO_DEVICE_ERROR},
        {IB_WC_LOCAL_PROTECTION_ERROR, STATUS_ACCESS_VIOLATION},
        {IB_WC_FLUSHED, STATUS_CANCELLED},
        {IB_WC_MW_BIND_ERROR, STATUS_ACCESS_DENIED},
        {IB_WC_BAD_RESPONSE_ERROR, STATUS_INVALID_NETWORK_RESPONSE},
        {IB_WC_LOCAL_ACCESS_ERROR, STATUS_ACCESS_VIOLATION},
        {IB_WC_REMOTE_INVALID_REQUEST_ERROR, STATUS_REQUEST_NOT_ACCEPTED},
        {IB_WC_REMOTE_ACCESS_ERROR, STATUS_ACCESS_DENIED},
        {IB_WC_REMOTE_OPERATION_ERROR, STATUS_REQUEST_ABORTED},
        {IB_WC_RETRY_EXCEEDED, STATUS_IO_TIMEOUT},
        {IB_WC_RNR_RETRY_EXCEEDED, STATUS_REMOTE_RESOURCES},
        {IB_WC_REMOTE_ABORTED, STATUS_REQUEST_ABORTED},
        {IB_WC_FATAL_ERROR, STATUS_IO_DEVICE_ERROR},
        {IB_WC_RESPONSE_TIMEOUT, STATUS_IO_TIMEOUT},
        {IB_WC_GENERAL_ERROR, STATUS_IO_DEVICE_ERROR}};
    for (const auto& [reason, status] : rows) {
        const sent what(open->qp);
        verb_call call(what);
        hca.complete_one(reason);
        EXPECT_EQ(call.status(), status) << reason;
        EXPECT_EQ(call.information(), 0u);
        EXPECT_EQ(what.completion.Status, reason);
    }
}

TEST_P(Transfers, FailedPost_CompletesWithItsStatus) {
    const sent what(open->qp);
    hca.on_post = STATUS_INVALID_DEVICE_STATE;
    EXPECT_EQ(verb_call(what).status(), STATUS_INVALID_DEVICE_STATE);
}

TEST_P(Transfers, ListOrNull_IsInvalidParameter) {
    sent what(open->qp);
    ib_send_wr_t second{};
    what.request.p_next = &second;
    EXPECT_EQ(verb_call(what).status(), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(
        verb_call([&](IRP* irp) { return CiTransfer(open->qp, nullptr, nullptr, irp); }).status(),
        STATUS_INVALID_PARAMETER);
    EXPECT_EQ(hca.outstanding(), 0u);
}

TEST_P(Transfers, UserRequest_IsNotSupported) {
    const sent what(open->qp);
    verb_call call([&](IRP* irp) {
        irp->RequestorMode = UserMode;
        return what(irp);
    });
    EXPECT_EQ(call.status(), STATUS_NOT_SUPPORTED);
}

TEST_P(Transfers, WithoutRoomForTheCompletion_Completes) {
    const sent what(open->qp);
    verb_call call([&](IRP* irp) { return CiTransfer(open->qp, &what.request, nullptr, irp); });
    hca.complete_one();
    EXPECT_EQ(call.status(), STATUS_SUCCESS);
}

TEST_P(Transfers, PollOfTransferQueue_IsInvalidDeviceState) {
    IB_WC entry{};
    ULONG taken = 0;
    EXPECT_EQ(CiGetCqResults(open->cq, 1, &entry, &taken), STATUS_SUCCESS);
    const sent what(open->qp);
    verb_call call(what);
    EXPECT_EQ(CiGetCqResults(open->cq, 1, &entry, &taken), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiPollCq(open->cq, 1, &entry, irp); }).status(),
              STATUS_INVALID_DEVICE_STATE);
    hca.complete_one();
    EXPECT_EQ(call.status(), STATUS_SUCCESS);
}

TEST_P(Transfers, QueueWithUpCall_IsTheClients) {
    IB_CQ_DISPATCH calls{};
    calls.CompEvent = [](void*) {};
    IB_CQ* cq = verb_call([&](IRP* irp) {
                    return CiCreateCq(open->ca, 4, nullptr, &calls, nullptr, irp);
                }).object<IB_CQ>();
    IB_QP* qp = create_qp(open->pd, small_qp(cq));
    const sent what(qp);
    EXPECT_EQ(verb_call(what).status(), STATUS_INVALID_DEVICE_STATE);
    EXPECT_EQ(destroy_qp(qp), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(Transfers, ForeignCompletion_IsDiscarded) {
    const sent what(open->qp);
    verb_call call(what);
    IB_WC foreign{};
    for (const ULONGLONG wr_id : {ULONGLONG{0}, ULONGLONG{7}, ~ULONGLONG{0}}) {
        foreign.WrId = wr_id;
        hca.insert(foreign);
    }
    EXPECT_FALSE(call.done());
    hca.complete_one();
    EXPECT_EQ(call.status(), STATUS_SUCCESS);
}

TEST_P(Transfers, CompletionTwice_CompletesOnce) {
    const sent what(open->qp);
    verb_call call(what);
    const ULONGLONG handle = hca.posted.front();
    hca.complete_one();
    IB_WC again{};
    again.WrId = handle;
    hca.insert(again);
    EXPECT_EQ(call.status(), STATUS_SUCCESS);
}

TEST_P(Transfers, Cancel_FlushesTheQueuePair) {
    to_error(*open);
    const sent first(open->qp);
    const received second(open->qp);
    verb_call sending(first);
    verb_call receiving(second);
    EXPECT_TRUE(sending.cancel());
    EXPECT_EQ(sending.status(), STATUS_CANCELLED);
    EXPECT_EQ(receiving.status(), STATUS_CANCELLED);
    EXPECT_EQ(second.completion.Status, ULONG{IB_WC_FLUSHED});
}

TEST_P(Transfers, CancelBefore_PostsNothing) {
    const sent what(open->qp);
    verb_call call([&](IRP* irp) {
        irp->Cancel = TRUE;
        return what(irp);
    });
    EXPECT_EQ(call.status(), STATUS_CANCELLED);
    EXPECT_EQ(hca.outstanding(), 0u);
}

TEST_P(Transfers, Destroy_CancelsTransfersButResultsWin) {
    const sent first(open->qp);
    const sent second(open->qp);
    verb_call finished(first);
    verb_call left(second);
    hca.armed = false; // its completion stays in the queue
    hca.complete_one();
    EXPECT_EQ(destroy_qp(std::exchange(open->qp, nullptr)), STATUS_SUCCESS);
    EXPECT_EQ(finished.status(), STATUS_SUCCESS);
    EXPECT_EQ(left.status(), STATUS_CANCELLED);
}

TEST_P(Transfers, Reset_CancelsThoseOfItsQueuePairOnly) {
    IB_QP* other = create_qp(open->pd, small_qp(open->cq));
    const sent first(open->qp);
    const sent second(other);
    verb_call reset(first);
    verb_call kept(second);
    to_error(*open);
    EXPECT_FALSE(reset.done());
    EXPECT_EQ(modify_qp(open->qp, to_state(IB_QPS_RESET)), STATUS_SUCCESS);
    EXPECT_EQ(reset.status(), STATUS_CANCELLED);
    EXPECT_FALSE(kept.done());
    hca.posted.pop_front(); // the HCA forgets that of the queue pair that was reset
    hca.complete_one();
    EXPECT_EQ(kept.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_qp(other), STATUS_SUCCESS);
}

TEST_P(Transfers, AfterFatalEvent_FailAndOutstandingOnesEndWithTheirQueuePair) {
    const sent what(open->qp);
    verb_call call(what);
    HcaReportFatal(hca.fdo);
    EXPECT_EQ(verb_call(what).status(), STATUS_FILE_FORCED_CLOSED);
    EXPECT_FALSE(call.done());
    EXPECT_EQ(destroy_qp(std::exchange(open->qp, nullptr)), STATUS_SUCCESS);
    EXPECT_EQ(call.status(), STATUS_CANCELLED);
}

IRPVERBS_ON_BOTH_MACHINES(Transfers);

// ---- races

struct transfer_race {
    transfer_hca hca;
    open_qp open{hca};
    sent what{open.qp};
    std::optional<verb_call> call;

    transfer_race() {
        to_error(open);
        call.emplace(what);
    }
    void expect_one_end() {
        const NTSTATUS status = call->status();
        EXPECT_TRUE(status == STATUS_SUCCESS || status == STATUS_CANCELLED) << std::hex << status;
    }
};

explore_options three_actors() {
    explore_options options;
    options.random_runs = 500;
    options.pct_runs = 500;
    options.exhaustive_runs = 20'000;
    options.preemption_bound = 1;
    return options;
}

TEST(TransferRaces, CompletionCancelAndDestroy_EndItOnce) {
    expect_exhausted(three_actors(), [](sim_machine& sim) {
        transfer_race race;
        sim.spawn("completes", [&] { race.hca.complete_one(); });
        sim.spawn("cancels", [&] { race.call->cancel(); });
        sim.spawn("destroys", [&] {
            EXPECT_EQ(destroy_qp(std::exchange(race.open.qp, nullptr)), STATUS_SUCCESS);
        });
        sim.run();
        race.expect_one_end();
    });
}

TEST(TransferRaces, TwoFirstTransfers_BothComplete) {
    expect_exhausted(three_actors(), [](sim_machine& sim) {
        transfer_hca hca;
        hca.completes_posts = true;
        open_qp open(hca);
        const sent one(open.qp);
        const received two(open.qp);
        verb_call first;
        verb_call second;
        sim.spawn("first", [&] { first.send(one); });
        sim.spawn("second", [&] { second.send(two); });
        sim.run();
        EXPECT_EQ(first.status(), STATUS_SUCCESS);
        EXPECT_EQ(second.status(), STATUS_SUCCESS);
    });
}

} // namespace
