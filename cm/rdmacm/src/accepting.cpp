// Connections and services of datagrams, of the passive end.
#include "guarded.hpp"
#include "listener.hpp"

#include <drop_in/verb_call.hpp>

#include <algorithm>

namespace irpverbs::rdmacm {

namespace {

constexpr std::uint16_t vendor_option = IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED;

// The program's number, or the peer's offer.
std::uint8_t chosen(const std::uint8_t* wanted, std::uint8_t offered, int limit) {
    const int most = std::min(limit, 0xFF);
    const int number = wanted != nullptr && *wanted != 0xFF ? *wanted : offered;
    return static_cast<std::uint8_t>(std::min(number, most));
}

// Sets the queue pair's attributes, if it is the id's, and sends the reply.
int accept_connection(cm_id& id, const rdma_conn_param* param) {
    if (param != nullptr && param->private_data_len > IB_CM_REP_PDATA_SIZE) return EINVAL;
    if (id.is_accepted || !is_valid(id, param)) return EINVAL;
    const ibv_device_attr& limits = id.at->device->limits;
    ib_cm_accept_t wanted;
    CmInitializeAccept(&wanted);
    wanted.resp_res = chosen(param != nullptr ? &param->responder_resources : nullptr,
                             id.offered_responder_resources, limits.max_qp_rd_atom);
    wanted.init_depth = chosen(param != nullptr ? &param->initiator_depth : nullptr,
                               id.offered_initiator_depth, limits.max_qp_init_rd_atom);
    if (param != nullptr) {
        wanted.p_pdata = param->private_data;
        wanted.pdata_length = param->private_data_len;
        wanted.rnr_retry_cnt = std::min(param->rnr_retry_count, std::uint8_t{7});
    }
    wanted.qpn = id.qp != nullptr ? id.qp->qp_num : param->qp_num;
    wanted.qp_type = id.connection_type();
    wanted.srq = id.qp != nullptr ? id.qp->srq != nullptr : param->srq != 0;
    if (id.qp != nullptr) {
        const int error = to_connected(id, wanted.resp_res, wanted.init_depth);
        if (error != 0) return error;
    }
    id.requested = std::make_unique<queued_event>();
    const bool started = id.request.start([&](IRP* irp) { CmAccept(id.connection, &wanted, irp); });
    id.is_accepted = started;
    return started ? 0 : EINVAL;
}

int respond(cm_id& id, const ib_cm_ud_response_t& with) {
    return drop_in::error_of(drop_in::call_verb(id.at->device->fdo, [&](IRP* irp) {
                                 CmRespondUd(id.ud_request, &with, irp);
                             }).status);
}

int accept_datagrams(cm_id& id, const rdma_conn_param* param) {
    if (id.qp == nullptr && param == nullptr) return EINVAL;
    ib_cm_ud_response_t with{};
    with.status = IB_CM_SIDR_VALID;
    with.qpn = id.qp != nullptr ? id.qp->qp_num : param->qp_num;
    with.q_key = IB_CM_UDP_QKEY;
    if (param != nullptr) {
        with.p_pdata = param->private_data;
        with.pdata_length = param->private_data_len;
    }
    return respond(id, with);
}

int reject(cm_id& id, std::uint16_t reason, const void* data, std::uint8_t size) {
    if (id.ud_request != nullptr) {
        ib_cm_ud_response_t with{};
        with.status = IB_CM_SIDR_REJECTED;
        with.p_pdata = data;
        with.pdata_length = size;
        return respond(id, with);
    }
    if (id.connection == nullptr) return EINVAL;
    const ib_cm_reject_t with{reason, 0, size, nullptr, data};
    return drop_in::error_of(drop_in::call_verb(id.at->device->fdo, [&](IRP* irp) {
                                 CmReject(id.connection, &with, irp);
                             }).status);
}

} // namespace

// The peer's end of an unfinished connection is reported by the connection's own event.
void cm_id::accept_ended(NTSTATUS status) {
    is_connected = NT_SUCCESS(status);
    if (is_connected) return emit(std::move(requested), RDMA_CM_EVENT_ESTABLISHED);
    if (status == STATUS_REQUEST_NOT_ACCEPTED || status == STATUS_REQUEST_ABORTED) return;
    fail_request(status);
}

// The next request of the service is awaited when the program has taken this one.
void finish_request(queued_event& event) {
    cm_id& fresh = cm_id::of(event.id);
    if (fresh.connection != nullptr) fresh.await_ends();
    for (const auto& each : cm_id::of(event.listen_id).listeners)
        if (&each->at == fresh.at) each->wait();
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

extern "C" {

int irpverbs_rdma_accept(rdma_cm_id* shown, rdma_conn_param* param) {
    return guarded([&] {
        cm_id& id = cm_id::of(shown);
        if (id.ud_request != nullptr) return accept_datagrams(id, param);
        return id.is_passive && id.connection != nullptr ? accept_connection(id, param) : EINVAL;
    });
}

int irpverbs_rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t size) {
    return guarded([&] { return reject(cm_id::of(id), IB_CM_REJ_CONSUMER_DEFINED, data, size); });
}

int irpverbs_rdma_reject_ece(rdma_cm_id* id, const void* data, std::uint8_t size) {
    return guarded([&] { return reject(cm_id::of(id), vendor_option, data, size); });
}

int irpverbs_rdma_notify(rdma_cm_id* shown, ibv_event_type event) {
    return guarded([&] {
        cm_id& id = cm_id::of(shown);
        if (event != IBV_EVENT_COMM_EST || id.connection == nullptr) return EINVAL;
        CmNotifyEstablished(id.connection);
        return 0;
    });
}

int irpverbs_rdma_keep_qp_attributes(rdma_cm_id* shown, ibv_pd* pd, const ibv_qp_init_attr* attr) {
    return guarded([&] {
        cm_id& id = cm_id::of(shown);
        id.requests_pd = pd;
        id.requests_qp = *attr;
        return 0;
    });
}

int irpverbs_rdma_adopt_request(rdma_cm_id* listener, rdma_cm_id* fresh) {
    const cm_id& from = cm_id::of(listener);
    if (from.requests_qp) {
        ibv_qp_init_attr attr = *from.requests_qp;
        if (irpverbs_rdma_create_qp(fresh, from.requests_pd, &attr) != 0) return -1;
    }
    return irpverbs_rdma_migrate_id(fresh, nullptr);
}

} // extern "C"
