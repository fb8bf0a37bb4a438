// Connections and services of datagrams, of the active end.
#include "guarded.hpp"

#include <drop_in/verb_call.hpp>
#include <verbs/objects.hpp>

#include <algorithm>

namespace irpverbs::rdmacm {

namespace {

/// The parameters that the program leaves out.
constexpr rdma_conn_param initial_parameters() {
    rdma_conn_param made{};
    made.responder_resources = RDMA_MAX_RESP_RES;
    made.initiator_depth = RDMA_MAX_INIT_DEPTH;
    made.flow_control = 1;
    made.retry_count = 7;
    made.rnr_retry_count = 7;
    return made;
}

std::uint8_t at_most(std::uint8_t wanted, int limit) {
    return static_cast<std::uint8_t>(std::min<int>(wanted, std::min(limit, 0xFF)));
}

int connect(cm_id& id, const rdma_conn_param& param) {
    if (param.private_data_len > IB_CM_REQ_IP_PDATA_SIZE) return EINVAL;
    const ibv_device_attr& limits = id.at->device->limits;
    const ib_cm_ip_t addresses = wire_addresses(id.source(), id.destination());
    ib_cm_connect_t wanted;
    CmInitializeConnect(&wanted);
    wanted.qpn = id.qp != nullptr ? id.qp->qp_num : param.qp_num;
    wanted.srq = id.qp != nullptr ? id.qp->srq != nullptr : param.srq != 0;
    wanted.qp_type = id.connection_type();
    wanted.svc_id = id.service_id(id.destination().port);
    wanted.p_primary_path = &id.path;
    wanted.p_ip = &addresses;
    wanted.p_pdata = param.private_data;
    wanted.pdata_length = param.private_data_len;
    wanted.resp_res = at_most(param.responder_resources, limits.max_qp_rd_atom);
    wanted.init_depth = at_most(param.initiator_depth, limits.max_qp_init_rd_atom);
    wanted.retry_cnt = std::min(param.retry_count, std::uint8_t{7});
    wanted.rnr_retry_cnt = std::min(param.rnr_retry_count, std::uint8_t{7});
    const bool started =
        id.request.start([&](IRP* irp) { CmConnect(id.at->cm, &wanted, &id.reply, irp); });
    return started ? 0 : EINVAL;
}

int resolve_service(cm_id& id, const rdma_conn_param& param) {
    if (param.private_data_len > IB_CM_SIDR_REQ_IP_PDATA_SIZE) return EINVAL;
    const ib_cm_ip_t addresses = wire_addresses(id.source(), id.destination());
    ib_cm_resolve_ud_t wanted;
    CmInitializeResolveUd(&wanted);
    wanted.svc_id = id.service_id(id.destination().port);
    wanted.p_path = &id.path;
    wanted.p_ip = &addresses;
    wanted.p_pdata = param.private_data;
    wanted.pdata_length = param.private_data_len;
    const bool started =
        id.request.start([&](IRP* irp) { CmResolveUd(id.at->cm, &wanted, &id.ud_reply, irp); });
    return started ? 0 : EINVAL;
}

int request(cm_id& id, const rdma_conn_param* param) {
    if (!is_valid(id, param)) return EINVAL;
    if (const int error = open_manager(*id.at); error != 0) return error;
    id.requested = std::make_unique<queued_event>();
    const rdma_conn_param wanted = param != nullptr ? *param : initial_parameters();
    return id.is_datagram() ? resolve_service(id, wanted) : connect(id, wanted);
}

NTSTATUS complete_connect(cm_id& id) {
    const NTSTATUS status = drop_in::call_verb(id.at->device->fdo, [&](IRP* irp) {
                                CmCompleteConnect(id.connection, nullptr, 0, irp);
                            }).status;
    id.is_connected = NT_SUCCESS(status);
    return status;
}

void reject_reply(cm_id& id) {
    ib_cm_reject_t with{};
    with.reason = IB_CM_REJ_NO_RESOURCES;
    drop_in::call_verb(id.at->device->fdo, [&](IRP* irp) { CmReject(id.connection, &with, irp); });
}

// As the library of rdma-core: the reply of the peer establishes the connection of an id with a
// queue pair.
void finish_connect(cm_id& id, queued_event& event) {
    if (id.qp == nullptr) return id.await_ends();
    const rdma_conn_param& granted = event.param.conn;
    int error = to_connected(id, granted.responder_resources, granted.initiator_depth);
    if (error != 0)
        reject_reply(id);
    else
        error = drop_in::error_of(complete_connect(id));
    id.await_ends();
    event.event = error == 0 ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_ERROR;
    event.status = -error;
}

// A peer that gives up before the connection exists has rejected it.
void as_rejection(queued_event& event) {
    event.event = RDMA_CM_EVENT_REJECTED;
    event.status = IB_CM_REJ_CONSUMER_DEFINED;
}

} // namespace

// 0xFF is the most that the device has.
bool is_valid(const cm_id& id, const rdma_conn_param* param) {
    if (id.is_datagram()) return true;
    if (param == nullptr) return id.qp != nullptr;
    const ibv_device_attr& limits = id.at->device->limits;
    const auto fits = [](std::uint8_t wanted, int limit) {
        return wanted == 0xFF || wanted <= limit;
    };
    return fits(param->responder_resources, limits.max_qp_rd_atom) &&
           fits(param->initiator_depth, limits.max_qp_init_rd_atom);
}

void finish_taken(queued_event& event) {
    cm_id& id = cm_id::of(event.id);
    if (event.event == RDMA_CM_EVENT_CONNECT_RESPONSE) finish_connect(id, event);
    if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST) finish_request(event);
    if (event.event == RDMA_CM_EVENT_MULTICAST_JOIN) finish_join(event);
    if (event.event == RDMA_CM_EVENT_ESTABLISHED) id.is_established = true;
    if (event.event == RDMA_CM_EVENT_DISCONNECTED && !id.is_established) as_rejection(event);
    if (event.event == RDMA_CM_EVENT_REJECTED && id.qp != nullptr) to_error(id); // flushes receives
}

