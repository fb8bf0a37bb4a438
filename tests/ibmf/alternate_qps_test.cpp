// Queue pairs of a client's own, between hosts of the software fabric: messages of the three kinds,
// keys, callbacks, and the ends of sends.
#include "alternate_qps.hpp"

#include <hca/software.h>

#include <support/both_machines.hpp>
#include <support/explore_gtest.hpp>

#include <boost/endian/conversion.hpp>

#include <algorithm>

namespace {

using namespace irpverbs::testing;
namespace ibmf = irpverbs::ibmf;

constexpr std::uint8_t vendor_class = 0x0A;     // without RMPP header
constexpr std::uint8_t vendor_with_rmpp = 0x32; // and with an OUI

class AlternateQps : public BothMachines {
protected:
    two_hosts here;
};

// The MADs may be of any class: the client's class does not matter.
TEST_P(AlternateQps, MadOfAnyClass_ReceivesResponse) {
    qp_echo peer(here.client(1), IBMF_ALT_QP_MAD_NO_RMPP);
    const client_scope it(here.client(0, PERF_MANAGER));
    const qp_scope qp(it.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    for (const int each : {MAD_MGMT_CLASS_PERF, int{vendor_class}, MAD_MGMT_CLASS_SUBN_LID_ROUTED,
                           MAD_MGMT_CLASS_SUBN_DIRECT_ROUTE, int{vendor_with_rmpp}}) {
        test_message msg(it.handle, {static_cast<std::uint8_t>(each), MAD_METHOD_GET, 77});
        address(msg.ibmf_msg, here.lids[1], peer.qp.its);
        msg.qp = qp.handle;
        EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS) << each;
        EXPECT_EQ(msg.received_header().method, MAD_METHOD_GET | MAD_RESPONSE_BIT);
        EXPECT_EQ(msg.received_header().transaction_id, 77u);
        EXPECT_TRUE(std::ranges::equal(msg.received().first(64), msg.data()));
        EXPECT_EQ(peer.last_from.ia_remote_lid, here.lids[0]);
        EXPECT_EQ(peer.last_from.ia_remote_qno, qp.its.number);
        EXPECT_EQ(peer.last_from.ia_q_key, common_qkey);
    }
    EXPECT_EQ(peer.requests_received, 5);
}

TEST_P(AlternateQps, RmppTransfer_CompletesInBothDirections) {
    const qp_echo peer(here.client(1), IBMF_ALT_QP_MAD_RMPP);
    const client_scope it(here.client(0)); // without IBMF_REG_FLAG_RMPP: the QP's kind decides
    const qp_scope qp(it.handle, IBMF_ALT_QP_MAD_RMPP);
    test_message msg(it.handle, {vendor_with_rmpp, MAD_METHOD_GET, 5, 0, 10'000});
    address(msg.ibmf_msg, here.lids[1], peer.qp.its);
    msg.qp = qp.handle;
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ | IBMF_MSG_TRANS_FLAG_RMPP, patient),
              IBMF_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(msg.received(), msg.data()));
    EXPECT_EQ(msg.received_header().transaction_id, 5u);
}

// Defect D4: raw datagrams have no header, and IBMF must not read one.
TEST_P(AlternateQps, RawDatagram_HasBytesAndNoHeader) {
    const client_scope receiver(here.client(1));
    const qp_scope into(receiver.handle, IBMF_ALT_QP_RAW_ONLY);
    qp_inbox inbox(into);
    const client_scope sender(here.client(0));
    const qp_scope from(sender.handle, IBMF_ALT_QP_RAW_ONLY);
    for (const std::size_t size : {1u, 255u, 256u, 4096u}) {
        raw_message msg(sender.handle, size);
        address(msg.ibmf_msg, here.lids[1], into.its);
        EXPECT_EQ(msg.send(from.handle), IBMF_SUCCESS);
        const qp_inbox::received_message got = inbox.next();
        EXPECT_FALSE(got.has_header);
        EXPECT_EQ(got.data, msg.bytes());
        EXPECT_EQ(got.from.ia_remote_qno, from.its.number);
    }
    raw_message longer(sender.handle, 4097);
    address(longer.ibmf_msg, here.lids[1], into.its);
    EXPECT_EQ(longer.send(from.handle), IBMF_BAD_SIZE);
}

TEST_P(AlternateQps, RawDatagram_ResponseLeavesFromReceiveBuffer) {
    const qp_echo peer(here.client(1), IBMF_ALT_QP_RAW_ONLY);
    const client_scope it(here.client(0));
    const qp_scope qp(it.handle, IBMF_ALT_QP_RAW_ONLY);
    qp_inbox inbox(qp);
    raw_message msg(it.handle, 1000);
    address(msg.ibmf_msg, here.lids[1], peer.qp.its);
    EXPECT_EQ(msg.send(qp.handle), IBMF_SUCCESS);
    EXPECT_EQ(inbox.next().data, msg.bytes());
}

TEST_P(AlternateQps, InvalidSend_IsRefused) {
    const client_scope it(here.client(0));
    const client_scope other(here.client(0));
    const qp_scope plain(it.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    const qp_scope rmpp(it.handle, IBMF_ALT_QP_MAD_RMPP);
    const qp_scope raw(it.handle, IBMF_ALT_QP_RAW_ONLY);
    const qp_scope others(other.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    test_message msg(it.handle, {vendor_with_rmpp, MAD_METHOD_SEND});
    address(msg.ibmf_msg, here.lids[1], plain.its);
    const auto by = [&](ibmf_qp_handle_t qp, uint_t flags = 0) {
        msg.qp = qp;
        return msg.send_and_wait(flags);
    };
    EXPECT_EQ(by(plain.handle), IBMF_SUCCESS);
    EXPECT_EQ(by(rmpp.handle), IBMF_SUCCESS); // it has the header, and need not use it
    EXPECT_EQ(by(IBMF_QP_HANDLE_DEFAULT), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(by(others.handle), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(by(plain.handle, IBMF_MSG_TRANS_FLAG_RMPP), IBMF_BAD_RMPP_OPT);
    msg.ibmf_msg->im_local_addr.ia_q_key = 5;
    EXPECT_EQ(by(plain.handle), IBMF_BAD_QP_HANDLE);
    msg.ibmf_msg->im_local_addr.ia_q_key = common_qkey;
    msg.ibmf_msg->im_local_addr.ia_p_key = 0x8123;
    EXPECT_EQ(by(plain.handle), IBMF_BAD_QP_HANDLE);
    msg.ibmf_msg->im_local_addr.ia_p_key = IB_PKEY_DEFAULT_LIMITED;
    EXPECT_EQ(by(plain.handle), IBMF_SUCCESS);
    msg.ibmf_msg->im_msgbufs_send.im_bufs_mad_hdr = nullptr;
    EXPECT_EQ(by(plain.handle), IBMF_BAD_SIZE);
    raw_message bytes(it.handle, 10);
    address(bytes.ibmf_msg, here.lids[1], raw.its);
    EXPECT_EQ(bytes.send(raw.handle, IBMF_MSG_TRANS_FLAG_RMPP), IBMF_BAD_RMPP_OPT);
    EXPECT_EQ(bytes.send(raw.handle, IBMF_MSG_TRANS_FLAG_SEQ), IBMF_REQ_INVALID);
    bytes.ibmf_msg->im_msgbufs_send.im_bufs_cl_data_len = 0;
    EXPECT_EQ(bytes.send(raw.handle), IBMF_BAD_SIZE);
}

// An SMP would go through QP0.
TEST_P(AlternateQps, PortDown_SendOfAnyClassFails) {
    const client_scope it(here.client(0));
    const qp_scope qp(it.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    test_message msg(it.handle, {MAD_MGMT_CLASS_SUBN_LID_ROUTED, MAD_METHOD_SEND});
    address(msg.ibmf_msg, here.lids[1], qp.its);
    msg.qp = qp.handle;
    EXPECT_EQ(HcaSoftwareSetLink(here.guids[0], 1, FALSE), STATUS_SUCCESS);
    EXPECT_EQ(msg.send_and_wait(0), IBMF_BAD_PORT_STATE);
}

TEST_P(AlternateQps, UniversalClassClients_HaveNoDefaultQp) {
    ibmf_register_info_t info = here.client(0);
    ibmf_handle_t handle = nullptr;
    ibmf_impl_caps_t caps{};
    const client_scope first(info);
    const client_scope second(info);
    ASSERT_EQ(ibmf_register(&info, IBMF_VERSION, 0, nullptr, nullptr, &handle, &caps),
              IBMF_SUCCESS);
    EXPECT_EQ(caps, IBMF_DEF_QP_HDL_P_KEY_ANY | IBMF_DEF_QP_HDL_Q_KEY_ANY);
    EXPECT_NE(first.handle, second.handle);
    const auto call = [](ibmf_handle_t, ibmf_msg_t*, void*) {};
    EXPECT_EQ(ibmf_setup_async_cb(handle, IBMF_QP_HANDLE_DEFAULT, call, nullptr, 0),
              IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_tear_down_async_cb(handle, IBMF_QP_HANDLE_DEFAULT, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_unregister(&handle, 0), IBMF_SUCCESS);
}

TEST_P(AlternateQps, InvalidArguments_AreRefused) {
    const client_scope it(here.client(0, PERF_MANAGER));
    ibmf_qp_handle_t qp = nullptr;
    const auto alloc = [&](ib_pkey_t key, uint_t flags) {
        return ibmf_alloc_qp(it.handle, key, common_qkey, flags, &qp);
    };
    EXPECT_EQ(alloc(0x8000, IBMF_ALT_QP_RAW_ONLY), IBMF_INVALID_ARG);
    EXPECT_EQ(alloc(0x8123, IBMF_ALT_QP_RAW_ONLY), IBMF_INVALID_ARG); // the port has no such P_Key
    EXPECT_EQ(alloc(0xFFFF, IBMF_ALT_QP_MAD_RMPP | IBMF_ALT_QP_RAW_ONLY), IBMF_BAD_FLAGS);
    ASSERT_EQ(alloc(0x7FFF, IBMF_ALT_QP_MAD_RMPP), IBMF_SUCCESS);
    uint_t number = 0;
    ib_pkey_t p_key = 0;
    ib_qkey_t q_key = 0;
    std::uint8_t port = 0;
    EXPECT_EQ(ibmf_query_qp(it.handle, qp, &number, &p_key, &q_key, &port, 0), IBMF_SUCCESS);
    EXPECT_GT(number, 1u);
    EXPECT_EQ(p_key, 0x7FFF);
    EXPECT_EQ(q_key, common_qkey);
    EXPECT_EQ(port, 1);
    EXPECT_EQ(ibmf_query_qp(it.handle, qp, &number, &p_key, &q_key, &port, 1), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_query_qp(it.handle, qp, nullptr, &p_key, &q_key, &port, 0), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_query_qp(it.handle, nullptr, &number, &p_key, &q_key, &port, 0),
              IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_modify_qp(it.handle, qp, 0x8123, 1, 0), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_modify_qp(it.handle, nullptr, 0xFFFF, 1, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_modify_qp(it.handle, qp, 0xFFFF, 0x99, 0), IBMF_SUCCESS);
    const uint_t before = number;
    EXPECT_EQ(ibmf_query_qp(it.handle, qp, &number, &p_key, &q_key, &port, 0), IBMF_SUCCESS);
    EXPECT_EQ(number, before);
    EXPECT_EQ(p_key, 0xFFFF);
    EXPECT_EQ(q_key, 0x99u);
    const client_scope other(here.client(0));
    EXPECT_EQ(ibmf_modify_qp(other.handle, qp, 0xFFFF, 1, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_query_qp(other.handle, qp, &number, &p_key, &q_key, &port, 0),
              IBMF_BAD_QP_HANDLE);
    ibmf_qp_handle_t copy = qp;
    EXPECT_EQ(ibmf_free_qp(other.handle, &copy, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(it.stats().st_alt_qps, 1u);
    EXPECT_EQ(ibmf_free_qp(it.handle, &qp, 1), IBMF_INVALID_ARG);
    EXPECT_EQ(ibmf_free_qp(it.handle, &qp, 0), IBMF_SUCCESS);
    EXPECT_EQ(qp, IBMF_QP_HANDLE_DEFAULT);
    EXPECT_EQ(ibmf_free_qp(it.handle, &copy, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_free_qp(it.handle, &qp, 0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(it.stats(B_TRUE).st_alt_qps, 0u);
}

TEST_P(AlternateQps, ModifyKeys_ChangesAcceptedDatagrams) {
    const client_scope receiver(here.client(1));
    qp_scope into(receiver.handle, IBMF_ALT_QP_RAW_ONLY, 1);
    qp_inbox inbox(into);
    const client_scope sender(here.client(0));
    const qp_scope from(sender.handle, IBMF_ALT_QP_RAW_ONLY, 1);
    const auto send = [&](std::size_t size, ib_qkey_t q_key) {
        raw_message msg(sender.handle, size);
        address(msg.ibmf_msg, here.lids[1], into.its);
        msg.ibmf_msg->im_local_addr.ia_q_key = q_key;
        return msg.send(from.handle);
    };
    EXPECT_EQ(ibmf_modify_qp(receiver.handle, into.handle, 0xFFFF, 2, 0), IBMF_SUCCESS);
    EXPECT_EQ(send(10, 1), IBMF_SUCCESS); // and is dropped at the receiver
    EXPECT_EQ(ibmf_modify_qp(sender.handle, from.handle, 0xFFFF, 2, 0), IBMF_SUCCESS);
    EXPECT_EQ(send(15, 1), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(send(20, 2), IBMF_SUCCESS);
    EXPECT_EQ(inbox.next().data.size(), 20u);
}

TEST_P(AlternateQps, SeveralQps_HaveSeparateCallbacks) {
    const client_scope it(here.client(1, VENDOR_0A_MANAGER_AGENT));
    const qp_scope one(it.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    const qp_scope other(it.handle, IBMF_ALT_QP_MAD_NO_RMPP, IB_QP1_QKEY);
    qp_inbox inbox(one);
    qp_inbox others(other);
    std::atomic<int> by_default{0};
    it.listen(
        [](ibmf_handle_t handle, ibmf_msg_t* msg, void* count) {
            ++*static_cast<std::atomic<int>*>(count);
            EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        },
        &by_default);
    const auto call = [](ibmf_handle_t, ibmf_msg_t*, void*) {};
    EXPECT_EQ(ibmf_setup_async_cb(it.handle, one.handle, call, nullptr, 0), IBMF_CB_REGISTERED);
    const client_scope sender(here.client(0, VENDOR_0A_MANAGER_AGENT));
    const qp_scope from(sender.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    test_message msg(sender.handle, {vendor_class, MAD_METHOD_SEND, 1});
    address(msg.ibmf_msg, here.lids[1], one.its);
    msg.qp = from.handle;
    EXPECT_EQ(msg.send_and_wait(0), IBMF_SUCCESS);
    EXPECT_EQ(inbox.next().from.ia_remote_qno, from.its.number);
    address(msg.ibmf_msg, here.lids[1], other.its); // from QP1
    msg.qp = IBMF_QP_HANDLE_DEFAULT;
    EXPECT_EQ(msg.send_and_wait(0), IBMF_SUCCESS);
    EXPECT_EQ(others.next().from.ia_remote_qno, 1u);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, one.handle, 0), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, one.handle, 0), IBMF_CB_NOT_REGISTERED);
    address(msg.ibmf_msg, here.lids[1], one.its);
    msg.qp = from.handle;
    EXPECT_EQ(msg.send_and_wait(0), IBMF_SUCCESS); // no agent receives it
    address(msg.ibmf_msg, here.lids[1], other.its);
    msg.qp = IBMF_QP_HANDLE_DEFAULT;
    EXPECT_EQ(msg.send_and_wait(0), IBMF_SUCCESS);
    others.next();
    EXPECT_EQ(it.stats().st_no_callback, 1u);
    EXPECT_EQ(by_default, 0);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, IBMF_QP_HANDLE_DEFAULT, 0), IBMF_SUCCESS);
}

TEST_P(AlternateQps, FreeWithCallbackOrTransaction_ReturnsBusy) {
    qp_echo peer(here.client(1), IBMF_ALT_QP_MAD_NO_RMPP);
    peer.silent = true;
    client_scope it(here.client(0));
    qp_scope qp(it.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    EXPECT_EQ(ibmf_unregister(&it.handle, 0), IBMF_BUSY);
    qp.listen([](ibmf_handle_t, ibmf_msg_t*, void*) {}, nullptr);
    EXPECT_EQ(ibmf_free_qp(it.handle, &qp.handle, 0), IBMF_BUSY);
    EXPECT_EQ(ibmf_tear_down_async_cb(it.handle, qp.handle, 0), IBMF_SUCCESS);
    test_message msg(it.handle, {vendor_class});
    address(msg.ibmf_msg, here.lids[1], peer.qp.its);
    msg.qp = qp.handle;
    EXPECT_EQ(msg.send(), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_free_qp(it.handle, &qp.handle, 0), IBMF_BUSY);
    EXPECT_EQ(ibmf_cancel_msg(it.handle, msg.ibmf_msg), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_TRANS_FAILURE);
    const ibmf_qp_handle_t stale = qp.handle;
    EXPECT_EQ(ibmf_free_qp(it.handle, &qp.handle, 0), IBMF_SUCCESS);
    msg.qp = stale;
    EXPECT_EQ(msg.send_and_wait(0), IBMF_BAD_QP_HANDLE);
    EXPECT_EQ(ibmf_setup_async_cb(
                  it.handle, stale, [](ibmf_handle_t, ibmf_msg_t*, void*) {}, nullptr, 0),
              IBMF_BAD_QP_HANDLE);
}

/// Responds with another queue pair as destination than the requester's, and sends that queue pair
/// a message, too.
struct liar {
    liar(const qp_scope& its, uint_t its_wrong) : by(its), wrong(its_wrong) {
        by.listen(respond, this);
    }

    const qp_scope& by;
    const uint_t wrong;
    busy_count held;

    static void respond(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<liar*>(context);
        self.held.enter();
        msg->im_msgbufs_send = msg->im_msgbufs_recv;
        msg->im_local_addr.ia_remote_qno = self.wrong;
        msg->im_msgbufs_send.im_bufs_mad_hdr->R_Method |= MAD_RESPONSE_BIT;
        EXPECT_EQ(ibmf_msg_transport(handle, self.by.handle, msg, nullptr, say_more, context, 0),
                  IBMF_SUCCESS);
    }
    static void say_more(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        const auto& self = *static_cast<liar*>(context);
        msg->im_msgbufs_send.im_bufs_mad_hdr->R_Method = MAD_METHOD_SEND;
        EXPECT_EQ(ibmf_msg_transport(handle, self.by.handle, msg, nullptr, free, context, 0),
                  IBMF_SUCCESS);
    }
    static void free(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        static_cast<liar*>(context)->held.leave();
    }
};

// A response counts only at the queue pair that sent the request.
TEST_P(AlternateQps, ResponseToOtherQp_IsIgnored) {
    const client_scope it(here.client(0));
    const qp_scope asks(it.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    const qp_scope bystander(it.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    qp_inbox inbox(bystander);
    const client_scope peer(here.client(1));
    const qp_scope lies(peer.handle, IBMF_ALT_QP_MAD_NO_RMPP);
    liar its(lies, bystander.its.number);
    test_message msg(it.handle, {vendor_class});
    address(msg.ibmf_msg, here.lids[1], lies.its);
    msg.qp = asks.handle;
    EXPECT_EQ(msg.send(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
    inbox.next(); // which arrived after the response
    EXPECT_EQ(it.stats().st_wrong_peer, 1u);
    EXPECT_EQ(ibmf_cancel_msg(it.handle, msg.ibmf_msg), IBMF_SUCCESS);
    EXPECT_EQ(msg.status(), IBMF_TRANS_FAILURE);
    its.held.await_none();
}

/// An agent at QP1 that redirects every requester to another queue pair.
struct redirecting_agent {
    redirecting_agent(const ibmf_register_info_t& who, ib_lid_t its_lid,
                      const ibmf::qp_attributes& its_target)
        : client(who), lid(its_lid), target(its_target) {
        client.listen(respond, this);
    }
    ~redirecting_agent() {
        ibmf_tear_down_async_cb(client.handle, IBMF_QP_HANDLE_DEFAULT, 0);
        held.await_none();
    }
    redirecting_agent(const redirecting_agent&) = delete;
    redirecting_agent& operator=(const redirecting_agent&) = delete;

    static void respond(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        auto& self = *static_cast<redirecting_agent*>(context);
        self.held.enter();
        msg->im_msgbufs_send = msg->im_msgbufs_recv;
        ib_mad_hdr_t& header = *msg->im_msgbufs_send.im_bufs_mad_hdr;
        header.R_Method |= MAD_RESPONSE_BIT;
        header.Status = static_cast<std::uint16_t>(MAD_STATUS_REDIRECT_REQUIRED << 8);
        header.AttributeID = static_cast<std::uint16_t>(MAD_ATTR_ID_CLASSPORTINFO << 8);
        auto* const info = static_cast<std::uint8_t*>(msg->im_msgbufs_send.im_bufs_cl_data);
        boost::endian::store_big_u16(info + 28, self.lid);
        boost::endian::store_big_u16(info + 30, IB_PKEY_DEFAULT_FULL);
        boost::endian::store_big_u32(info + 32, self.target.number);
        boost::endian::store_big_u32(info + 36, self.target.q_key);
        EXPECT_EQ(
            ibmf_msg_transport(handle, IBMF_QP_HANDLE_DEFAULT, msg, nullptr, free, context, 0),
            IBMF_SUCCESS);
    }
    static void free(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
        EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        static_cast<redirecting_agent*>(context)->held.leave();
    }

    const client_scope client;
    const ib_lid_t lid;
    const ibmf::qp_attributes target;
    busy_count held;
};

// The purpose of alternate queue pairs according to the seed. The requester is at QP1, whose Q_Key
// is fixed.
TEST_P(AlternateQps, RedirectToAlternateQp_IsFollowed) {
    const qp_echo elsewhere(here.client(1), IBMF_ALT_QP_MAD_NO_RMPP, IB_QP1_QKEY);
    const redirecting_agent agent(here.client(1, PERF_AGENT), here.lids[1], elsewhere.qp.its);
    const client_scope it(here.client(0, PERF_MANAGER));
    test_message msg(it.handle, {MAD_MGMT_CLASS_PERF, MAD_METHOD_GET, 9, here.lids[1]});
    EXPECT_EQ(msg.send_and_wait(IBMF_MSG_TRANS_FLAG_SEQ, patient), IBMF_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(msg.received().first(64), msg.data()));
    EXPECT_EQ(elsewhere.requests_received, 1);
    EXPECT_EQ(it.stats().st_redirected, 1u);
}

struct unregistering_client {
    ibmf_handle_t handle = nullptr;
    ibmf_qp_handle_t qp = nullptr;
    KEVENT done;

    unregistering_client() { KeInitializeEvent(&done, NotificationEvent, FALSE); }
    static void call(ibmf_handle_t, void* context, ibmf_async_event_t) {
        auto& self = *static_cast<unregistering_client*>(context);
        EXPECT_EQ(ibmf_unregister(&self.handle, 0), IBMF_BUSY);
        EXPECT_EQ(ibmf_free_qp(self.handle, &self.qp, 0), IBMF_SUCCESS);
        EXPECT_EQ(ibmf_unregister(&self.handle, 0), IBMF_SUCCESS);
        KeSetEvent(&self.done, IO_NO_INCREMENT, FALSE);
    }
};

// The first client is notified, the second is not: each frees its own queue pair.
TEST_P(AlternateQps, HcaFails_QpsCanBeFreed) {
    unregistering_client offline;
    ibmf_register_info_t info = here.client(0);
    ibmf_impl_caps_t caps{};
    client_scope silent(here.client(0, PERF_MANAGER));
    ASSERT_EQ(ibmf_register(&info, IBMF_VERSION, 0, unregistering_client::call, &offline,
                            &offline.handle, &caps),
              IBMF_SUCCESS);
    ASSERT_EQ(ibmf_alloc_qp(offline.handle, 0xFFFF, 1, IBMF_ALT_QP_RAW_ONLY, &offline.qp),
              IBMF_SUCCESS);
    ibmf_qp_handle_t lost = nullptr;
    ASSERT_EQ(ibmf_alloc_qp(silent.handle, 0xFFFF, 1, IBMF_ALT_QP_RAW_ONLY, &lost), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_setup_async_cb(
                  silent.handle, lost, [](ibmf_handle_t, ibmf_msg_t*, void*) {}, nullptr, 0),
              IBMF_SUCCESS);
    HcaReportFatal(here.hcas.fdo(0));
    KeWaitForSingleObject(&offline.done, Executive, KernelMode, FALSE, nullptr);
    ibmf_qp_handle_t fresh = nullptr;
    EXPECT_EQ(ibmf_alloc_qp(silent.handle, 0xFFFF, 1, IBMF_ALT_QP_RAW_ONLY, &fresh),
              IBMF_TRANSPORT_FAILURE);
    EXPECT_EQ(ibmf_modify_qp(silent.handle, lost, 0xFFFF, 2, 0), IBMF_TRANSPORT_FAILURE);
    EXPECT_EQ(ibmf_tear_down_async_cb(silent.handle, lost, 0), IBMF_SUCCESS);
    EXPECT_EQ(ibmf_free_qp(silent.handle, &lost, 0), IBMF_SUCCESS);
}

/// A handler's result, which a test can wait for.
template <class Result>
struct outcome {
    outcome() { KeInitializeEvent(&arrived, NotificationEvent, FALSE); }
    auto handler() {
        return [this](boost::system::error_code failed, Result what) {
            error = failed;
            result = std::move(what);
            KeSetEvent(&arrived, IO_NO_INCREMENT, FALSE);
        };
    }
    const Result& get() {
        KeWaitForSingleObject(&arrived, Executive, KernelMode, FALSE, nullptr);
        return result;
    }
    KEVENT arrived;
    boost::system::error_code error;
    Result result{};
};

TEST_P(AlternateQps, AsyncWrappers_MatchCApi) {
    const qp_echo peer(here.client(1), IBMF_ALT_QP_MAD_NO_RMPP, 7);
    const client_scope it(here.client(0));
    outcome<ibmf::allocated_qp> made;
    ibmf::alloc_qp(it.handle, 0xFFFF, 1, IBMF_ALT_QP_MAD_NO_RMPP, made.handler());
    ASSERT_EQ(made.get().status, IBMF_SUCCESS);
    outcome<int> modified;
    ibmf::modify_qp(it.handle, made.get().qp, 0xFFFF, 7, modified.handler());
    EXPECT_EQ(modified.get(), IBMF_SUCCESS);
    ibmf::qp_attributes its;
    EXPECT_EQ(ibmf::query_qp(it.handle, made.get().qp, its), IBMF_SUCCESS);
    EXPECT_EQ(its.q_key, 7u);
    {
        test_message msg(it.handle, {vendor_class});
        address(msg.ibmf_msg, here.lids[1], peer.qp.its);
        outcome<int> completed;
        ibmf::msg_transport(it.handle, made.get().qp, msg.ibmf_msg, patient,
                            IBMF_MSG_TRANS_FLAG_SEQ, completed.handler());
        EXPECT_EQ(completed.get(), IBMF_SUCCESS);
    }
    outcome<int> refused;
    ibmf::free_qp(it.handle, nullptr, refused.handler());
    EXPECT_EQ(refused.get(), IBMF_BAD_QP_HANDLE);
    outcome<int> freed;
    ibmf::free_qp(it.handle, made.get().qp, freed.handler());
    EXPECT_EQ(freed.get(), IBMF_SUCCESS);
}

IRPVERBS_ON_BOTH_MACHINES(AlternateQps);

irpverbs::dispatch::explore_options some_runs() {
    irpverbs::dispatch::explore_options options;
    options.random_runs = 100;
    options.pct_runs = 100;
    return options;
}

// A datagram that arrives during the tear-down is delivered before it ends, or not at all.
TEST(AlternateQpRaces, TearDownDuringReceives_NoCallbackAfterwards) {
    expect_explored(some_runs(), [](irpverbs::dispatch::sim_machine& sim) {
        const two_hosts here;
        const client_scope receiver(here.client(1));
        const client_scope sender(here.client(0));
        const qp_scope from(sender.handle, IBMF_ALT_QP_RAW_ONLY);
        qp_scope into(receiver.handle, IBMF_ALT_QP_RAW_ONLY);
        struct receive_state {
            std::atomic<bool> over{false};
            static void on_message(ibmf_handle_t handle, ibmf_msg_t* msg, void* context) {
                EXPECT_FALSE(static_cast<receive_state*>(context)->over);
                EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
            }
        } its;
        into.listen(receive_state::on_message, &its);
        const ibmf::qp_attributes target = into.its;
        sim.spawn("send", [&] {
            for (int i = 0; i < 3; ++i) {
                raw_message msg(sender.handle, 300);
                address(msg.ibmf_msg, here.lids[1], target);
                EXPECT_EQ(msg.send(from.handle), IBMF_SUCCESS);
            }
        });
        sim.spawn("end", [&] {
            EXPECT_EQ(ibmf_tear_down_async_cb(receiver.handle, into.handle, 0), IBMF_SUCCESS);
            its.over = true;
            EXPECT_EQ(ibmf_free_qp(receiver.handle, &into.handle, 0), IBMF_SUCCESS);
        });
        sim.run();
    });
}

// A send keeps its queue pair until it has completed, or finds it freed; also when its caller no
// longer waits.
TEST(AlternateQpRaces, FreeDuringSend_BothReturn) {
    expect_explored(some_runs(), [](irpverbs::dispatch::sim_machine& sim) {
        const two_hosts here;
        const client_scope it(here.client(0));
        qp_scope qp(it.handle, IBMF_ALT_QP_RAW_ONLY);
        raw_message msg(it.handle, 300);
        address(msg.ibmf_msg, here.lids[0], qp.its);
        sim.spawn("send", [&, by = qp.handle] {
            const int status = msg.send(by);
            EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BAD_QP_HANDLE ||
                        status == IBMF_TRANS_FAILURE)
                << status;
        });
        sim.spawn("free", [&] {
            ibmf_cancel_msg(it.handle, msg.ibmf_msg);
            const int status = ibmf_free_qp(it.handle, &qp.handle, 0);
            EXPECT_TRUE(status == IBMF_SUCCESS || status == IBMF_BUSY) << status;
        });
        sim.run();
        EXPECT_EQ(it.stats().st_send_failures, 0u);
    });
}

// The client waits for the end of two of its queue pairs at once.
TEST(AlternateQpRaces, ConcurrentTearDowns_BothComplete) {
    expect_explored(some_runs(), [](irpverbs::dispatch::sim_machine& sim) {
        const two_hosts here;
        const client_scope receiver(here.client(1));
        const client_scope sender(here.client(0));
        const qp_scope from(sender.handle, IBMF_ALT_QP_RAW_ONLY);
        const qp_scope one(receiver.handle, IBMF_ALT_QP_RAW_ONLY);
        const qp_scope other(receiver.handle, IBMF_ALT_QP_RAW_ONLY);
        const auto on_message = [](ibmf_handle_t handle, ibmf_msg_t* msg, void*) {
            EXPECT_EQ(ibmf_free_msg(handle, &msg), IBMF_SUCCESS);
        };
        for (const qp_scope* each : {&one, &other}) {
            each->listen(on_message, nullptr);
            raw_message msg(sender.handle, 300);
            address(msg.ibmf_msg, here.lids[1], each->its);
            EXPECT_EQ(msg.send(from.handle), IBMF_SUCCESS);
        }
        for (const qp_scope* each : {&one, &other})
            sim.spawn("tear down", [&receiver, each] {
                EXPECT_EQ(ibmf_tear_down_async_cb(receiver.handle, each->handle, 0), IBMF_SUCCESS);
            });
        sim.run();
    });
}

} // namespace
