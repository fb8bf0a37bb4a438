// Agents over a scripted kernel: the calls that the driver makes, and the effect of each response
// of the kernel.
#include "outstanding_requests.hpp"
#include "rdma_hcas.hpp"

#include <support/both_machines.hpp>

#include <dispatch/support/faults.hpp>
#include <dispatch/testing/fault_sweep.hpp>

#include <cerrno>
#include <memory>

namespace {

using namespace irpverbs;
using namespace irpverbs::testing;

class RdmaAgent : public BothMachines {
protected:
    fake_umad kernel;
};

TEST_P(RdmaAgent, Registration_PassesAttributesToUmad) {
    const open_rdma hca;
    IB_MAD_AGENT_ATTR attr = sa_agent();
    attr.ManagementClass = 0x32;
    attr.ClassVersion = 1;
    attr.Oui[0] = 0x00;
    attr.Oui[1] = 0x14;
    attr.Oui[2] = 0x05;
    attr.MethodMask[0] = 2;
    attr.MethodMask[1] = 4;
    attr.MethodMask[3] = 8;
    const rdma_agent agent(hca.ca, attr);
    ASSERT_EQ(kernel.registered.size(), 1u);
    const umad_reg_attr& wanted = kernel.registered[0];
    EXPECT_EQ(wanted.mgmt_class, 0x32);
    EXPECT_EQ(wanted.mgmt_class_version, 1);
    EXPECT_EQ(wanted.oui, 0x001405u);
    EXPECT_EQ(wanted.method_mask[0], 2u | 4ull << 32);
    EXPECT_EQ(wanted.method_mask[1], 8ull << 32);
    EXPECT_EQ(wanted.flags, static_cast<unsigned>(UMAD_USER_RMPP));
    EXPECT_EQ(wanted.rmpp_version, 1);
}

// Kernels before 3.18 drop segments after the first and refuse the segments that acknowledge them.
TEST_P(RdmaAgent, KernelWithoutUserRmpp_OwnRmppIsNotSupported) {
    for (const int error : {ENOTTY, EINVAL}) {
        kernel.user_rmpp_error = error;
        const open_rdma hca;
        IB_MAD_AGENT_ATTR attr = sa_agent();
        attr.MethodMask[0] = 2;
        EXPECT_EQ(rdma_agent(hca.ca, attr).status, STATUS_NOT_SUPPORTED);
        EXPECT_EQ(kernel.open_files(), 0u);
        attr.Rmpp = IB_MAD_RMPP_BY_DRIVER;
        EXPECT_EQ(rdma_agent(hca.ca, attr).status, STATUS_SUCCESS);
        attr = sa_agent();
        attr.ManagementClass = 4; // without RMPP
        EXPECT_EQ(rdma_agent(hca.ca, attr).status, STATUS_SUCCESS);
    }
}

TEST_P(RdmaAgent, RmppByDriver_UsesKernelRmpp) {
    const open_rdma hca;
    IB_MAD_AGENT_ATTR attr = sa_agent();
    attr.Rmpp = IB_MAD_RMPP_BY_DRIVER;
    const rdma_agent agent(hca.ca, attr);
    ASSERT_EQ(kernel.registered.size(), 1u);
    EXPECT_EQ(kernel.registered[0].flags, 0u);
    EXPECT_EQ(kernel.registered[0].rmpp_version, 1);
}

TEST_P(RdmaAgent, RegistrationError_MappedToStatus) {
    const open_rdma hca;
    const auto status = [&](const IB_MAD_AGENT_ATTR& attr) {
        return name_of(rdma_agent(hca.ca, attr).status);
    };
    IB_MAD_AGENT_ATTR attr = sa_agent();
    attr.MethodMask[0] = 2;
    kernel.register_errors = {EINVAL, EINVAL};
    EXPECT_STREQ(status(attr), "STATUS_SHARING_VIOLATION");
    kernel.register_errors = {ENOMEM};
    EXPECT_STREQ(status(attr), "STATUS_INSUFFICIENT_RESOURCES");
    attr.MethodMask[0] = 0;
    kernel.register_errors = {EINVAL, EINVAL};
    EXPECT_STREQ(status(attr), "STATUS_NOT_SUPPORTED");
    attr.ManagementClass = 4;
    attr.Rmpp = IB_MAD_RMPP_BY_DRIVER;
    EXPECT_STREQ(status(attr), "STATUS_NOT_SUPPORTED");
    attr.ManagementClass = 0x30;
    attr.MethodMask[0] = 2; // requests of any OUI, which the kernel does not know
    EXPECT_STREQ(status(attr), "STATUS_NOT_SUPPORTED");
    attr.MethodMask[0] = 0; // responses are assigned by their transaction
    EXPECT_STREQ(status(attr), "STATUS_SUCCESS");
    kernel.open_error = EACCES;
    EXPECT_STREQ(status(sa_agent()), "STATUS_ACCESS_DENIED");
    kernel.open_error = EMFILE;
    EXPECT_STREQ(status(sa_agent()), "STATUS_INSUFFICIENT_RESOURCES");
    kernel.open_error = 0;
    kernel.has_umad = false;
    EXPECT_STREQ(status(sa_agent()), "STATUS_NOT_SUPPORTED");
}

TEST_P(RdmaAgent, KernelWithoutPKeyIndexes_IsNotSupported) {
    kernel.header_bytes = 56;
    const open_rdma hca;
    EXPECT_EQ(rdma_agent(hca.ca).status, STATUS_NOT_SUPPORTED);
    EXPECT_EQ(kernel.open_files(), 0u);
}

TEST_P(RdmaAgent, SubnetClassOnEthernet_IsNotSupported) {
    kernel.cas["fake0"].ports[0].link_layer = "Ethernet";
    const open_rdma hca;
    IB_MAD_AGENT_ATTR attr = sa_agent();
    attr.ManagementClass = 0x81;
    EXPECT_EQ(rdma_agent(hca.ca, attr).status, STATUS_NOT_SUPPORTED);
}

TEST_P(RdmaAgent, Send_PassesDatagramAndAddressToUmad) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    sa_datagram request(sa_datagram::get, 7, 250);
    request.send.Length = 100;
    request.send.To.ServiceLevel = 2;
    request.send.To.PathBits = 3;
    request.send.To.PKeyIndex = 1;
    request.send.To.Flags = IB_MAD_GRH;
    request.send.To.GidIndex = 1;
    request.send.To.Gid = {0xFE80000000000000, 0x1234};
    request.send.To.FlowLabel = 9;
    request.send.To.HopLimit = 64;
    EXPECT_EQ(agent.send(request.send), STATUS_SUCCESS);
    const std::vector<fake_umad::sent> all = kernel.all_sent();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].datagram, request.bytes); // padded with zeros to the full size
    EXPECT_EQ(all[0].timeout, 250);
    EXPECT_EQ(all[0].retries, 0);
    const ib_mad_addr_t& to = all[0].to;
    EXPECT_EQ(be16toh(to.lid), 1);
    EXPECT_EQ(be32toh(to.qpn), 1u);
    EXPECT_EQ(be32toh(to.qkey), IB_QP1_QKEY);
    EXPECT_EQ(to.sl, 2);
    EXPECT_EQ(to.path_bits, 3);
    EXPECT_EQ(to.pkey_index, 1);
    EXPECT_EQ(to.grh_present, 1);
    EXPECT_EQ(to.gid_index, 1);
    EXPECT_EQ(to.hop_limit, 64);
    EXPECT_EQ(be32toh(to.flow_label), 9u);
    EXPECT_EQ(to.gid[0], 0xFE);
    EXPECT_EQ(to.gid[15], 0x34);
}

