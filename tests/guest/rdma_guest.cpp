// The umad side of the rdma driver on the kernel's rxe, with two devices that a cable joins. Runs
// in the guest.
#include "kernel_peer.hpp"

#include <hca/mad_client.hpp>
#include <support/both_machines.hpp>

#include <hca/rdma.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

std::string file_of(const std::string& device, const std::string& name) {
    std::ifstream in("/sys/class/infiniband/" + device + '/' + name);
    std::string line;
    std::getline(in, line);
    return line;
}

std::string text_of(const ib_gid_t& gid) {
    std::string text;
    for (const std::uint64_t half : {gid.gid_prefix, gid.gid_guid})
        for (int shift = 48; shift >= 0; shift -= 16) {
            char word[6];
            std::snprintf(word, sizeof(word),
                          "%04x:", static_cast<unsigned>(half >> shift & 0xFFFF));
            text += word;
        }
    text.pop_back();
    return text;
}

void shell(const char* command) { ASSERT_EQ(std::system(command), 0) << command; }

class RdmaGuest : public ::testing::Test {
protected:
    IB_MAD_ADDRESS address(IB_CA* of) const {
        const port_block port(of, 1);
        IB_MAD_ADDRESS to = to_lid(0);
        to.Flags = IB_MAD_GRH;
        to.Gid = *IbPortGid(&*port, 0);
        to.HopLimit = 64;
        return to;
    }
    static NTSTATUS registering(IB_CA* ca, const IB_MAD_AGENT_ATTR& attr) {
        return verb_call(
                   [&](IRP* irp) { return CiRegisterMadAgent(ca, &attr, nullptr, nullptr, irp); })
            .status();
    }
    static IB_MAD_AGENT_ATTR vendor_agent(std::initializer_list<UCHAR> methods = {}) {
        IB_MAD_AGENT_ATTR attr = agent_of(guest_class, methods);
        for (unsigned i = 0; i < 3; ++i)
            attr.Oui[i] = static_cast<UCHAR>(guest_oui >> (16 - 8 * i));
        return attr;
    }
    static void await_event(IB_CA* ca, IB_ASYNC_EVENT event) {
        ULONG_PTR reported = IB_AE_NONE;
        while (reported != static_cast<ULONG_PTR>(event)) {
            verb_call waiting([&](IRP* irp) { return CiGetCaPortEvent(ca, 1, irp); });
            ASSERT_EQ(waiting.status(), STATUS_SUCCESS);
            reported = waiting.information();
        }
    }

    dispatch::asio_machine machine{{.processors = 2}};
    dispatch::machine::scope inside{machine};
    attached hcas{"rdma:"};
};

TEST_F(RdmaGuest, QueryPort_MatchesSysfs) {
    ASSERT_EQ(hcas.count(), 2u);
    for (const std::size_t index : {0u, 1u}) {
        const std::string name = index == 0 ? "rxe0" : "rxe1";
        const open_hca ca(hcas.fdo(index));
        const port_block port(ca, 1);
        EXPECT_EQ(port->State, IB_PORT_ACTIVE);
        EXPECT_EQ(file_of(name, "ports/1/state"), "4: ACTIVE");
        EXPECT_EQ(port->LinkLayer, IB_LINK_LAYER_ETHERNET);
        EXPECT_EQ(file_of(name, "ports/1/link_layer"), "Ethernet");
        EXPECT_EQ(port->Lid, 0);
        EXPECT_EQ(text_of(*IbPortGid(&*port, 0)), file_of(name, "ports/1/gids/0"));
        EXPECT_EQ(text_of(*IbPortGid(&*port, 1)), file_of(name, "ports/1/gids/1"));
        ASSERT_EQ(port->PKeyCount, 1);
        EXPECT_EQ(IbPortPKey(&*port, 0), IB_PKEY_DEFAULT_FULL);
        const std::string guid = text_of({0, hcas.guid(index)});
        EXPECT_EQ(guid.substr(guid.size() - 19), file_of(name, "node_guid"));
    }
}

TEST_F(RdmaGuest, RegistrationUnsupportedByKernel_IsRefused) {
    const open_hca ca(hcas.fdo());
    EXPECT_EQ(registering(ca, agent_of(0x01)), STATUS_NOT_SUPPORTED); // no QP0
    // A vendor class without OUI sends only: the kernel gives requests to agents with an OUI.
    EXPECT_EQ(registering(ca, agent_of(guest_class, {1})), STATUS_NOT_SUPPORTED);
    const mad_client sender(ca, agent_of(guest_class));
    const mad_client first(ca, vendor_agent({1, 2}));
    EXPECT_EQ(registering(ca, vendor_agent({2, 3})), STATUS_SHARING_VIOLATION);
    const mad_client other(ca, vendor_agent({3}));
}

