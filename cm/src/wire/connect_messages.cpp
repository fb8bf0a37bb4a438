// REQ, MRA, REJ, REP, RTU. Source: IBA 12.6.5 to 12.6.9.
#include "fields.hpp"

namespace irpverbs::cm {

namespace {

template <class Path, class Access>
void describe_path(Path& path, std::size_t byte, const Access& at) {
    at(at_byte(byte), 16, path.local_lid);
    at(at_byte(byte + 2), 16, path.remote_lid);
    at(at_byte(byte + 4), path.local_gid);
    at(at_byte(byte + 20), path.remote_gid);
    at(at_byte(byte + 36), 20, path.flow_label);
    at(at_byte(byte + 39, 2), 6, path.packet_rate);
    at(at_byte(byte + 40), 8, path.traffic_class);
    at(at_byte(byte + 41), 8, path.hop_limit);
    at(at_byte(byte + 42), 4, path.service_level);
    at(at_byte(byte + 42, 4), 1, path.subnet_local);
    at(at_byte(byte + 43), 5, path.local_ack_timeout);
}

template <class Message, class Access>
void describe_ids(Message& message, const Access& at) {
    at(at_byte(0), 32, message.local_id);
    at(at_byte(4), 32, message.remote_id);
}

template <class Message, class Access>
void describe_req(Message& message, const Access& at) {
    at(at_byte(0), 32, message.local_id);
    at(at_byte(8), 64, message.service_id);
    at(at_byte(16), 64, message.ca_guid);
    at(at_byte(28), 32, message.q_key);
    at(at_byte(32), 24, message.qpn);
    at(at_byte(35), 8, message.responder_resources);
    at(at_byte(36), 24, message.eecn);
    at(at_byte(39), 8, message.initiator_depth);
    at(at_byte(40), 24, message.remote_eecn);
    at(at_byte(43), 5, message.remote_response_timeout);
    at(at_byte(43, 5), 2, message.transport);
    at(at_byte(43, 7), 1, message.end_to_end_flow_control);
    at(at_byte(44), 24, message.starting_psn);
    at(at_byte(47), 5, message.local_response_timeout);
    at(at_byte(47, 5), 3, message.retry_count);
    at(at_byte(48), 16, message.p_key);
    at(at_byte(50), 4, message.mtu);
    at(at_byte(50, 4), 1, message.rdc_exists);
    at(at_byte(50, 5), 3, message.rnr_retry_count);
    at(at_byte(51), 4, message.max_cm_retries);
    at(at_byte(51, 4), 1, message.srq);
    at(at_byte(51, 5), 3, message.extended_transport);
    describe_path(message.primary, 52, at);
    describe_path(message.alternate, 96, at);
    at(at_byte(140), message.private_data);
}

template <class Message, class Access>
void describe_mra(Message& message, const Access& at) {
    describe_ids(message, at);
    at(at_byte(8), 2, message.acknowledged);
    at(at_byte(9), 5, message.service_timeout);
    at(at_byte(10), message.private_data);
}

template <class Message, class Access>
void describe_rej(Message& message, const Access& at) {
    describe_ids(message, at);
    at(at_byte(8), 2, message.rejected);
    at(at_byte(9), 7, message.info_length);
    at(at_byte(10), 16, message.reason);
    at(at_byte(12), message.info);
    at(at_byte(84), message.private_data);
}

template <class Message, class Access>
void describe_rep(Message& message, const Access& at) {
    describe_ids(message, at);
    at(at_byte(8), 32, message.q_key);
    at(at_byte(12), 24, message.qpn);
    at(at_byte(16), 24, message.eecn);
    at(at_byte(20), 24, message.starting_psn);
    at(at_byte(24), 8, message.responder_resources);
    at(at_byte(25), 8, message.initiator_depth);
    at(at_byte(26), 5, message.target_ack_delay);
    at(at_byte(26, 5), 2, message.failover_accepted);
    at(at_byte(26, 7), 1, message.end_to_end_flow_control);
    at(at_byte(27), 3, message.rnr_retry_count);
    at(at_byte(27, 3), 1, message.srq);
    at(at_byte(28), 64, message.ca_guid);
    at(at_byte(36), message.private_data);
}

template <class Message, class Access>
void describe_rtu(Message& message, const Access& at) {
    describe_ids(message, at);
    at(at_byte(8), message.private_data);
}

} // namespace

IRPVERBS_CM_MESSAGE(req_message, describe_req)
IRPVERBS_CM_MESSAGE(mra_message, describe_mra)
IRPVERBS_CM_MESSAGE(rej_message, describe_rej)
IRPVERBS_CM_MESSAGE(rep_message, describe_rep)
IRPVERBS_CM_MESSAGE(rtu_message, describe_rtu)

} // namespace irpverbs::cm
