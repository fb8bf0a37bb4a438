// Completion queues over libibverbs.
#include "verbs_hcas.hpp"

#include <cerrno>
#include <functional>
#include <set>

namespace {

using namespace irpverbs::testing;
using call = fake_verbs;
using ids = std::vector<std::uint64_t>;

class VerbsCompletionQueue : public BothMachines {
protected:
    bool complete(IB_CQ* cq, const ibv_wc& entry, bool solicited = false) {
        return kernel.verbs.complete(name_of_queue(cq), entry, solicited);
    }
    static ULONG filled(IB_CQ* cq) {
        IB_CQ_ATTR attr{};
        EXPECT_EQ(status_of([&](IRP* irp) { return CiQueryCq(cq, sizeof(attr), &attr, irp); }),
                  STATUS_SUCCESS);
        EXPECT_EQ(attr.NumCqes, cq->NumCqes);
        return attr.Filled;
    }

    verbs_kernel kernel;
};

TEST_P(VerbsCompletionQueue, QueryBetweenPolls_KeepsEntryOrder) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca, 40);
    for (std::uint64_t id = 0; id < 20; ++id)
        EXPECT_TRUE(complete(cq, wc(id)));
    EXPECT_EQ(poll(cq, 2), (ids{0, 1}));
    EXPECT_EQ(filled(cq), 18u);
    EXPECT_TRUE(complete(cq, wc(20)));
    EXPECT_EQ(poll(cq, 18).size(), 18u);
    EXPECT_EQ(poll(cq, 18), (ids{20}));
    EXPECT_EQ(poll(cq, 18), ids{});
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// Every field is as the kernel made it.
TEST_P(VerbsCompletionQueue, PolledEntry_HasAllLibibverbsFields) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    ibv_wc reported = wc(1);
    reported.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    reported.byte_len = 2;
    reported.imm_data = 3;
    reported.qp_num = 4;
    reported.src_qp = 5;
    reported.wc_flags = IBV_WC_GRH | IBV_WC_WITH_IMM | IBV_WC_WITH_INV | IBV_WC_IP_CSUM_OK;
    reported.pkey_index = 6;
    reported.slid = 7;
    reported.sl = 8;
    reported.dlid_path_bits = 9;
    const auto expect_polled = [&](const auto& poll_one) {
        complete(cq, reported);
        IB_WC made{};
        EXPECT_EQ(poll_one(&made), 1u);
        EXPECT_EQ(made.WrId, 1u);
        EXPECT_EQ(made.Status, ULONG{IB_WC_SUCCESS});
        EXPECT_EQ(made.Opcode, ULONG{IB_WC_RECEIVE_RDMA_WRITE_WITH_IMMEDIATE});
        EXPECT_EQ(made.ByteCount, 2u);
        EXPECT_EQ(made.Immediate, 3u);
        EXPECT_EQ(made.QpNumber, 4u);
        EXPECT_EQ(made.SourceQp, 5u);
        EXPECT_EQ(made.Flags, IB_WC_GRH_PRESENT | IB_WC_IMMEDIATE_PRESENT | IB_WC_INVALIDATED |
                                  IB_WC_CHECKSUM_GOOD);
        EXPECT_EQ(made.PKeyIndex, 6);
        EXPECT_EQ(made.SourceLid, 7);
        EXPECT_EQ(made.ServiceLevel, 8);
        EXPECT_EQ(made.PathBits, 9);
    };
    expect_polled([&](IB_WC* to) {
        verb_call polled([&](IRP* irp) { return CiPollCq(cq, 1, to, irp); });
        EXPECT_EQ(polled.status(), STATUS_SUCCESS);
        return polled.information();
    });
    for (int i = 0; i < 100; ++i)
        expect_polled([&](IB_WC* to) {
            ULONG taken = 0;
            EXPECT_EQ(CiGetCqResults(cq, 1, to, &taken), STATUS_SUCCESS);
            return taken;
        });
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// Arming, counting and resizing move entries from libibverbs to the driver; polls may go to
// libibverbs directly before and after.
TEST_P(VerbsCompletionQueue, DirectAndDriverPolls_KeepEntryOrder) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    for (std::uint64_t round = 0; round < 4; ++round) {
        poll_empty(cq);
        for (std::uint64_t i = 0; i < 4; ++i)
            EXPECT_TRUE(complete(cq, wc(10 * round + i)));
        EXPECT_EQ(results(cq, 1), (ids{10 * round}));
        if (round == 1) {
            EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
        } else if (round == 2) {
            EXPECT_EQ(filled(cq), 3u);
        } else if (round == 3) {
            EXPECT_EQ(status_of(resizing(cq, 8)), STATUS_SUCCESS);
        }
        EXPECT_EQ(results(cq, 1), (ids{10 * round + 1}));
        EXPECT_EQ(poll(cq, 1), (ids{10 * round + 2}));
        EXPECT_EQ(results(cq, 9), (ids{10 * round + 3}));
    }
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// The order holds however many polls it takes.
TEST_P(VerbsCompletionQueue, EntriesMovedToDriver_PolledBeforeNewerOnes) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca, 101);
    for (std::uint64_t id = 0; id < 100; ++id)
        EXPECT_TRUE(complete(cq, wc(id)));
    EXPECT_EQ(filled(cq), 100u);
    EXPECT_TRUE(complete(cq, wc(100)));
    for (std::uint64_t id = 0; id <= 100; ++id)
        EXPECT_EQ(results(cq, 1), ids{id});
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(VerbsCompletionQueue, KernelPollError_IsReturned) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    IB_WC to{};
    for (int i = 0; i < 2; ++i) {
        // a direct poll retries once through the driver
        kernel.verbs.fail(call::poll_cq, {call::negative(EINVAL), call::negative(EINVAL)});
        ULONG taken = 1;
        EXPECT_EQ(CiGetCqResults(cq, 1, &to, &taken), STATUS_INVALID_PARAMETER);
        EXPECT_EQ(taken, 0u);
        kernel.verbs.fail(call::poll_cq, {});
        poll_empty(cq);
    }
    kernel.verbs.fail(call::poll_cq, {call::by_errno(EIO), call::by_errno(EIO)});
    ULONG taken = 1;
    EXPECT_EQ(CiGetCqResults(cq, 1, &to, &taken), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(taken, 0u);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(VerbsCompletionQueue, TooManyEntries_CreateIsRefused) {
    const open_verbs hca;
    for (const ULONG entries : {32768u, 0x80000000u, ~0u})
        EXPECT_EQ(status_of(creating(hca.ca, entries)), STATUS_INVALID_PARAMETER);
}

TEST_P(VerbsCompletionQueue, SeveralQueues_UseCompletionVectorsInTurn) {
    const open_verbs hca;
    IB_CQ* one = create_cq(hca.ca);
    IB_CQ* two = create_cq(hca.ca);
    EXPECT_EQ(destroy_cq(one), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(two), STATUS_SUCCESS);
    EXPECT_EQ(std::set<int>(kernel.verbs.vectors.begin(), kernel.verbs.vectors.end()),
              (std::set<int>{0, 1}));
}

TEST_P(VerbsCompletionQueue, Resize_KeepsEntries) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca, 2);
    complete(cq, wc(1));
    EXPECT_EQ(filled(cq), 1u);
    complete(cq, wc(2));
    EXPECT_EQ(status_of(resizing(cq, 1)), STATUS_INVALID_PARAMETER);
    verb_call grown(resizing(cq, 20));
    EXPECT_EQ(grown.status(), STATUS_SUCCESS);
    EXPECT_EQ(grown.information(), 20u);
    EXPECT_EQ(cq->NumCqes, 20u);
    complete(cq, wc(3));
    EXPECT_EQ(poll(cq, 9), (ids{1, 2, 3}));
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// Like siw.
TEST_P(VerbsCompletionQueue, ProviderWithoutResize_ResizeIsNotSupported) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    for (const call::failure& each : {call::positive(ENOSYS), call::positive(EOPNOTSUPP),
                                      call::negative(EOPNOTSUPP), call::by_errno(ENOSYS)}) {
        kernel.verbs.fail(call::resize_cq, {each});
        EXPECT_EQ(status_of(resizing(cq, 8)), STATUS_NOT_SUPPORTED);
    }
    EXPECT_EQ(cq->NumCqes, 4u);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// A provider replaces the queue's memory, so no other thread may use the queue. Entries in it can