TEST_P(RdmaAgent, LongMessage_SentByKernelRmpp) {
    const open_rdma hca;
    IB_MAD_AGENT_ATTR attr = sa_agent();
    attr.Rmpp = IB_MAD_RMPP_BY_DRIVER;
    const rdma_agent agent(hca.ca, attr);
    sa_datagram response(sa_datagram::get_response);
    response.bytes.resize(1000, 0x55);
    response.send.Data = response.bytes.data();
    response.send.Length = 1000;
    EXPECT_EQ(agent.send(response.send), STATUS_SUCCESS);
    response.send.ResponseTimeout = 100;
    EXPECT_EQ(agent.send(response.send), STATUS_SUCCESS);
    const std::vector<fake_umad::sent> all = kernel.all_sent();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].timeout, 0);
    EXPECT_EQ(all[1].timeout, 2001); // the kernel resends no segment earlier
    EXPECT_EQ(all[0].datagram.size(), 1000u);
    EXPECT_EQ(all[0].datagram[24], 1);     // RMPP version
    EXPECT_EQ(all[0].datagram[26] & 1, 1); // active
    EXPECT_GT(all[0].retries, 0);
}

TEST_P(RdmaAgent, InvalidAddress_FailsWithInvalidParameter) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    const auto status = [&](auto change) {
        sa_datagram request(sa_datagram::get);
        change(request);
        return agent.send(request.send);
    };
    EXPECT_EQ(status([](auto& q) { q.bytes[1] = 4; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status([](auto& q) { q.send.To.PKeyIndex = 2; }), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(status([](auto& q) {
                  q.send.To.Flags = IB_MAD_GRH;
                  q.send.To.GidIndex = 2;
              }),
              STATUS_INVALID_PARAMETER);
    EXPECT_TRUE(kernel.all_sent().empty());
}

TEST_P(RdmaAgent, KernelSendError_MappedToStatus) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    const sa_datagram request(sa_datagram::get, 1, 100);
    for (const auto& [error, status] : {std::pair{EINVAL, STATUS_INVALID_PARAMETER},
                                        {ENOMEM, STATUS_INSUFFICIENT_RESOURCES},
                                        {EHOSTUNREACH, STATUS_SUCCESS},
                                        {ETIMEDOUT, STATUS_SUCCESS}}) {
        kernel.send_errors = {error};
        EXPECT_STREQ(name_of(agent.send(request.send)), name_of(status));
    }
    EXPECT_TRUE(kernel.all_sent().empty());
}

// A request is sent again under the same ID while the kernel still waits for the response to the
// first one.
class RepeatedRequests : public RdmaAgent {
protected:
    void ask_twice(const rdma_agent& agent, const sa_datagram& request) {
        EXPECT_EQ(agent.send(request.send), STATUS_SUCCESS);
        EXPECT_EQ(agent.send(request.send), STATUS_SUCCESS);
        EXPECT_EQ(kernel.all_sent().size(), 1u); // the kernel refuses the second
    }
    // Waits until the reader has delivered a later datagram, and so every earlier one.
    void after(const rdma_agent& agent) {
        kernel.deliver(sa_datagram(0x06, 99).message());
        mad_buffer last;
        EXPECT_EQ(verb_call(agent.getting(last.receive)).status(), STATUS_SUCCESS);
        EXPECT_EQ(last.bytes[15], 99);
    }
};

TEST_P(RepeatedRequests, FirstRequestExpires_RepetitionIsSent) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    const sa_datagram request(sa_datagram::get, 7, 100);
    ask_twice(agent, request);
    kernel.expire(request.bytes);
    after(agent);
    ASSERT_EQ(kernel.all_sent().size(), 2u);
    EXPECT_EQ(kernel.all_sent()[1].datagram, request.bytes);
    EXPECT_EQ(kernel.all_sent()[1].timeout, 100);
    kernel.expire(request.bytes); // no further request is held
    after(agent);
    EXPECT_EQ(kernel.all_sent().size(), 2u);
}

