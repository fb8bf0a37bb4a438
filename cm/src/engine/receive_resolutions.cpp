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
    if (!pkey_index(req.p_key)) return refuse(req, IB_CM_SIDR_REJECTED, source, fx);
    const auto fresh = to->is_full() ? nullptr : ud_request::make(*this, req, source);
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
    if (gone.backlog_entry.is_linked()) remembered_.erase(remembered_.iterator_to(gone));
    ud_requests_.erase(ud_requests_.iterator_to(gone));
    --counters.resolutions;
    fx.release(gone);
}

// A peer that repeats the request later gets a response anew.
void cm_port::remember(ud_request& of, effects& fx) {
    constexpr unsigned at_most = 1024;
    constexpr unsigned repetitions = 21; // 8.6 s: twice the initial value of a requester's wait
    remembered_.push_back(of);
    set_deadline(of, time_of(repetitions));
    if (remembered_.size() > at_most) remove(static_cast<ud_request&>(remembered_.front()), fx);
}

} // namespace irpverbs::cm::engine
