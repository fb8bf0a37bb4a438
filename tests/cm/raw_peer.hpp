// A peer that speaks the messages of communication management by hand, on the second host.
#pragma once

#include "cm_end.hpp"

#include <cm/messages.hpp>

namespace irpverbs::testing {

class raw_peer {
public:
    /// `end` has no communication manager of its own; `other` has one.
    raw_peer(const cm_end& end, const cm_end& other) : end_(end), other_(other) {}

    template <class Message>
    void send(const Message& message) {
        mad bytes;
        cm::encode(message, ++sent_, std::span<std::uint8_t, ibmf::mad_size>(bytes));
        EXPECT_EQ(agent_.send(other_.manager_address(), bytes), STATUS_SUCCESS);
    }
    /// A message of that attribute whose bytes `next()` returns.
    template <class Next>
    void send_bytes(std::uint16_t attribute, const Next& next) {
        mad bytes;
        const std::span<std::uint8_t, ibmf::mad_size> all(bytes);
        ibmf::store(all.first<ibmf::mad_header_size>(), {.mgmt_class = MAD_MGMT_CLASS_COMM_MGT,
                                                         .class_version = cm::class_version,
                                                         .method = MAD_METHOD_SEND,
                                                         .transaction_id = ++sent_,
                                                         .attribute_id = attribute});
        for (UCHAR& each : all.subspan(ibmf::mad_header_size))
            each = next();
        EXPECT_EQ(agent_.send(other_.manager_address(), bytes), STATUS_SUCCESS);
    }
    cm::any_message receive() {
        const auto decoded = cm::decode(agent_.receive().data);
        EXPECT_TRUE(decoded);
        return decoded.value_or(cm::any_message());
    }
    /// The next message, which is a Message.
    template <class Message>
    Message receive() {
        const cm::any_message next = receive();
        EXPECT_TRUE(std::holds_alternative<Message>(next)) << "message " << next.index();
        const auto* const found = std::get_if<Message>(&next);
        return found != nullptr ? *found : Message();
    }

    /// A request for `service` that the other end can accept.
    cm::req_message request(std::uint32_t id = 0x77, ib_qpn_t qpn = 0x4321) const {
        cm::req_message req;
        req.local_id = id;
        req.service_id = service;
        req.ca_guid = end_.guid;
        req.qpn = qpn;
        req.responder_resources = req.initiator_depth = 1;
        req.remote_response_timeout = req.local_response_timeout = 14;
        req.p_key = IB_PKEY_DEFAULT_FULL;
        req.mtu = IB_MTU_1024;
        req.max_cm_retries = 2;
        req.primary = {.local_lid = end_.lid(),
                       .remote_lid = other_.lid(),
                       .local_gid = end_.gid(),
                       .remote_gid = other_.gid(),
                       .subnet_local = true,
                       .local_ack_timeout = 11};
        return req;
    }
    static cm::sidr_req_message resolution(std::uint32_t id = 0x55) {
        cm::sidr_req_message req;
        req.request_id = id;
        req.p_key = IB_PKEY_DEFAULT_FULL;
        req.service_id = service;
        return req;
    }
    static cm::rep_message reply_to(const cm::req_message& req) {
        cm::rep_message rep;
        rep.local_id = 0x99;
        rep.remote_id = req.local_id;
        rep.qpn = 0x4321;
        rep.ca_guid = 0x1234;
        return rep;
    }
    static cm::rtu_message ready_for(const cm::rep_message& rep) {
        cm::rtu_message rtu;
        rtu.local_id = rep.remote_id;
        rtu.remote_id = rep.local_id;
        return rtu;
    }

private:
    static IB_MAD_AGENT_ATTR attributes() {
        IB_MAD_AGENT_ATTR attr = agent_of(MAD_MGMT_CLASS_COMM_MGT, {MAD_METHOD_SEND});
        attr.ClassVersion = cm::class_version;
        return attr;
    }

    const cm_end& end_;
    const cm_end& other_;
    mad_client agent_{end_.ca, attributes()};
    std::uint64_t sent_ = 0;
};

} // namespace irpverbs::testing
