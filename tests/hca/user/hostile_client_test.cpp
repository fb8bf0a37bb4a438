// Clients that use the daemon as no client of ours does: they get what is theirs, and harm no
// other.
#include "raw_client.hpp"

#include <irp/verifier.hpp>
#include <support/findings.hpp>

#include <fcntl.h>
#include <optional>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

wire::request with_id(wire::request request, std::uint64_t id) {
    request.head.id = id;
    return request;
}

/// The replies by their ids, in the order of their arrival.
std::vector<wire::reply> receive_all(raw_client& from, std::size_t count) {
    std::vector<wire::reply> made(count);
    for (wire::reply& each : made)
        EXPECT_TRUE(from.receive(each));
    return made;
}

// ---- a driver that takes its time

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
        while (IRP* const irp = held_.exchange(nullptr))
            HcaExecute(irp);
    }

private:
    static NTSTATUS submit(DEVICE_OBJECT* device, IRP* irp) {
        if (IoGetCurrentIrpStackLocation(irp)->MinorFunction != HCA_MN_RESIZE_CQ)
            return HcaExecute(irp);
        IoMarkIrpPending(irp);
        (*static_cast<slow_hca**>(HcaDeviceExtension(device)))->held_.store(irp);
        return STATUS_PENDING;
    }

    DEVICE_OBJECT* device_ = nullptr;
    std::atomic<IRP*> held_{nullptr};
};

TEST(HostileClient, ResizesAtATime_OneIsServed) {
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
            EXPECT_EQ(each.status, each.head.id == 6 ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED);
    }
    EXPECT_TRUE(serving.becomes_idle());
    serving.stop();
    serving.run([&] { slow.reset(); });
}

// ---- replies, buffers and descriptors

// Most find no room in the socket.
TEST(HostileClient, RepliesThatAreNotRead_ArriveLater) {
    test_daemon serving;
    raw_ca client(serving);
    constexpr std::size_t count = 600;
    for (std::size_t i = 0; i < count; ++i)
        client.send_all(with_id(request_of(HCA_MN_QUERY_PORT, client.handle, 65536), i + 10));
    const std::vector<wire::reply> seen = receive_all(client, count);
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(seen[i].head.id, i + 10);
    EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_CA, client.handle, 100)),
              STATUS_BUFFER_OVERFLOW);
}

TEST(HostileClient, RoomBeyondAllLimits_IsCut) {
    test_daemon serving;
    raw_ca client(serving);
    for (const std::uint64_t room : {~std::uint64_t{0}, std::uint64_t{1} << 60})
        EXPECT_EQ(client.status_of(request_of(HCA_MN_QUERY_CA, client.handle, room)),
                  STATUS_SUCCESS);
}

// A daemon that believed it would read a file that blocks, or one of its own.
TEST(HostileClient, DescriptorThatIsNotItsMemory_GivesNoRegions) {
    test_daemon serving;
    raw_client client(serving.socket());
    ci::detail::descriptors passed;
    passed[0] = ci::detail::unique_descriptor(open("/dev/zero", O_RDWR | O_CLOEXEC));
    client.send(raw_client::good_hello(), passed);
    wire::welcome made{};
    EXPECT_TRUE(client.receive(made));
    const wire::reply opened = client.ask(request_of(HCA_MN_OPEN_CA, first_hca(serving)));
    const wire::reply pd =
        client.ask(request_of(HCA_MN_ALLOCATE_PD, opened.information, IB_PDT_NORMAL));
    const ib_mr_create_t region{&made, sizeof(made), IB_AC_LOCAL_WRITE};
    wire::request create = request_of(HCA_MN_REGISTER_MR, pd.information);
    create.value_size = sizeof(region);
    EXPECT_EQ(client.status_of(create, region), STATUS_NOT_SUPPORTED);
}

// Only the daemon's numbers for a client's objects leave it.
TEST(HostileClient, QueriedObjects_AreHandles) {
    test_daemon serving;
    raw_ca client(serving);
    const auto cq = client.ask(request_of(HCA_MN_CREATE_CQ, client.handle, 4)).information;
    const auto pd =
        client.ask(request_of(HCA_MN_ALLOCATE_PD, client.handle, IB_PDT_NORMAL)).information;
    ib_qp_create_t wanted{};
    wanted.h_sq_cq = wanted.h_rq_cq = reinterpret_cast<IB_CQ*>(cq);
    wanted.qp_type = IB_QPT_RELIABLE_CONN;
    wire::request create = request_of(HCA_MN_CREATE_QP, pd);
    create.value_size = sizeof(wanted);
    const auto qp = client.ask(create, wanted).information;
    struct {
        wire::reply head;
        ib_qp_attr_t attributes;
    } seen{};
    client.send(request_of(HCA_MN_QUERY_QP, qp, sizeof(seen.attributes)));
    ASSERT_TRUE(client.receive(seen));
    EXPECT_EQ(seen.head.status, STATUS_SUCCESS);
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(seen.attributes.h_sq_cq), cq);
    EXPECT_EQ(reinterpret_cast<std::uint64_t>(seen.attributes.h_pd), pd);
}

// ---- under the verifier

TEST(HostileClient, CancelsAndEnds_BreakNoRule) {
    const irp::verifier_scope verified("default");
    const findings seen{dispatch::detail::enabled_checks.load()};
    {
        test_daemon serving;
        const client here(serving.uri());
        for (int i = 0; i < 10; ++i) {
            const opened_ca ca;
            verb_call fatal([&](IRP* irp) { return CiGetCaFatalEvent(ca.get(), irp); });
            verb_call port([&](IRP* irp) { return CiGetCaPortEvent(ca.get(), 1, irp); });
            raw_ca killed(serving);
            for (std::uint64_t id = 10; id < 30; ++id)
                killed.send(with_id(request_of(HCA_MN_GET_CA_FATAL_EVENT, killed.handle), id));
            for (std::uint64_t id = 10; id < 20; ++id)
                killed.send(wire::header{wire::kind::cancel, 0, {}, id});
            for (const wire::reply& each : receive_all(killed, 10))
                EXPECT_EQ(each.status, STATUS_CANCELLED);
            for (verb_call* each : {&fatal, &port}) {
                each->cancel();
                EXPECT_EQ(each->status(), STATUS_CANCELLED);
            }
        }
    }
    EXPECT_TRUE(nothing_reported(seen));
}

} // namespace
