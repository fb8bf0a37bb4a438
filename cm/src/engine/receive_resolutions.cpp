// SIDR_REQ and SIDR_REP of peers. Source: IBA 12.11.
#include "port.hpp"

namespace irpverbs::cm::engine {

void cm_port::receive_resolution(const sidr_req_message& req, const datagram_address& source,
                                 effects& fx) {
    const auto known = ud_requests_.find(ud_request::key_of(req, source));
    if (known != ud_requests_.end()) {
        ++counters.duplicates;
        return known->repeat_response(fx);
    }
    listener* const to = find_listener(req.service_id, service_kind::datagrams, req.private_data);
    if (to == nullptr) return refuse(req, IB_CM_SIDR_INVALID_SERVICE_ID, source, fx);
    if (!attributes().pkey_index(req.p_key)) return refuse(req, IB_CM_SIDR_REJECTED, source, fx);
    const bool has_room = to->make_room_for(source.sender(), fx);
    const auto fresh = has_room ? ud_request::make(*this, req, source) : nullptr;
    if (fresh == nullptr) return refuse(req, IB_CM_SIDR_NO_QP, source, fx);
    add(*fresh);
    to->offer(*fresh, fx);
}

void cm_port::refuse(const sidr_req_message& req, std::uint8_t status, const datagram_address& to,
                     effects& fx) {
    ++counters.rejected;
    sidr_rep_message rep;
    rep.request_id = req.request_id;
    rep.service_id = req.service_id;
    rep.status = status;
    fx.send(to, rep, new_transaction_id());
}

void cm_port::receive_response(const sidr_rep_message& rep, effects& fx) {
    const auto found = resolutions_.find(rep.request_id);
    if (found == resolutions_.end()) {
        ++counters.unexpected;
        return;
    }
    found->take_response(rep, fx);
}

void cm_port::add(resolution& fresh) {
    intrusive_ptr_add_ref(&fresh);
    resolutions_.insert(fresh);
    ++counters.resolutions;
}

void cm_port::remove(resolution& gone, effects& fx) {
    deadlines_.clear(gone);
    if (!gone.by_id.is_linked()) return;
    resolutions_.erase(resolutions_.iterator_to(gone));
    --counters.resolutions;
    fx.release(gone);
}

void cm_port::add(ud_request& fresh) {
    intrusive_ptr_add_ref(&fresh);
    ud_requests_.insert(fresh);
    ++counters.resolutions;
}

void cm_port::remove(ud_request& gone, effects& fx) {
    deadlines_.clear(gone);
    if (!gone.by_key.is_linked()) return;
    forget(gone);
    ud_requests_.erase(ud_requests_.iterator_to(gone));
    --counters.resolutions;
    fx.release(gone);
}

} // namespace irpverbs::cm::engine