TEST_P(RepeatedRequests, FirstRequestCompleted_RepetitionIsDropped) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    const sa_datagram request(sa_datagram::get, 7, 100);
    ask_twice(agent, request);
    kernel.deliver(sa_datagram(sa_datagram::get_response, 7).message());
    mad_buffer into;
    EXPECT_EQ(verb_call(agent.getting(into.receive)).status(), STATUS_SUCCESS);
    EXPECT_EQ(into.bytes[15], 7);
    kernel.send_errors = {EINVAL}; // no request is outstanding, so the refusal is returned
    EXPECT_EQ(agent.send(request.send), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(kernel.all_sent().size(), 1u);
}

// Kernels of 2025 and later limit the number of requests on the wire per agent.
TEST_P(RepeatedRequests, RequestQueuedInKernel_IsSentOnce) {
    kernel.max_in_flight = 2;
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    for (const UCHAR transaction : std::initializer_list<UCHAR>{1, 2, 3, 3})
        EXPECT_EQ(agent.send(sa_datagram(sa_datagram::get, transaction, 100).send), STATUS_SUCCESS);
    EXPECT_EQ(kernel.all_sent().size(), 2u);
    kernel.deliver(sa_datagram(sa_datagram::get_response, 1).message());
    ASSERT_EQ(kernel.all_sent().size(), 3u);
    EXPECT_EQ(kernel.all_sent()[2].datagram[15], 3);
    kernel.deliver(sa_datagram(sa_datagram::get_response, 3).message());
    for (const UCHAR transaction : std::initializer_list<UCHAR>{1, 3}) {
        mad_buffer into;
        EXPECT_EQ(verb_call(agent.getting(into.receive)).status(), STATUS_SUCCESS);
        EXPECT_EQ(into.bytes[15], transaction);
    }
    after(agent);
    EXPECT_EQ(kernel.all_sent().size(), 3u); // the held repetition is dropped
}

