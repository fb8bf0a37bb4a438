// The request that a passive end has received.
#include "connection.hpp"

#include "client.hpp"
#include "paths.hpp"
#include "port.hpp"
#include "transport_type.hpp"
#include "valid.hpp"

#include <algorithm>
#include <new>

namespace irpverbs::cm::engine {

namespace {

sa_path_record_t path_in(const path_fields& fields, const req_message& from,
                         const port_attributes& port) {
    sa_path_record_t path = path_of(fields);
    path.P_Key = from.p_key;
    path.Mtu = from.mtu;
    port.adapt(path);
    return path;
}

} // namespace

bool connection::take_request(const req_message& from, const datagram_address& source) {
    request_.reset(new (std::nothrow) req_message(from));
    if (request_ == nullptr) return false;
    peer = {from.local_id, from.ca_guid, from.qpn, from.srq, source};
    terms.service_id = from.service_id;
    terms.type = passive_type(from).value_or(IB_QPT_RELIABLE_CONN);
    terms.primary = path_in(from.primary, from, at->attributes());
    terms.alternate = {};
    if (from.has_alternate()) {
        terms.alternate.path = path_in(from.alternate, from, at->attributes());
        terms.alternate.ack_timeout = from.alternate.local_ack_timeout;
    }
    terms.retry_count = from.retry_count;
    terms.rnr_retry_count = from.rnr_retry_count;
    terms.ack_timeout = from.primary.local_ack_timeout;
    terms.sq_psn = from.starting_psn;
    terms.rq_psn = random_psn();
    terms.resp_res = from.initiator_depth; // what the peer offers, like the next
    terms.init_depth = from.responder_resources;
    terms.rnr_nak_timeout = initial_rnr_nak_timeout;
    terms.max_retries = from.max_cm_retries;
    terms.remote_response_timeout = from.local_response_timeout;
    terms.local_response_timeout = from.remote_response_timeout;
    at->add_remote_id(*this);
    at->add_remote_qp(*this);
    wait_for(half_of_peers_wait());
    return true;
}

bool connection::is_request(const req_message& other) const {
    return peer.qpn == other.qpn && terms.service_id == other.service_id;
}

ib_cm_request_t connection::describe_request() const {
    ib_cm_request_t request{};
    request.svc_id = terms.service_id;
    request.qp_type = terms.type;
    request.ca_guid = peer.ca_guid;
    request.qpn = peer.qpn;
    request.srq = peer.srq;
    request.primary_path = terms.primary;
    request.alt_path = terms.alternate.path;
    const req_message& from = *request_;
    request.resp_res = from.responder_resources;
    request.init_depth = from.initiator_depth;
    std::span<const std::uint8_t> data(from.private_data);
    if (const auto ip = load_ip(terms.service_id, data.first<ip_header_size>())) {
        request.ip = *ip;
        data = data.subspan(ip_header_size);
    }
    request.pdata_length = static_cast<UCHAR>(data.size());
    std::ranges::copy(data, request.pdata);
    return request;
}

ULONG_PTR connection::give_to(client& its_owner, void* into) {
    owner = &its_owner;
    ++owner->children;
    is_open_ = true;
    intrusive_ptr_add_ref(this);
    *static_cast<ib_cm_request_t*>(into) = describe_request();
    return reinterpret_cast<ULONG_PTR>(object());
}

} // namespace irpverbs::cm::engine
