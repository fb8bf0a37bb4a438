// LAP and APR. Source: IBA 12.8.1, 12.8.2.
#include "fields.hpp"

namespace irpverbs::cm {

namespace {

template <class Message, class Access>
void describe_lap(Message& message, const Access& at) {
    auto& path = message.alternate;
    at(at_byte(0), 32, message.local_id);
    at(at_byte(4), 32, message.remote_id);
    at(at_byte(12), 24, message.remote_qpn);
    at(at_byte(15), 5, message.remote_response_timeout);
    at(at_byte(20), 16, path.local_lid);
    at(at_byte(22), 16, path.remote_lid);
    at(at_byte(24), path.local_gid);
    at(at_byte(40), path.remote_gid);
    at(at_byte(56), 20, path.flow_label);
    at(at_byte(59), 8, path.traffic_class);
    at(at_byte(60), 8, path.hop_limit);
    at(at_byte(61, 2), 6, path.packet_rate);
    at(at_byte(62), 4, path.service_level);
    at(at_byte(62, 4), 1, path.subnet_local);
    at(at_byte(63), 5, path.local_ack_timeout);
    at(at_byte(64), message.private_data);
}

template <class Message, class Access>
void describe_apr(Message& message, const Access& at) {
    at(at_byte(0), 32, message.local_id);
    at(at_byte(4), 32, message.remote_id);
    at(at_byte(8), 8, message.info_length);
    at(at_byte(9), 8, message.status);
    at(at_byte(12), message.info);
    at(at_byte(84), message.private_data);
}

} // namespace

IRPVERBS_CM_MESSAGE(lap_message, describe_lap)
IRPVERBS_CM_MESSAGE(apr_message, describe_apr)

} // namespace irpverbs::cm