// still be polled, and an arming is not lost.
TEST_P(VerbsCompletionQueue, PollOrArmDuringResize_KernelQueueIsUntouched) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    poll_empty(cq);
    complete(cq, wc(1));
    kernel.verbs.hold(call::resize_cq);
    verb_call resize(resizing(cq, 8));
    kernel.verbs.wait_for(call::resize_cq);
    const unsigned polls = kernel.verbs.calls(call::poll_cq);
    complete(cq, wc(2));
    EXPECT_EQ(results(cq, 4), (ids{1}));
    poll_empty(cq);
    EXPECT_EQ(poll(cq, 4), ids{});
    EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.calls(call::poll_cq), polls);
    EXPECT_EQ(kernel.verbs.calls(call::req_notify_cq), 0u);
    verb_call waiter(awaiting_completion(cq));
    EXPECT_FALSE(waiter.done());
    kernel.verbs.release(call::resize_cq);
    EXPECT_EQ(resize.status(), STATUS_SUCCESS);
    EXPECT_EQ(waiter.status(), STATUS_SUCCESS);
    EXPECT_EQ(poll(cq, 4), (ids{2}));
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(VerbsCompletionQueue, Arm_RaisesOneEvent) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
    verb_call first(awaiting_completion(cq));
    EXPECT_FALSE(first.done());
    complete(cq, wc(1));
    EXPECT_EQ(first.status(), STATUS_SUCCESS);
    verb_call second(awaiting_completion(cq));
    complete(cq, wc(2));
    EXPECT_EQ(poll(cq, 4), (ids{1, 2}));
    EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
    EXPECT_FALSE(second.done());
    complete(cq, wc(3));
    EXPECT_EQ(second.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// The kernel reacts to later entries only.
TEST_P(VerbsCompletionQueue, EntryPresentAtArm_RaisesEventAtOnce) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    complete(cq, wc(1));
    EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
    EXPECT_EQ(status_of(awaiting_completion(cq)), STATUS_SUCCESS);
    EXPECT_EQ(poll(cq, 4), (ids{1}));
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// libibverbs does not report which present entries are solicited: failures count, and so do
// receives, since they may be.
TEST_P(VerbsCompletionQueue, PresentReceiveOrFailure_SatisfiesSolicitedArm) {
    const open_verbs hca;
    for (const auto& [entry, satisfies] : {std::pair{wc(1), false},
                                           {wc(1, IBV_WC_SUCCESS, IBV_WC_RECV), true},
                                           {wc(1, IBV_WC_WR_FLUSH_ERR), true}}) {
        IB_CQ* cq = create_cq(hca.ca);
        complete(cq, wc(0));
        complete(cq, entry);
        EXPECT_EQ(status_of(arming(cq, IB_CQ_ARM_SOLICITED)), STATUS_SUCCESS);
        verb_call waiter(awaiting_completion(cq));
        EXPECT_EQ(waiter.done(), satisfies);
        EXPECT_EQ(poll(cq, 4), (ids{0, 1}));
        EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    }
}

TEST_P(VerbsCompletionQueue, LaterSolicitedEntry_SatisfiesSolicitedArm) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    verb_call waiter(awaiting_completion(cq));
    EXPECT_EQ(status_of(arming(cq, IB_CQ_ARM_SOLICITED)), STATUS_SUCCESS);
    complete(cq, wc(1));
    EXPECT_FALSE(waiter.done());
    complete(cq, wc(2), true);
    EXPECT_EQ(waiter.status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

TEST_P(VerbsCompletionQueue, KernelArmError_IsReturned) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca);
    kernel.verbs.fail(call::req_notify_cq, {call::negative(EINVAL)});
    EXPECT_EQ(status_of(arming(cq)), STATUS_INVALID_PARAMETER);
    kernel.verbs.fail(call::poll_cq, {call::negative(EINVAL)});
    IB_WC to{};
    EXPECT_EQ(status_of([&](IRP* irp) { return CiPollCq(cq, 1, &to, irp); }),
              STATUS_INVALID_PARAMETER);
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
}

