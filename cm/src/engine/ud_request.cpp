#include "ud_request.hpp"

#include "client.hpp"
#include "paths.hpp"
#include "port.hpp"
#include "valid.hpp"

#include <dispatch/support/faults.hpp>

#include <algorithm>
#include <new>

namespace irpverbs::cm::engine {

namespace {

// 8.6 s: twice the initial value of a requester's wait.
constexpr unsigned repetitions = 21;

} // namespace

boost::intrusive_ptr<ud_request> ud_request::make(cm_port& its_port, const sidr_req_message& from,
                                                  const datagram_address& source) noexcept {
    if (dispatch::detail::fault_point("cm.ud_request")) return nullptr;
    return new (std::nothrow) ud_request(its_port, from, source);
}

ud_request_key ud_request::key_of(const sidr_req_message& from, const datagram_address& source) {
    ud_request_key made{from.request_id, source.local.ia_remote_lid, from.service_id, {}};
    if (source.has_global) {
        made.gid[0] = source.global.ig_sender_gid.gid_prefix;
        made.gid[1] = source.global.ig_sender_gid.gid_guid;
    }
    return made;
}

ud_request::ud_request(cm_port& its_port, const sidr_req_message& from,
                       const datagram_address& source)
    : at(&its_port), key(key_of(from, source)), p_key_(from.p_key),
      private_data_(from.private_data), peer_(source) {}

ULONG_PTR ud_request::give_to(client& its_owner, void* into) {
    owner_ = &its_owner;
    ++owner_->children;
    intrusive_ptr_add_ref(this);
    *static_cast<ib_cm_ud_request_t*>(into) = describe();
    return reinterpret_cast<ULONG_PTR>(object());
}

ib_cm_ud_request_t ud_request::describe() const {
    ib_cm_ud_request_t made{};
    made.svc_id = key.service_id;
    made.p_key = p_key_;
    made.src_lid = key.lid;
    if (peer_.has_global) made.src_gid = peer_.global.ig_sender_gid;
    std::span<const std::uint8_t> data(private_data_);
    if (const auto ip = load_ip(key.service_id, data.first<ip_header_size>())) {
        made.ip = *ip;
        data = data.subspan(ip_header_size);
    }
    made.pdata_length = static_cast<UCHAR>(data.size());
    std::ranges::copy(data, made.pdata);
    return made;
}

NTSTATUS ud_request::respond(const ib_cm_ud_response_t& wanted, effects& fx) {
    const bool valid = wanted.status == IB_CM_SIDR_VALID;
    if (wanted.info_length > IB_CM_REJ_INFO_SIZE ||
        wanted.pdata_length > IB_CM_SIDR_REP_PDATA_SIZE ||
        (wanted.p_info == nullptr && wanted.info_length != 0) ||
        (wanted.p_pdata == nullptr && wanted.pdata_length != 0) ||
        (valid && !is_client_qp(wanted.qpn)))
        return STATUS_INVALID_PARAMETER;
    if (has_response_) return STATUS_INVALID_DEVICE_STATE;
    sidr_rep_message response = response_with(wanted.status);
    if (valid) {
        response.qpn = wanted.qpn;
        response.q_key = wanted.q_key;
    }
    response.info_length = wanted.info_length;
    std::copy_n(static_cast<const std::uint8_t*>(wanted.p_info), wanted.info_length,
                response.info.begin());
    std::copy_n(static_cast<const std::uint8_t*>(wanted.p_pdata), wanted.pdata_length,
                response.private_data.begin());
    send_response(response, fx);
    return STATUS_SUCCESS;
}

void ud_request::reject_unserved(unserved why, effects& fx) {
    send_response(
        response_with(why == unserved::closed ? IB_CM_SIDR_INVALID_SERVICE_ID : IB_CM_SIDR_NO_QP),
        fx);
}

void ud_request::close(effects& fx) {
    if (!has_response_) send_response(response_with(IB_CM_SIDR_REJECTED), fx);
    --owner_->children;
    owner_ = nullptr;
    fx.release(*this);
}

sidr_rep_message ud_request::response_with(std::uint8_t status) const {
    sidr_rep_message made;
    made.request_id = key.request_id;
    made.service_id = key.service_id;
    made.status = status;
    return made;
}

void ud_request::send_response(const sidr_rep_message& response, effects& fx) {
    has_response_ = true;
    encode(response, at->new_transaction_id(), response_);
    fx.send(peer_, response_);
    at->remember(*this, time_of(repetitions), fx);
}

void ud_request::repeat_response(effects& fx) {
    if (!has_response_) return; // the client has it
    ++at->counters.resent;
    fx.send(peer_, response_);
}

void ud_request::on_time(effects& fx) { at->remove(*this, fx); }

} // namespace irpverbs::cm::engine