// The kernel's RMPP returns an unacknowledged response under the requester's ID.
TEST_P(RepeatedRequests, ResponseReturnedUnderSameId_RepetitionStaysHeld) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    const sa_datagram request(sa_datagram::get, 7, 100);
    ask_twice(agent, request);
    kernel.restore(sa_datagram(sa_datagram::get_response, 7).bytes);
    after(agent);
    EXPECT_EQ(kernel.all_sent().size(), 1u);
    kernel.expire(request.bytes);
    after(agent);
    EXPECT_EQ(kernel.all_sent().size(), 2u);
}

// An allocation fails at each place: the send returns a failure, a held request is lost, and no
// request stays outstanding by mistake.
TEST_P(RepeatedRequests, AllocationFails_RepetitionIsRefusedOrLost) {
    std::set<std::string> short_of;
    int lost = 0;
    dispatch::fault_sweep([&](dispatch::sweep& faults) {
        const open_rdma hca;
        const rdma_agent agent(hca.ca);
        const sa_datagram request(sa_datagram::get, 7, 100);
        const std::size_t before = kernel.all_sent().size();
        std::size_t taken = 0;
        mad_buffer last;
        verb_call reading(agent.getting(last.receive));
        verb_call calls[2];
        {
            const dispatch::fault_plan plan(machine(), faults);
            for (verb_call& each : calls) {
                each.send(agent.sending(request.send));
                if (each.status() == STATUS_INSUFFICIENT_RESOURCES)
                    short_of.insert(dispatch::detail::last_fault(machine())->site);
                else
                    ++taken;
            }
            kernel.expire(request.bytes);
            kernel.deliver(sa_datagram(0x06, 99).message());
            EXPECT_EQ(reading.status(), STATUS_SUCCESS);
        }
        const std::size_t sent = kernel.all_sent().size() - before;
        lost += sent != taken;
        if (sent == 2) kernel.expire(request.bytes);
        after(agent);
        kernel.send_errors = {EINVAL}; // no request is outstanding, so the refusal is returned
        EXPECT_EQ(agent.send(request.send), STATUS_INVALID_PARAMETER);
    });
    EXPECT_EQ(short_of, (std::set<std::string>{"rdma.held_request", "rdma.request"}));
    EXPECT_GE(lost, 1);
}

class AbandonedRequests : public RepeatedRequests {
protected:
    static void pass(LONGLONG milliseconds) {
        LARGE_INTEGER from_now;
        from_now.QuadPart = -milliseconds * 10'000;
        KeDelayExecutionThread(KernelMode, FALSE, &from_now);
    }
};

// The kernel's RMPP abandons some transfers without reporting it.
TEST_P(AbandonedRequests, RequestAbandonedByKernel_SendErrorIsReturned) {
    const open_rdma hca;
    IB_MAD_AGENT_ATTR attr = sa_agent();
    attr.Rmpp = IB_MAD_RMPP_BY_DRIVER;
    const rdma_agent agent(hca.ca, attr);
    const sa_datagram request(sa_datagram::get, 7, 100);
    ask_twice(agent, request);
    kernel.abandon(request.bytes);
    pass(60'000);
    kernel.send_errors = {EINVAL};
    EXPECT_EQ(agent.send(request.send), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(agent.send(request.send), STATUS_SUCCESS);
    EXPECT_EQ(kernel.all_sent().size(), 2u);
}

TEST_P(AbandonedRequests, FourKernelTries_RequestStaysOutstanding) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    const sa_datagram request(sa_datagram::get, 7, 2001);
    ask_twice(agent, request);
    pass(4 * 2001 + 1000);
    EXPECT_EQ(agent.send(request.send), STATUS_SUCCESS); // the send is held
    kernel.expire(request.bytes);
    after(agent);
    EXPECT_EQ(kernel.all_sent().size(), 2u);
}

TEST_P(AbandonedRequests, ManyAbandonedRequests_MemoryIsBounded) {
    hca_rdma::outstanding_requests requests;
    for (std::uint32_t transaction = 0; transaction < 5000; ++transaction) {
        bool again = true;
        EXPECT_EQ(requests.begin(transaction, 100, again), 0);
        EXPECT_FALSE(again);
        pass(10);
        EXPECT_LE(requests.size(), 400u); // twice the sends of the last 1.8 s
    }
}

TEST_P(RdmaAgent, Receive_ReturnsSenderAddress) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    fake_umad::message came = sa_datagram(sa_datagram::get_response, 7).message();
    came.from.lid = htobe16(9);
    came.from.sl = 2;
    came.from.path_bits = 1;
    came.from.pkey_index = 1;
    came.from.grh_present = 1;
    came.from.gid_index = 1;
    came.from.hop_limit = 3;
    came.from.gid[15] = 0x77;
    kernel.deliver(came);
    mad_buffer into;
    EXPECT_EQ(verb_call(agent.getting(into.receive)).status(), STATUS_SUCCESS);
    const IB_MAD_ADDRESS& from = into.receive.From;
    EXPECT_EQ(into.bytes, came.datagram);
    EXPECT_EQ(from.Lid, 9);
    EXPECT_EQ(from.Qp, 1u);
    EXPECT_EQ(from.QKey, IB_QP1_QKEY);
    EXPECT_EQ(from.ServiceLevel, 2);
    EXPECT_EQ(from.PathBits, 1);
    EXPECT_EQ(from.PKeyIndex, 1);
    EXPECT_EQ(from.Flags, IB_MAD_GRH);
    EXPECT_EQ(from.GidIndex, 1);
    EXPECT_EQ(from.HopLimit, 3);
    EXPECT_EQ(from.Gid.gid_guid, 0x77u);
}

