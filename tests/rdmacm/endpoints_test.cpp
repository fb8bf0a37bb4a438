// Synchronous ids, endpoints and services of datagrams.
#include "ids.hpp"

#include <netdb.h>

#include <thread>

namespace {

using namespace irpverbs::testing;

/// Addresses of rdma_getaddrinfo.
class resolved {
public:
    resolved(const char* node, const char* service, int flags, int qp_type = IBV_QPT_RC) {
        rdma_addrinfo hints{};
        hints.ai_flags = flags;
        hints.ai_qp_type = qp_type;
        EXPECT_EQ(rdma_getaddrinfo(node, service, &hints, &info_), 0);
    }
    ~resolved() { rdma_freeaddrinfo(info_); }
    resolved(const resolved&) = delete;
    resolved& operator=(const resolved&) = delete;
    rdma_addrinfo* operator->() const { return info_; }
    operator rdma_addrinfo*() const { return info_; }

private:
    rdma_addrinfo* info_ = nullptr;
};

ibv_qp_init_attr small_qp() {
    ibv_qp_init_attr made{};
    made.cap = {4, 4, 1, 1, 0};
    return made;
}

/// An endpoint, destroyed at the end of the scope.
class endpoint {
public:
    endpoint() = default;
    explicit endpoint(rdma_addrinfo* at) {
        ibv_qp_init_attr attr = small_qp();
        EXPECT_EQ(rdma_create_ep(&made, at, nullptr, &attr), 0);
    }
    ~endpoint() {
        if (made != nullptr) rdma_destroy_ep(made);
    }
    endpoint(const endpoint&) = delete;
    endpoint& operator=(const endpoint&) = delete;

