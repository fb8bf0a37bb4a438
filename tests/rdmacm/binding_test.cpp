// Ids, their addresses and options.
#include "ids.hpp"

#include <optional>

namespace {

using namespace irpverbs::testing;

TEST(RdmaBinding, AddressOfAPort_BindsTheDevice) {
    channel events;
    const id bound(events);
    EXPECT_EQ(bound->verbs, nullptr);
    EXPECT_EQ(bound.bind(address(second_host, 1234)), 0);
    EXPECT_NE(bound->verbs, nullptr);
    EXPECT_NE(bound->pd, nullptr);
    EXPECT_EQ(bound->port_num, 1);
    EXPECT_EQ(ntohs(rdma_get_src_port(bound)), 1234);
    EXPECT_EQ(bound.bind(address(second_host)), -1) << "it is bound";
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaBinding, AnyAddress_BindsNoDevice) {
    channel events;
    for (const char* any : {"0.0.0.0", "::"}) {
        const id bound(events);
        EXPECT_EQ(bound.bind(address(any)), 0);
        EXPECT_EQ(bound->verbs, nullptr);
        EXPECT_NE(rdma_get_src_port(bound), 0) << "a free number";
    }
}

TEST(RdmaBinding, AddressOfNoPort_IsNotAvailable) {
    channel events;
    const id bound(events);
    for (const char* foreign : {"198.18.0.99", "10.0.0.1", "fe80::1"}) {
        EXPECT_EQ(bound.bind(address(foreign)), -1);
        EXPECT_EQ(errno, EADDRNOTAVAIL);
    }
    sockaddr other{};
    other.sa_family = AF_UNIX;
    EXPECT_EQ(rdma_bind_addr(bound, &other), -1);
    EXPECT_EQ(errno, EAFNOSUPPORT);
}

TEST(RdmaBinding, NumberInUse_OnlyForOtherAddressesAndSpaces) {
    channel events;
    const id first(events);
    EXPECT_EQ(first.bind(address(first_host, 77)), 0);
    const id again(events);
    EXPECT_EQ(again.bind(address(first_host, 77)), -1);
    EXPECT_EQ(errno, EADDRINUSE);
    EXPECT_EQ(again.bind(address("0.0.0.0", 77)), -1);
    EXPECT_EQ(errno, EADDRNOTAVAIL);
    EXPECT_EQ(again.bind(address(second_host, 77)), 0);
    const id datagrams(events, RDMA_PS_UDP);
    EXPECT_EQ(datagrams.bind(address(first_host, 77)), 0);
}

TEST(RdmaBinding, ReuseOfAddresses_AllowsTheSameNumber) {
    channel events;
    int yes = 1;
    const id first(events);
    const id second(events);
    for (rdma_cm_id* each : {static_cast<rdma_cm_id*>(first), static_cast<rdma_cm_id*>(second)})
        EXPECT_EQ(rdma_set_option(each, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes, sizeof yes),
                  0);
    EXPECT_EQ(first.bind(address(first_host, 78)), 0);
    EXPECT_EQ(second.bind(address(first_host, 78)), 0);
}

TEST(RdmaBinding, Listener_SharesItsNumberNoMore) {
    channel events;
    int yes = 1;
    std::optional<id> first(std::in_place, events);
    const id second(events);
    for (rdma_cm_id* each : {static_cast<rdma_cm_id*>(*first), static_cast<rdma_cm_id*>(second)}) {
        EXPECT_EQ(rdma_set_option(each, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes, sizeof yes),
                  0);
        EXPECT_EQ(rdma_bind_addr(each, address(first_host, 81)), 0);
    }
    EXPECT_EQ(rdma_listen(second, 1), -1);
    EXPECT_EQ(errno, EADDRINUSE);
    first.reset();
    EXPECT_EQ(rdma_listen(second, 1), 0);
    const id third(events);
    EXPECT_EQ(rdma_set_option(third, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes, sizeof yes),
              0);
    EXPECT_EQ(third.bind(address(first_host, 81)), -1);
    EXPECT_EQ(errno, EADDRINUSE);
}

TEST(RdmaBinding, FamiliesOfAnyAddress_ShareANumberWhenEachIsAlone) {
    channel events;
    int yes = 1;
    const id four(events);
    EXPECT_EQ(four.bind(address("0.0.0.0", 80)), 0);
    const id both(events);
    EXPECT_EQ(both.bind(address("::", 80)), -1) << "it includes the other family";
    EXPECT_EQ(errno, EADDRNOTAVAIL);
    const id six(events);
    EXPECT_EQ(rdma_set_option(six, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &yes, sizeof yes), 0);
    EXPECT_EQ(six.bind(address("::", 80)), 0);
}

TEST(RdmaBinding, DestroyedId_FreesItsNumber) {
    channel events;
    for (int i = 0; i < 2; ++i) {
        const id bound(events);
        EXPECT_EQ(bound.bind(address(first_host, 79)), 0);
    }
}

TEST(RdmaBinding, Options_HaveSizesAndRanges) {
    channel events;
    const id any(events);
    std::uint8_t byte = 14;
    int number = 1;
    EXPECT_EQ(rdma_set_option(any, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, sizeof byte), 0);
    EXPECT_EQ(rdma_set_option(any, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &number, sizeof number),
              0);
    EXPECT_EQ(rdma_set_option(any, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, sizeof byte),
              0);
    EXPECT_EQ(rdma_set_option(any, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &number, sizeof number), -1);
    EXPECT_EQ(errno, EINVAL);
    byte = 32;
    EXPECT_EQ(rdma_set_option(any, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, sizeof byte),
              -1);
    EXPECT_EQ(rdma_set_option(any, RDMA_OPTION_ID, 99, &byte, sizeof byte), -1);
    EXPECT_EQ(errno, ENOSYS);
}

TEST(RdmaBinding, Devices_AreThoseOfTheProgram) {
    int count = 0;
    ibv_context** const all = rdma_get_devices(&count);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(count, 2);
    EXPECT_STREQ(all[1]->device->name, "irpverbs1");
    EXPECT_EQ(all[2], nullptr);
    rdma_free_devices(all);
}

TEST(RdmaBinding, OperationsInAWrongState_AreRefused) {
    channel events;
    const id fresh(events);
    EXPECT_EQ(rdma_resolve_route(fresh, 1000), -1);
    EXPECT_EQ(rdma_connect(fresh, nullptr), -1);
    EXPECT_EQ(rdma_accept(fresh, nullptr), -1);
    EXPECT_EQ(rdma_reject(fresh, nullptr, 0), -1);
    EXPECT_EQ(rdma_disconnect(fresh), -1);
    EXPECT_EQ(rdma_establish(fresh), -1);
    ibv_qp_attr attr{};
    int mask = 0;
    EXPECT_EQ(rdma_init_qp_attr(fresh, &attr, &mask), -1);
    ibv_qp_init_attr init{};
    EXPECT_EQ(rdma_create_qp(fresh, nullptr, &init), -1);
    EXPECT_EQ(errno, EINVAL);
}

TEST(RdmaBinding, SharedReceives_BelongToTheId) {
    channel events;
    const id bound(events);
    ASSERT_EQ(bound.bind(address(first_host)), 0);
    ibv_srq_init_attr attr{nullptr, {8, 1, 0}};
    EXPECT_EQ(rdma_create_srq(bound, nullptr, &attr), 0);
    EXPECT_NE(bound->srq, nullptr);
    EXPECT_EQ(rdma_create_srq(bound, nullptr, &attr), -1);
    rdma_destroy_srq(bound);
    EXPECT_EQ(bound->srq, nullptr);
    ibv_srq_init_attr_ex extended{};
    extended.attr = {8, 1, 0};
    EXPECT_EQ(rdma_create_srq_ex(bound, &extended), 0);
    rdma_destroy_srq(bound);
}

TEST(RdmaBinding, QueuePair_ReceivesFromTheIdsSharedReceives) {
    channel events;
    const id bound(events);
    ASSERT_EQ(bound.bind(address(first_host)), 0);
    ibv_srq_init_attr attr{nullptr, {8, 1, 0}};
    ASSERT_EQ(rdma_create_srq(bound, nullptr, &attr), 0);
    bound.create_qp();
    EXPECT_EQ(bound->qp->srq, bound->srq);
    rdma_destroy_qp(bound);
    rdma_destroy_srq(bound);
}

TEST(RdmaBinding, QueuePair_CompletesIntoTheIdsQueues) {
    channel events;
    const id bound(events);
    ASSERT_EQ(bound.bind(address(first_host)), 0);
    ibv_cq* const own = ibv_create_cq(bound->verbs, 8, nullptr, nullptr, 0);
    ibv_cq* const other = ibv_create_cq(bound->verbs, 8, nullptr, nullptr, 0);
    bound->send_cq = bound->recv_cq = own;
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.cap = {2, 2, 1, 1, 0};
    attr.send_cq = other;
    EXPECT_EQ(rdma_create_qp(bound, nullptr, &attr), -1) << "the id has another one";
    EXPECT_EQ(errno, EINVAL);
    attr.send_cq = nullptr;
    ASSERT_EQ(rdma_create_qp(bound, nullptr, &attr), 0);
    EXPECT_EQ(bound->qp->send_cq, own);
    EXPECT_EQ(bound->qp->recv_cq, own);
    rdma_destroy_qp(bound);
    EXPECT_EQ(ibv_destroy_cq(own), 0) << "it is the program's";
    EXPECT_EQ(ibv_destroy_cq(other), 0);
}

TEST(RdmaBinding, ExtendedQueuePair_IsTheIds) {
    channel events;
    const id bound(events);
    ASSERT_EQ(bound.bind(address(first_host)), 0);
    ibv_qp_init_attr_ex attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.cap = {2, 2, 1, 1, 0};
    attr.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
    ASSERT_EQ(rdma_create_qp_ex(bound, &attr), 0);
    EXPECT_EQ(bound->qp->state, IBV_QPS_INIT);
    EXPECT_NE(ibv_qp_to_qp_ex(bound->qp), nullptr);
}

} // namespace
