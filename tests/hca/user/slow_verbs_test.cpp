// Verbs that the daemon's driver pends: other requests of their client overtake them, and cancels
// reach them.
#include "raw_client.hpp"

#include <optional>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

/// An HCA of the daemon, whose resizes wait until the test lets them go on.
class slow_hca {
public:
    static constexpr ib_guid_t guid = 0x51;

    slow_hca() {
        HCA_OPERATIONS given;
        HCA_OPERATIONS_INIT(&given);
        given.CreateCq = [](HCA_CQ* cq, CI_UDATA*, IRP*) {
            cq->Cq.NumCqes += of(cq->Ca->Device).granted_more;
            return STATUS_SUCCESS;
        };
        given.ArmCq = [](HCA_CQ* cq, ULONG, IRP*) { return of(cq->Ca->Device).status_of_arm; };
        given.PollCq = [](HCA_CQ*, ULONG, IB_WC*, ULONG*) { return STATUS_SUCCESS; };
        given.QueryCa = [](HCA_CA*, IB_CA_ATTR* attr, SIZE_T size, IRP* irp) {
            IB_CA_ATTR seen{};
            seen.Size = sizeof(seen);
            seen.PortCount = 1;
            return HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp);
        };
        given.ResizeCq = [](HCA_CQ* cq, ULONG entries, CI_UDATA*, IRP* irp) {
            cq->Cq.NumCqes = entries + of(cq->Ca->Device).granted_more;
            irp->IoStatus.Information = cq->Cq.NumCqes;
            return STATUS_SUCCESS;
        };
        given.Submit = submit;
        HCA_DEVICE description;
        HCA_DEVICE_INIT(&description);
        description.Operations = &given;
        description.Name = "slow";
        description.NodeGuid = guid;
        description.PortCount = 1;
        description.ExtensionSize = sizeof(slow_hca*);
        EXPECT_EQ(HcaCreateDevice(&description, &device_), STATUS_SUCCESS);
        *static_cast<slow_hca**>(HcaDeviceExtension(device_)) = this;
    }
    ~slow_hca() {
        EXPECT_EQ(HcaRefuseOpen(device_), STATUS_SUCCESS);
        HcaDeleteDevice(device_);
    }
    slow_hca(const slow_hca&) = delete;
    slow_hca& operator=(const slow_hca&) = delete;

    ULONG granted_more = 0; // entries beyond the requested ones
    NTSTATUS status_of_arm = STATUS_SUCCESS;

    void go_on() {
        while (IRP* const irp = held_.exchange(nullptr)) {
            IoSetCancelRoutine(irp, nullptr);
            HcaExecute(irp);
        }
    }

private:
    static NTSTATUS submit(DEVICE_OBJECT* device, IRP* irp) {
        if (IoGetCurrentIrpStackLocation(irp)->MinorFunction != HCA_MN_RESIZE_CQ)
            return HcaExecute(irp);
        IoMarkIrpPending(irp);
        of(device).held_.store(irp);
        IoSetCancelRoutine(irp, cancel);
        const bool cancelled = __atomic_load_n(&irp->Cancel, __ATOMIC_SEQ_CST) != 0;
        if (cancelled && IoSetCancelRoutine(irp, nullptr) != nullptr) give_up(device, irp);
        return STATUS_PENDING;
    }
    static void cancel(DEVICE_OBJECT* device, IRP* irp) {
        IoReleaseCancelSpinLock(irp->CancelIrql);
        give_up(device, irp);
    }
    static void give_up(DEVICE_OBJECT* device, IRP* irp) {
        of(device).held_.store(nullptr);
        HcaComplete(irp, STATUS_CANCELLED, 0);
    }
    static slow_hca& of(DEVICE_OBJECT* device) {
        return **static_cast<slow_hca**>(HcaDeviceExtension(device));
    }

    DEVICE_OBJECT* device_ = nullptr;
    std::atomic<IRP*> held_{nullptr};
};

TEST(SlowVerbs, ResizesAtATime_OneIsServed) {
    test_daemon serving;
    std::optional<slow_hca> slow;
    serving.run([&] { slow.emplace(); });
    {
        raw_ca client(serving, slow_hca::guid);
        const auto queue = client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4)).information;
        client.send(with_id(request_of(HCA_MN_RESIZE_CQ, queue, 64), 6));
        client.send(with_id(request_of(HCA_MN_RESIZE_CQ, queue, 128), 7));
        client.send(with_id(request_of(HCA_MN_QUERY_CA, client.handle, 65536), 8));
        const wire::reply first = receive_all(client, 1)[0];
        EXPECT_EQ(first.head.id, 7u);
        EXPECT_EQ(first.status, STATUS_DEVICE_BUSY);
        serving.run([&] { slow->go_on(); });
        for (const wire::reply& each : receive_all(client, 2))
            EXPECT_EQ(each.status, STATUS_SUCCESS);
    }
    EXPECT_TRUE(serving.becomes_idle());
    serving.stop();
    serving.run([&] { slow.reset(); });
}