// rxe reports an overrun once per lost entry.
TEST_P(VerbsCompletionQueue, RepeatedOverrun_IsReportedOnce) {
    const open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca, 1);
    EXPECT_TRUE(complete(cq, wc(1)));
    EXPECT_FALSE(complete(cq, wc(2)));
    verb_call first(awaiting_error(cq));
    EXPECT_EQ(first.status(), STATUS_SUCCESS);
    EXPECT_EQ(first.information(), static_cast<ULONG_PTR>(IB_AE_CQ_ERROR));
    verb_call second(awaiting_error(cq));
    EXPECT_FALSE(complete(cq, wc(3)));
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(second.status(), STATUS_CANCELLED);
}

// The create is cancelled while the kernel performs it, and is undone.
TEST_P(VerbsCompletionQueue, CreateCancelledInKernel_QueueIsDestroyed) {
    const open_verbs hca;
    kernel.verbs.hold(call::create_cq);
    verb_call create(creating(hca.ca));
    EXPECT_EQ(create.returned(), STATUS_PENDING);
    kernel.verbs.wait_for(call::create_cq);
    create.cancel();
    EXPECT_FALSE(create.done());
    kernel.verbs.release(call::create_cq);
    EXPECT_EQ(create.status(), STATUS_CANCELLED);
    EXPECT_EQ(kernel.verbs.queues(), 0u);
}

