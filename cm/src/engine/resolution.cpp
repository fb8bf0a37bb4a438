#include "resolution.hpp"

#include "client.hpp"
#include "paths.hpp"
#include "port.hpp"
#include "valid.hpp"

#include <dispatch/support/faults.hpp>

#include <algorithm>
#include <new>

namespace irpverbs::cm::engine {

boost::intrusive_ptr<resolution> resolution::make(client& its_owner) noexcept {
    if (dispatch::detail::fault_point("cm.resolution")) return nullptr;
    return new (std::nothrow) resolution(its_owner);
}

resolution::resolution(client& its_owner)
    : id(its_owner.at->new_id()), owner_(its_owner), at_(its_owner.at),
      query_(*its_owner.at, *this, path_ended) {}

bool resolution::has_valid(const ib_cm_resolve_ud_t& wanted, const cm_port& at) {
    const std::size_t limit =
        wanted.p_ip == nullptr ? IB_CM_SIDR_REQ_PDATA_SIZE : IB_CM_SIDR_REQ_IP_PDATA_SIZE;
    return wanted.max_cm_retries <= 15 && wanted.remote_resp_timeout <= max_time_code &&
           wanted.pdata_length <= limit &&
           (wanted.p_pdata != nullptr || wanted.pdata_length == 0) &&
           (wanted.p_path != nullptr ? at.attributes().takes(*wanted.p_path) : at.finds_paths());
}

NTSTATUS resolution::begin(IRP* irp, const ib_cm_resolve_ud_t& wanted, ib_cm_ud_reply_t* reply,
                           effects& fx) {
    if (!has_valid(wanted, *at_)) return STATUS_INVALID_PARAMETER;
    request_.request_id = id;
    request_.service_id = wanted.svc_id;
    std::span<std::uint8_t> data(request_.private_data);
    if (wanted.p_ip != nullptr) {
        store(*wanted.p_ip, data.first<ip_header_size>());
        data = data.subspan(ip_header_size);
    }
    std::copy_n(static_cast<const std::uint8_t*>(wanted.p_pdata), wanted.pdata_length,
                data.begin());
    retries_left_ = wanted.max_cm_retries;
    response_timeout_ = wanted.remote_resp_timeout;
    if (wanted.p_path != nullptr) {
        path_ = *wanted.p_path;
        at_->attributes().adapt(path_);
        if (!at_->attributes().locate(path_)) return STATUS_INVALID_PARAMETER;
    }
    if (!waits_.park(irp, *at_, verb::resolve, this)) return STATUS_CANCELLED;
    reply_ = reply;
    *reply_ = {};
    at_->add(*this);
    if (wanted.p_path != nullptr)
        send_request(fx);
    else
        query_.begin(wanted.dest_gid, fx);
    return STATUS_PENDING;
}

// A canceller may have ended the resolution in the meantime.
void resolution::path_ended(port_object& object, NTSTATUS status, const sa_path_record_t* found,
                            effects& fx) {
    resolution& self = static_cast<resolution&>(object);
    if (!self.by_id.is_linked()) return;
    if (found != nullptr) self.path_ = *found;
    if (found == nullptr)
        self.finish(status, fx);
    else if (self.at_->attributes().locate(self.path_))
        self.send_request(fx);
    else
        self.finish(STATUS_HOST_UNREACHABLE, fx);
}

void resolution::send_request(effects& fx) {
    is_sent_ = true;
    request_.p_key = path_.P_Key;
    peer_ = datagram_address::along(path_);
    encode(request_, at_->new_transaction_id(), sent_);
    repeat(fx);
}

void resolution::repeat(effects& fx) {
    fx.send(peer_, sent_);
    at_->set_deadline(*this, response_time(path_.PacketLifeTime, response_timeout_));
}

void resolution::on_time(effects& fx) {
    if (retries_left_ == 0) return finish(STATUS_IO_TIMEOUT, fx);
    --retries_left_;
    ++at_->counters.resent;
    repeat(fx);
}

void resolution::take_response(const sidr_rep_message& from, effects& fx) {
    if (is_sent_) finish(fill_reply(from), fx);
}

NTSTATUS resolution::fill_reply(const sidr_rep_message& from) {
    const bool valid = from.status == IB_CM_SIDR_VALID;
    if (valid && !is_client_qp(from.qpn)) return STATUS_INVALID_NETWORK_RESPONSE;
    ib_cm_ud_reply_t& to = *reply_;
    to.status = from.status;
    if (valid) {
        to.qpn = from.qpn;
        to.q_key = from.q_key;
        to.av = address_vector(path_, *at_->attributes().locate(path_));
    }
    to.info_length = from.info_length;
    std::ranges::copy(from.info, to.info);
    to.pdata_length = static_cast<UCHAR>(from.private_data.size());
    std::ranges::copy(from.private_data, to.pdata);
    return valid ? STATUS_SUCCESS : STATUS_REQUEST_NOT_ACCEPTED;
}

// A canceller that owns the IRP ends the resolution itself.
void resolution::finish(NTSTATUS status, effects& fx) {
    if (IRP* const irp = waits_.take()) end(irp, status, fx);
}

void resolution::cancelled(IRP* irp, verb, effects& fx) {
    query_.cancel(fx);
    end(irp, STATUS_CANCELLED, fx);
}

void resolution::end(IRP* irp, NTSTATUS status, effects& fx) {
    --owner_.children;
    at_->remove(*this, fx);
    fx.complete(irp, status);
}

} // namespace irpverbs::cm::engine
