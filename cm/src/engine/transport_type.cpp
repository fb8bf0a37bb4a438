#include "transport_type.hpp"

namespace irpverbs::cm::engine {

namespace {

constexpr std::uint8_t extended_xrc = 1; // among extended transports

}

bool may_request(ib_qp_type_t type, bool peer_to_peer) {
    return type == IB_QPT_RELIABLE_CONN || type == IB_QPT_UNRELIABLE_CONN ||
           (type == IB_QPT_XRC_INI && !peer_to_peer);
}

void set_transport(req_message& of, ib_qp_type_t type) {
    of.end_to_end_flow_control = type == IB_QPT_RELIABLE_CONN;
    of.transport = type == IB_QPT_RELIABLE_CONN     ? transport_service::rc
                   : type == IB_QPT_UNRELIABLE_CONN ? transport_service::uc
                                                    : transport_service::extended;
    of.extended_transport = type == IB_QPT_XRC_INI ? extended_xrc : 0;
}

ib_qpn_t queue_pair_in(const rep_message& reply, ib_qp_type_t type) {
    return type == IB_QPT_XRC_INI ? reply.eecn : reply.qpn;
}

std::optional<ib_qp_type_t> passive_type(const req_message& of) {
    if (of.transport == transport_service::rc) return IB_QPT_RELIABLE_CONN;
    if (of.transport == transport_service::uc) return IB_QPT_UNRELIABLE_CONN;
    const bool is_xrc =
        of.transport == transport_service::extended && of.extended_transport == extended_xrc;
    return is_xrc ? std::optional<ib_qp_type_t>(IB_QPT_XRC_TGT) : std::nullopt;
}

} // namespace irpverbs::cm::engine
