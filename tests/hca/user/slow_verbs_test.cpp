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
        given.CreateCq = [](HCA_CQ*, CI_UDATA*, IRP*) { return STATUS_SUCCESS; };
        given.ArmCq = [](HCA_CQ*, ULONG, IRP*) { return STATUS_SUCCESS; };
        given.PollCq = [](HCA_CQ*, ULONG, IB_WC*, ULONG*) { return STATUS_SUCCESS; };
        given.QueryCa = [](HCA_CA*, IB_CA_ATTR* attr, SIZE_T size, IRP* irp) {
            IB_CA_ATTR seen{};
            seen.Size = sizeof(seen);
            seen.PortCount = 1;
            return HcaCopyAttributes(&seen, sizeof(seen), attr, size, irp);
        };
        given.ResizeCq = [](HCA_CQ* cq, ULONG entries, CI_UDATA*, IRP* irp) {
            cq->Cq.NumCqes = entries;
            irp->IoStatus.Information = entries;
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
    EXPECT_TRUE(await([&] { return serving.counters().Connections == 1; }));
    EXPECT_EQ(serving.counters().Requests, 0u);
}

} // namespace