// The reactor needs more than one call to read, and one datagram exceeds any earlier buffer.
TEST_P(RdmaAgent, ManyDatagrams_AllAreRead) {
    const open_rdma hca;
    IB_MAD_AGENT_ATTR attr = sa_agent();
    attr.ReceiveLimit = 1000;
    const rdma_agent agent(hca.ca, attr);
    constexpr int count = 200;
    for (int i = 0; i < count; ++i) {
        fake_umad::message came = sa_datagram(0x06, static_cast<UCHAR>(i)).message();
        if (i == count / 2) came.datagram.resize(100'000);
        kernel.deliver(came);
    }
    kernel.change([](fake_umad& all) { all.receive_errors = {EINTR, EAGAIN, EINTR}; });
    kernel.deliver(sa_datagram(0x06, count).message());
    for (int i = 0; i <= count; ++i) {
        mad_buffer into(100'000);
        EXPECT_EQ(verb_call(agent.getting(into.receive)).status(), STATUS_SUCCESS);
        EXPECT_EQ(into.bytes[15], i);
        EXPECT_EQ(into.receive.Length, i == count / 2 ? 100'000u : IB_MAD_SIZE);
    }
}

TEST_P(RdmaAgent, MessageShorterThanItsHeader_IsDropped) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    fake_umad::message cut = sa_datagram(0x06, 6).message();
    cut.is_cut = true;
    kernel.deliver(cut);
    kernel.deliver(sa_datagram(0x06, 7).message());
    mad_buffer into;
    EXPECT_EQ(verb_call(agent.getting(into.receive)).status(), STATUS_SUCCESS);
    EXPECT_EQ(into.bytes[15], 7);
}

// A read error of one agent that ends after a while does not fail the HCA.
TEST_P(RdmaAgent, Receive_ThatFailsForAWhile_IsTriedAgain) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    kernel.change([](fake_umad& all) {
        all.receive_errors = {ENOMEM, ENOMEM, ENOBUFS, EINVAL, EFAULT};
    });
    kernel.deliver(sa_datagram(0x06, 7).message());
    mad_buffer into;
    EXPECT_EQ(verb_call(agent.getting(into.receive)).status(), STATUS_SUCCESS);
    EXPECT_EQ(into.bytes[15], 7);
    EXPECT_EQ(HcaIsFailed(rdma_hcas::fdo()), FALSE);
}

TEST_P(RdmaAgent, DeregistrationInUpCall_Completes) {
    const open_rdma hca;
    struct ending {
        std::unique_ptr<verb_call> call;
        KEVENT begun;
    } reported;
    KeInitializeEvent(&reported.begun, NotificationEvent, FALSE);
    const IB_MAD_DISPATCH calls{[](IB_MAD_AGENT* agent, void* context, const IB_MAD_RECEIVED*) {
        auto& self = *static_cast<ending*>(context);
        self.call =
            std::make_unique<verb_call>([&](IRP* irp) { return CiDeregisterMadAgent(agent, irp); });
        KeSetEvent(&self.begun, IO_NO_INCREMENT, FALSE);
    }};
    rdma_agent agent(hca.ca, sa_agent(), &calls, &reported);
    kernel.deliver(sa_datagram(0x06).message());
    KeWaitForSingleObject(&reported.begun, Executive, KernelMode, FALSE, nullptr);
    EXPECT_EQ(reported.call->status(), STATUS_SUCCESS);
    agent.agent = nullptr;
    EXPECT_EQ(kernel.open_files(), 0u);
}

TEST_P(RdmaAgent, SendAtAnyLevel_CompletesInline) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    const sa_datagram request(sa_datagram::get);
    std::unique_ptr<verb_call> send;
    {
        const at_dispatch_level raised;
        send = std::make_unique<verb_call>(agent.sending(request.send));
    }
    EXPECT_EQ(send->returned(), STATUS_SUCCESS);
    EXPECT_EQ(verb_call(agent.sending(request.send)).returned(), STATUS_SUCCESS);
    EXPECT_EQ(kernel.all_sent().size(), 2u);
}