TEST_F(RdmaGuest, RequestBetweenTwoHcas_ResponseIsReceived) {
    const open_hca here(hcas.fdo(0));
    const open_hca there(hcas.fdo(1));
    mad_client asker(here, agent_of(vendor_class));
    mad_client server(there, agent_of(vendor_class, {1}));
    const IB_MAD_ADDRESS to = address(there);
    mad request(vendor_class, 1, 0x10, 42);
    EXPECT_EQ(asker.send(to_lid(1), request), STATUS_INVALID_PARAMETER); // rxe has no LIDs
    for (ULONG transaction = 1; transaction <= 20; ++transaction) {
        EXPECT_EQ(asker.send(to, request.with_transaction(transaction), IB_MAD_SIZE, 10'000),
                  STATUS_SUCCESS);
        received_mad received = server.receive();
        EXPECT_EQ(received.data.get<4>(20), 42u);
        EXPECT_EQ(text_of(received.from.Gid), file_of("rxe0", "ports/1/gids/0"));
        EXPECT_EQ(server.send(received.from, received.data.put<2>(64, 0xABCD).as_response()),
                  STATUS_SUCCESS);
        const received_mad response = asker.receive();
        EXPECT_EQ(response.data.own_transaction(), transaction);
        EXPECT_EQ(response.data.get<2>(64), 0xABCDu);
    }
}

TEST_F(RdmaGuest, LongResponseWithKernelRmpp_ReceivedWhole) {
    const kernel_agent agent("rxe1");
    const open_hca here(hcas.fdo(0));
    const open_hca there(hcas.fdo(1));
    IB_MAD_AGENT_ATTR attr = vendor_agent();
    attr.Rmpp = IB_MAD_RMPP_BY_DRIVER;
    const mad_client asker(here, attr);
    constexpr std::size_t size = 5000;
    const auto request = kernel_message::of(0x12, 9, size, {}, false);
    IB_MAD_SEND sent{};
    sent.To = address(there);
    sent.Data = request.bytes.data();
    sent.Length = IB_MAD_SIZE;
    sent.ResponseTimeout = 10'000;
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiSendMad(asker.agent(), &sent, irp); }).status(),
              STATUS_SUCCESS);
    std::vector<UCHAR> table(size + kernel_message::headers);
    IB_MAD_RECEIVE into{};
    into.Data = table.data();
    into.Size = static_cast<ULONG>(table.size());
    verb_call get([&](IRP* irp) { return CiGetMad(asker.agent(), &into, irp); });
    EXPECT_STREQ(name_of(get.status()), "STATUS_SUCCESS");
    EXPECT_EQ(into.Length, table.size());
    EXPECT_TRUE(
        std::ranges::equal(std::span(table).subspan(kernel_message::headers), pattern(size)));
}

TEST_F(RdmaGuest, LinkDownAndUp_EventsAreReported) {
    EXPECT_EQ(HcaRdmaSetPollInterval(hcas.guid(0), 20), STATUS_SUCCESS);
    const open_hca here(hcas.fdo(0));
    const open_hca there(hcas.fdo(1));
    mad_client asker(here, agent_of(vendor_class));
    const IB_MAD_ADDRESS to = address(there);
    shell("ip link set rx0 down");
    await_event(here, IB_AE_PORT_ERROR);
    EXPECT_NE(port_block(here, 1)->State, IB_PORT_ACTIVE);
    EXPECT_EQ(asker.send(to, mad(vendor_class, 1, 0x10)), STATUS_SUCCESS); // the link drops it
    shell("ip link set rx0 up");
    await_event(here, IB_AE_PORT_ACTIVE);
    EXPECT_EQ(port_block(here, 1)->State, IB_PORT_ACTIVE);
}

// Must be the last test, since rxe1 is not restored. The kernel delays the removal until all have
// closed the device.
TEST_F(RdmaGuest, DeviceDeleted_FatalEventIsReported) {
    const open_hca gone(hcas.fdo(1));
    {
        const mad_client agent(gone, agent_of(vendor_class));
        verb_call fatal([&](IRP* irp) { return CiGetCaFatalEvent(gone, irp); });
        shell("rdma link delete rxe1 &");
        EXPECT_EQ(fatal.status(), STATUS_SUCCESS);
        EXPECT_EQ(registering(gone, agent_of(performance_class)), STATUS_FILE_FORCED_CLOSED);
    }
    const open_hca other(hcas.fdo(0));
    EXPECT_EQ(port_block(other, 1)->State, IB_PORT_ACTIVE);
}

} // namespace