/// A completion queue of the slow HCA, in a client of its own.
class SlowQueue : public ::testing::Test {
protected:
    SlowQueue() {
        serving.run([&] { slow.emplace(); });
        here.emplace(serving.uri());
        ca = open_ca(HcaFromGuid(slow_hca::guid));
        queue = create_cq(ca, 4);
    }
    ~SlowQueue() override {
        EXPECT_EQ(destroy_cq(queue), STATUS_SUCCESS);
        EXPECT_EQ(close_ca(ca), STATUS_SUCCESS);
        here.reset();
        EXPECT_TRUE(serving.becomes_idle());
        serving.stop();
        serving.run([&] { slow.reset(); });
    }
    void resize(verb_call& by, ULONG entries) const {
        by.send([&](IRP* irp) { return CiResizeCq(queue, entries, nullptr, irp); });
    }

    test_daemon serving;
    std::optional<slow_hca> slow;
    std::optional<client> here;
    IB_CA* ca = nullptr;
    IB_CQ* queue = nullptr;
};

// A ring has the requested number, rounded up to a power of two.
TEST_F(SlowQueue, DriverGrantsMoreThanARingHas_ClientIsGrantedTheRing) {
    serving.run([&] { slow->granted_more = 1000; });
    IB_CQ* const larger = create_cq(ca, 100);
    EXPECT_EQ(larger->NumCqes, 128u);
    IB_WC entry{};
    ULONG taken = 1;
    EXPECT_EQ(CiGetCqResults(larger, 1, &entry, &taken), STATUS_SUCCESS);
    EXPECT_EQ(taken, 0u);
    EXPECT_EQ(CiArmCqNow(larger, IB_CQ_ARM_NEXT), STATUS_SUCCESS);
    verb_call verb;
    verb.send([&](IRP* irp) { return CiResizeCq(larger, 200, nullptr, irp); });
    EXPECT_TRUE(await([&] {
        serving.run([&] { slow->go_on(); });
        return verb.done();
    }));
    EXPECT_EQ(verb.status(), STATUS_SUCCESS);
    EXPECT_EQ(verb.information(), 256u);
    EXPECT_EQ(larger->NumCqes, 256u);
    EXPECT_EQ(destroy_cq(larger), STATUS_SUCCESS);
}

// Its completions would not reach a ring, so its client polls and arms by requests.
TEST_F(SlowQueue, QueueCanNotBeArmed_IsPolledAndArmedByRequests) {
    serving.run([&] { slow->status_of_arm = STATUS_NOT_SUPPORTED; });
    IB_CQ* const unarmed = create_cq(ca, 4);
    std::array<IB_WC, 1> entries{};
    verb_call poll([&](IRP* irp) { return CiPollCq(unarmed, 1, entries.data(), irp); });
    EXPECT_EQ(poll.status(), STATUS_SUCCESS);
    EXPECT_EQ(poll.information(), 0u);
    verb_call arm([&](IRP* irp) { return CiArmCq(unarmed, IB_CQ_ARM_NEXT, irp); });
    EXPECT_EQ(arm.status(), STATUS_NOT_SUPPORTED);
    EXPECT_EQ(destroy_cq(unarmed), STATUS_SUCCESS);
}

TEST_F(SlowQueue, CancelOfAVerb_ReachesTheDriver) {
    verb_call verb;
    resize(verb, 64);
    EXPECT_FALSE(verb.done());
    verb.cancel();
    EXPECT_EQ(verb.status(), STATUS_CANCELLED);
    EXPECT_EQ(queue->NumCqes, 4u);
}

TEST_F(SlowQueue, CancelBeforeTheVerb_ReachesTheDriver) {
    verb_call verb;
    verb.cancel();
    resize(verb, 64);
    EXPECT_EQ(verb.status(), STATUS_CANCELLED);
}

TEST_F(SlowQueue, ClientEndsDuringAVerb_VerbIsCancelled) {
    {
        raw_ca client(serving, slow_hca::guid);
        const auto own = client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4)).information;
        client.send(request_of(HCA_MN_RESIZE_CQ, own, 64));
    }
    // A request of the other client counts until after its reply has been sent.
    EXPECT_TRUE(await([&] {
        const UAL_COUNTERS now = serving.counters();
        return now.Connections == 1 && now.Requests == 0;
    }));
}

} // namespace