// A send for which the kernel may resolve a neighbour does not block the caller.
TEST_P(RdmaAgent, SendOnEthernet_PendsForWorkItem) {
    kernel.cas["fake0"].ports[0].link_layer = "Ethernet";
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    sa_datagram request(sa_datagram::get);
    EXPECT_EQ(verb_call(agent.sending(request.send)).status(), STATUS_INVALID_PARAMETER);
    request.send.To.Flags = IB_MAD_GRH; // always present in a RoCE packet
    EXPECT_EQ(verb_call(agent.sending(request.send)).returned(), STATUS_PENDING);
}

// The kernel refuses a send while the previous one of the same transaction is still in its queue.
TEST_P(RdmaAgent, SendOnEthernetRefusedByKernel_IsRetried) {
    kernel.cas["fake0"].ports[0].link_layer = "Ethernet";
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    sa_datagram datagram(sa_datagram::get);
    datagram.send.To.Flags = IB_MAD_GRH;
    kernel.send_errors = {EINVAL, EINVAL};
    EXPECT_EQ(agent.send(datagram.send), STATUS_SUCCESS);
    EXPECT_EQ(kernel.all_sent().size(), 1u);
    kernel.send_errors.assign(1000, EINVAL); // EINVAL because the send itself is wrong
    EXPECT_EQ(agent.send(datagram.send), STATUS_INVALID_PARAMETER);
    EXPECT_EQ(kernel.all_sent().size(), 1u);
}

TEST_P(RdmaAgent, DeviceRemoved_RaisesOneFatalEvent) {
    struct event_log {
        KEVENT event;
        int count;
    } reported{};
    KeInitializeEvent(&reported.event, NotificationEvent, FALSE);
    const IB_CA_DISPATCH calls{[](IB_CA*, void* context) {
                                   auto& all = *static_cast<event_log*>(context);
                                   ++all.count;
                                   KeSetEvent(&all.event, IO_NO_INCREMENT, FALSE);
                               },
                               nullptr};
    const open_rdma hca;
    IB_CA* listening = open_ca(rdma_hcas::fdo(), &calls, &reported);
    {
        const rdma_agent one(hca.ca);
        const rdma_agent two(hca.ca);
        mad_buffer into;
        verb_call waiting(one.getting(into.receive));
        kernel.remove("fake0");
        KeWaitForSingleObject(&reported.event, Executive, KernelMode, FALSE, nullptr);
        const sa_datagram request(sa_datagram::get);
        EXPECT_EQ(two.send(request.send), STATUS_FILE_FORCED_CLOSED);
        EXPECT_EQ(rdma_agent(hca.ca).status, STATUS_FILE_FORCED_CLOSED);
        waiting.cancel();
    }
    EXPECT_EQ(close_ca(listening), STATUS_SUCCESS);
    EXPECT_EQ(reported.count, 1);
    EXPECT_EQ(kernel.open_files(), 0u);
}

TEST_P(RdmaAgent, SendAfterDeviceRemoval_RaisesFatalEvent) {
    const open_rdma hca;
    const rdma_agent agent(hca.ca);
    kernel.send_errors = {ENODEV};
    const sa_datagram request(sa_datagram::get);
    EXPECT_EQ(agent.send(request.send), STATUS_FILE_FORCED_CLOSED);
    EXPECT_EQ(verb_call([&](IRP* irp) { return CiGetCaFatalEvent(hca.ca, irp); }).status(),
              STATUS_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(RdmaAgent);
IRPVERBS_ON_BOTH_MACHINES(RepeatedRequests);
IRPVERBS_ON_THE_SIMULATED_MACHINE(AbandonedRequests);

} // namespace
