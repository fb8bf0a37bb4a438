// SIDR_REQ and SIDR_REP. Source: IBA 12.11.1, 12.11.2.
#include "fields.hpp"

namespace irpverbs::cm {

namespace {

template <class Message, class Access>
void describe_sidr_req(Message& message, const Access& at) {
    at(at_byte(0), 32, message.request_id);
    at(at_byte(4), 16, message.p_key);
    at(at_byte(8), 64, message.service_id);
    at(at_byte(16), message.private_data);
}

template <class Message, class Access>
void describe_sidr_rep(Message& message, const Access& at) {
    at(at_byte(0), 32, message.request_id);
    at(at_byte(4), 8, message.status);
    at(at_byte(5), 8, message.info_length);
    at(at_byte(8), 24, message.qpn);
    at(at_byte(12), 64, message.service_id);
    at(at_byte(20), 32, message.q_key);
    at(at_byte(24), message.info);
    at(at_byte(96), message.private_data);
}

} // namespace

IRPVERBS_CM_MESSAGE(sidr_req_message, describe_sidr_req)
IRPVERBS_CM_MESSAGE(sidr_rep_message, describe_sidr_rep)

} // namespace irpverbs::cm