    rdma_cm_id* made = nullptr;
};

TEST(RdmaEndpoints, GetRequestAndConnect_WaitForEachOther) {
    const endpoint listener(resolved(first_host, "7000", RAI_PASSIVE));
    ASSERT_EQ(rdma_listen(listener.made, 0), 0);
    std::thread server([&] {
        endpoint passive;
        ASSERT_EQ(rdma_get_request(listener.made, &passive.made), 0);
        EXPECT_NE(passive.made->qp, nullptr);
        message received(passive.made);
        received.receive(passive.made);
        ASSERT_EQ(rdma_accept(passive.made, nullptr), 0);
        ibv_wc wc{};
        EXPECT_EQ(rdma_get_recv_comp(passive.made, &wc), 1);
        EXPECT_STREQ(received.bytes.data(), "synchronous");
        EXPECT_EQ(rdma_disconnect(passive.made), 0);
    });
    {
        const endpoint active(resolved(first_host, "7000", 0));
        EXPECT_EQ(rdma_connect(active.made, nullptr), 0);
        message sent(active.made);
        sent.send(active.made, "synchronous");
        ibv_wc wc{};
        EXPECT_EQ(rdma_get_send_comp(active.made, &wc), 1);
        server.join();
        EXPECT_EQ(rdma_disconnect(active.made), 0);
    }
}

TEST(RdmaEndpoints, RejectedConnect_IsAnErrorNumber) {
    const endpoint active(resolved(first_host, "7001", 0));
    const endpoint listener(resolved(first_host, "7002", RAI_PASSIVE));
    ASSERT_EQ(rdma_listen(listener.made, 0), 0); // another service
    EXPECT_EQ(rdma_connect(active.made, nullptr), -1);
    EXPECT_EQ(errno, ECONNREFUSED);
}

TEST(RdmaEndpoints, UnknownAddress_IsAnErrorNumber) {
    rdma_cm_id* made = nullptr;
    EXPECT_EQ(rdma_create_ep(&made, resolved("198.18.99.1", "1", 0), nullptr, nullptr), -1);
    EXPECT_EQ(errno, EHOSTUNREACH);
}

TEST(RdmaEndpoints, IdWithAChannel_GetsNoRequestsByCalls) {
    channel events;
    const id listener(events);
    rdma_cm_id* made = nullptr;
    EXPECT_EQ(rdma_get_request(listener, &made), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaEndpoints, AddressInfo_FillsPortSpaceAndType) {
    const resolved datagrams("198.18.0.1", "80", RAI_NUMERICHOST, IBV_QPT_UD);
    EXPECT_EQ(datagrams->ai_port_space, RDMA_PS_UDP);
    EXPECT_EQ(datagrams->ai_dst_addr->sa_family, AF_INET);
    EXPECT_EQ(datagrams->ai_src_addr, nullptr);
    const resolved passive("fe80::200:0:0:101", "80", RAI_PASSIVE);
    EXPECT_EQ(passive->ai_port_space, RDMA_PS_TCP);
    EXPECT_EQ(passive->ai_src_addr->sa_family, AF_INET6);
    EXPECT_EQ(passive->ai_dst_addr, nullptr);
    rdma_addrinfo* none = nullptr;
    EXPECT_EQ(rdma_getaddrinfo(nullptr, nullptr, nullptr, &none), EAI_NONAME);
}

TEST(RdmaAddresses, HintsWithoutAName_AreTheResult) {
    address wanted(second_host, 7);
    rdma_addrinfo hints{};
    hints.ai_port_space = RDMA_PS_UDP;
    hints.ai_src_addr = wanted;
    hints.ai_src_len = sizeof(sockaddr_in);
    rdma_addrinfo* found = nullptr;
    ASSERT_EQ(rdma_getaddrinfo(nullptr, nullptr, &hints, &found), 0);
    EXPECT_EQ(found->ai_family, AF_INET);
    EXPECT_EQ(found->ai_qp_type, IBV_QPT_UD);
    EXPECT_EQ(found->ai_src_len, sizeof(sockaddr_in));
    EXPECT_EQ(std::memcmp(found->ai_src_addr, hints.ai_src_addr, sizeof(sockaddr_in)), 0);
    EXPECT_EQ(found->ai_dst_addr, nullptr);
    rdma_freeaddrinfo(found);
}

TEST(RdmaDatagrams, ServiceIsResolved_ToItsQueuePair) {
    two_ids ends(RDMA_PS_UDP);
    const id passive(ends.request("who serves"));
    passive.create_qp();
    EXPECT_EQ(passive->qp->state, IBV_QPS_RTS);
    rdma_conn_param param = with_data("this one");
    EXPECT_EQ(rdma_accept(passive, &param), 0);
    const taken_event found(ends.client);
    EXPECT_EQ(found.name(), "RDMA_CM_EVENT_ESTABLISHED");
    const rdma_ud_param& ud = found->param.ud;
    EXPECT_EQ(ud.qp_num, passive->qp->qp_num);
    EXPECT_EQ(ud.qkey, unsigned{RDMA_UDP_QKEY});
    EXPECT_EQ(ud.ah_attr.dlid, 1);
    EXPECT_STREQ(static_cast<const char*>(ud.private_data), "this one");
}

TEST(RdmaDatagrams, Disconnect_StopsTheQueuePair) {
    two_ids ends(RDMA_PS_UDP);
    const id passive(ends.request());
    passive.create_qp();
    EXPECT_EQ(rdma_accept(passive, nullptr), 0);
    EXPECT_EQ(ends.client.next(), "RDMA_CM_EVENT_ESTABLISHED");
    for (rdma_cm_id* each :
         {static_cast<rdma_cm_id*>(ends.active), static_cast<rdma_cm_id*>(passive)}) {
        EXPECT_EQ(rdma_disconnect(each), 0);
        EXPECT_EQ(each->qp->state, IBV_QPS_ERR);
    }
    EXPECT_FALSE(ends.client.is_readable()) << "there is no connection whose end is reported";
}

TEST(RdmaDatagrams, RejectedResolution_IsUnreachable) {
    two_ids ends(RDMA_PS_UDP);
    const id passive(ends.request());
    EXPECT_EQ(rdma_reject(passive, nullptr, 0), 0);
    const taken_event failed(ends.client);
    EXPECT_EQ(failed.name(), "RDMA_CM_EVENT_UNREACHABLE");
    EXPECT_NE(failed->status, 0);
}

} // namespace
