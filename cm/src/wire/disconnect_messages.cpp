// DREQ and DREP. Source: IBA 12.6.10, 12.6.11.
#include "fields.hpp"

namespace irpverbs::cm {

namespace {

template <class Message, class Access>
void describe_dreq(Message& message, const Access& at) {
    at(at_byte(0), 32, message.local_id);
    at(at_byte(4), 32, message.remote_id);
    at(at_byte(8), 24, message.remote_qpn);
    at(at_byte(12), message.private_data);
}

template <class Message, class Access>
void describe_drep(Message& message, const Access& at) {
    at(at_byte(0), 32, message.local_id);
    at(at_byte(4), 32, message.remote_id);
    at(at_byte(8), message.private_data);
}

} // namespace

IRPVERBS_CM_MESSAGE(dreq_message, describe_dreq)
IRPVERBS_CM_MESSAGE(drep_message, describe_drep)

} // namespace irpverbs::cm