// Timeouts have the kernel's events and numbers.
void cm_id::fail_request(NTSTATUS status) {
    switch (status) {
    case STATUS_CANCELLED: // by rdma_destroy_id
        return;
    case STATUS_IO_TIMEOUT:
        return emit(std::move(requested), RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
    case STATUS_HOST_UNREACHABLE:
        return emit(std::move(requested), RDMA_CM_EVENT_UNREACHABLE, -EHOSTUNREACH);
    default:
        return emit(std::move(requested), RDMA_CM_EVENT_CONNECT_ERROR, -drop_in::error_of(status));
    }
}

void cm_id::request_ended(void* context, NTSTATUS status, ULONG_PTR information) {
    cm_id& self = *static_cast<cm_id*>(context);
    if (self.is_passive)
        self.accept_ended(status);
    else if (self.is_datagram())
        self.service_resolved(status);
    else
        self.connect_ended(status, information);
}

void cm_id::connect_ended(NTSTATUS status, ULONG_PTR information) {
    if (status == STATUS_REQUEST_NOT_ACCEPTED) {
        requested->set_private_data({reply.pdata, IB_CM_REJ_PDATA_SIZE});
        return emit(std::move(requested), RDMA_CM_EVENT_REJECTED, reply.rej_reason);
    }
    if (!NT_SUCCESS(status)) return fail_request(status);
    connection = reinterpret_cast<IB_CM_CONNECTION*>(information);
    rdma_conn_param& param = requested->param.conn;
    param.responder_resources = reply.resp_res;
    param.initiator_depth = reply.init_depth;
    param.flow_control = 1;
    param.rnr_retry_count = 7;
    param.srq = reply.srq;
    param.qp_num = reply.qpn;
    requested->set_private_data({reply.pdata, reply.pdata_length});
    emit(std::move(requested), RDMA_CM_EVENT_CONNECT_RESPONSE);
}

void cm_id::service_resolved(NTSTATUS status) {
    if (status == STATUS_REQUEST_NOT_ACCEPTED)
        return emit(std::move(requested), RDMA_CM_EVENT_UNREACHABLE, ud_reply.status);
    if (!NT_SUCCESS(status)) return fail_request(status);
    rdma_ud_param& param = requested->param.ud;
    param.qp_num = ud_reply.qpn;
    param.qkey = ud_reply.q_key;
    param.ah_attr = verbs::as_libibverbs(ud_reply.av);
    requested->set_datagram_data({ud_reply.pdata, ud_reply.pdata_length});
    emit(std::move(requested), RDMA_CM_EVENT_ESTABLISHED);
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

extern "C" {

int irpverbs_rdma_connect(rdma_cm_id* shown, rdma_conn_param* param) {
    return guarded([&] {
        cm_id& id = cm_id::of(shown);
        if (!id.advance(progress::route_resolved, progress::connecting)) return EINVAL;
        const int error = request(id, param);
        if (error != 0) id.stage = progress::route_resolved;
        return error;
    });
}

int irpverbs_rdma_establish(rdma_cm_id* shown) {
    return guarded([&] {
        cm_id& id = cm_id::of(shown);
        if (id.qp != nullptr || id.connection == nullptr || id.is_passive) return EINVAL;
        const int error = irpverbs::drop_in::error_of(complete_connect(id));
        id.is_established = error == 0;
        return error;
    });
}

} // extern "C"