TEST_P(VerbsCompletionQueue, OpenCancelledInKernel_ContextIsClosed) {
    const rdma_hcas hcas;
    kernel.verbs.hold(call::open_device);
    verb_call open([](IRP* irp) {
        return CiOpenCa(rdma_hcas::fdo(verbs_kernel::guid), nullptr, nullptr, nullptr, irp);
    });
    kernel.verbs.wait_for(call::open_device);
    open.cancel();
    kernel.verbs.release(call::open_device);
    EXPECT_EQ(open.status(), STATUS_CANCELLED);
    EXPECT_EQ(kernel.verbs.contexts(), 0u);
}

// Neither the caller at DISPATCH_LEVEL nor verbs of other objects wait for a slow create.
TEST_P(VerbsCompletionQueue, SlowCreate_BlocksNoOtherVerb) {
    const open_verbs hca;
    IB_CQ* other = create_cq(hca.ca);
    kernel.verbs.hold(call::create_cq);
    std::unique_ptr<verb_call> create;
    {
        const at_dispatch_level raised;
        create = std::make_unique<verb_call>(creating(hca.ca));
        EXPECT_EQ(create->returned(), STATUS_PENDING);
    }
    kernel.verbs.wait_for(call::create_cq);
    IB_PORT_ATTR attr{};
    EXPECT_EQ(status_of(querying(hca.ca, attr)), STATUS_BUFFER_OVERFLOW);
    EXPECT_EQ(status_of(resizing(other, 8)), STATUS_SUCCESS);
    kernel.verbs.release(call::create_cq);
    EXPECT_EQ(create->status(), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(create->object<IB_CQ>()), STATUS_SUCCESS);
    EXPECT_EQ(destroy_cq(other), STATUS_SUCCESS);
}

// Each verb pends although the kernel blocks, also when its caller is at DISPATCH_LEVEL.
TEST_P(VerbsCompletionQueue, KernelCallBlocks_VerbPends) {
    const auto expect_pended = [&](call::call which, const std::function<NTSTATUS(IRP*)>& verb) {
        kernel.verbs.hold(which);
        std::unique_ptr<verb_call> under_way;
        {
            const at_dispatch_level raised;
            under_way = std::make_unique<verb_call>(verb);
        }
        EXPECT_EQ(under_way->returned(), STATUS_PENDING) << which;
        kernel.verbs.wait_for(which);
        EXPECT_FALSE(under_way->done()) << which;
        kernel.verbs.release(which);
        EXPECT_TRUE(NT_SUCCESS(under_way->status()) ||
                    under_way->status() == STATUS_BUFFER_OVERFLOW)
            << which;
        return under_way->information();
    };
    const rdma_hcas hcas;
    const auto made = expect_pended(call::open_device, [](IRP* irp) {
        return CiOpenCa(rdma_hcas::fdo(verbs_kernel::guid), nullptr, nullptr, nullptr, irp);
    });
    auto* ca = reinterpret_cast<IB_CA*>(made);
    auto* cq = reinterpret_cast<IB_CQ*>(expect_pended(call::create_cq, creating(ca)));
    IB_CA_ATTR attr{};
    IB_PORT_ATTR port{};
    expect_pended(call::query_device,
                  [&](IRP* irp) { return CiQueryCa(ca, sizeof(attr), &attr, irp); });
    expect_pended(call::query_port, querying(ca, port));
    expect_pended(call::resize_cq, resizing(cq, 8));
    expect_pended(call::destroy_cq, [&](IRP* irp) { return CiDestroyCq(cq, nullptr, irp); });
    expect_pended(call::close_device, [&](IRP* irp) { return CiCloseCa(ca, nullptr, irp); });
}

// A queue that the kernel does not destroy still raises events, for a queue that the client no
// longer has.
TEST_P(VerbsCompletionQueue, DestroyRefusedByKernel_LaterEventsAreIgnored) {
    open_verbs hca;
    IB_CQ* cq = create_cq(hca.ca, 1);
    const void* name = name_of_queue(cq);
    EXPECT_EQ(status_of(arming(cq)), STATUS_SUCCESS);
    kernel.verbs.fail(call::destroy_cq, {call::positive(EBUSY)});
    EXPECT_EQ(destroy_cq(cq), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.queues(), 1u);
    EXPECT_TRUE(kernel.verbs.complete(name, wc(1)));
    EXPECT_FALSE(kernel.verbs.complete(name, wc(2)));
    EXPECT_EQ(close_ca(std::exchange(hca.ca, nullptr)), STATUS_SUCCESS);
    EXPECT_EQ(kernel.verbs.queues(), 0u);
}

IRPVERBS_ON_BOTH_MACHINES(VerbsCompletionQueue);

} // namespace
