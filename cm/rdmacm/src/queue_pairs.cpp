// The queues of an id, and the states of its queue pair.
#include "guarded.hpp"

#include <verbs/library.h>
#include <verbs/objects.hpp>

#include <algorithm>

namespace irpverbs::rdmacm {

namespace {

// The code of the peer's wait for a receive, 655 ms, as rdma_cm's. Source: IBA 9.7.5.2.8.
constexpr std::uint8_t rnr_timer = 0;

int modify(cm_id& id, ibv_qp_attr attr, int mask) {
    return irpverbs_ibv_modify_qp(id.qp, &attr, mask);
}

// The index of the path's P_Key, or of the first one.
std::uint16_t pkey_index(const cm_id& id) {
    const int found =
        id.has_path() ? irpverbs_ibv_get_pkey_index(id.verbs, id.port_num, htobe16(id.path.P_Key))
                      : 0;
    return static_cast<std::uint16_t>(std::max(found, 0));
}

int init_attributes(const cm_id& id, ibv_qp_attr& attr) {
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = id.port_num;
    attr.pkey_index = pkey_index(id);
    if (id.is_datagram()) {
        attr.qkey = IB_CM_UDP_QKEY;
        return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    }
    attr.qp_access_flags =
        IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

/// Reads the attributes of RTR or RTS. Returns an errno value.
int connected_attributes(const cm_id& id, ibv_qp_state state, ibv_qp_attr& attr, int& mask) {
    attr = {};
    attr.qp_state = state;
    mask = IBV_QP_STATE;
    if (id.is_datagram()) {
        if (state == IBV_QPS_RTS) mask |= IBV_QP_SQ_PSN;
        return 0;
    }
    if (id.connection == nullptr) return EINVAL;
    ib_qp_mod_t change{};
    const NTSTATUS status =
        CmQueryQpChange(id.connection, state == IBV_QPS_RTR ? IB_QPS_RTR : IB_QPS_RTS, &change);
    if (!NT_SUCCESS(status)) return drop_in::error_of(status);
    attr = verbs::as_libibverbs(change);
    mask = static_cast<int>(change.opts);
    if ((mask & IBV_QP_MIN_RNR_TIMER) != 0) attr.min_rnr_timer = rnr_timer;
    if ((mask & IBV_QP_TIMEOUT) != 0 && id.ack_timeout) attr.timeout = *id.ack_timeout;
    return 0;
}

int datagram_to_rts(cm_id& id) {
    for (const ibv_qp_state state : {IBV_QPS_RTR, IBV_QPS_RTS}) {
        ibv_qp_attr attr;
        int mask = 0;
        connected_attributes(id, state, attr, mask);
        if (const int error = modify(id, attr, mask); error != 0) return error;
    }
    return 0;
}

// A completion queue with a channel, for the inline functions of rdma_verbs.h.
int make_cq(cm_id& id, std::uint32_t size, ibv_comp_channel*& channel, ibv_cq*& cq) {
    channel = irpverbs_ibv_create_comp_channel(id.verbs);
    if (channel == nullptr) return errno;
    cq = irpverbs_ibv_create_cq(id.verbs, static_cast<int>(std::max(size, 1u)), id.shown(), channel,
                                0);
    if (cq != nullptr) return 0;
    const int error = errno;
    irpverbs_ibv_destroy_comp_channel(std::exchange(channel, nullptr));
    return error;
}

void destroy_cq(ibv_comp_channel*& channel, ibv_cq*& cq) {
    if (cq != nullptr) irpverbs_ibv_destroy_cq(std::exchange(cq, nullptr));
    if (channel != nullptr) irpverbs_ibv_destroy_comp_channel(std::exchange(channel, nullptr));
}

void destroy_cqs(cm_id& id) {
    if (std::exchange(id.owns_recv_cq, false)) destroy_cq(id.recv_cq_channel, id.recv_cq);
    if (std::exchange(id.owns_send_cq, false)) destroy_cq(id.send_cq_channel, id.send_cq);
}

// The queue of receives, unless the program has chosen one for the id.
int make_recv_cq(cm_id& id, std::uint32_t size) {
    if (id.recv_cq != nullptr) return 0;
    const int error = make_cq(id, size, id.recv_cq_channel, id.recv_cq);
    id.owns_recv_cq = error == 0;
    return error;
}

int make_send_cq(cm_id& id, std::uint32_t size) {
    if (id.send_cq != nullptr) return 0;
    const int error = make_cq(id, size, id.send_cq_channel, id.send_cq);
    id.owns_send_cq = error == 0;
    return error;
}

// The queues that the program has chosen neither for the queue pair nor for the id. A half of an
// XRC has no others.
int make_cqs(cm_id& id, ibv_qp_init_attr_ex& attr) {
    const bool receives = attr.qp_type != IBV_QPT_XRC_SEND && attr.qp_type != IBV_QPT_XRC_RECV;
    if (receives && attr.recv_cq == nullptr) {
        if (const int error = make_recv_cq(id, attr.cap.max_recv_wr); error != 0) return error;
        attr.recv_cq = id.recv_cq;
    }
    if (attr.qp_type != IBV_QPT_XRC_RECV && attr.send_cq == nullptr) {
        if (const int error = make_send_cq(id, attr.cap.max_send_wr); error != 0) return error;
        attr.send_cq = id.send_cq;
    }
    return 0;
}

// A target belongs to the device's domain, if the program gives none.
int choose_xrc_domain(cm_id& id, ibv_qp_init_attr_ex& attr) {
    constexpr std::uint32_t mask = IBV_QP_INIT_ATTR_XRCD;
    if (attr.qp_type != IBV_QPT_XRC_RECV) return 0;
    if ((attr.comp_mask & mask) != 0 && attr.xrcd != nullptr) return 0;
    const int error = open_xrc_domain(*id.at->device);
    attr.comp_mask |= mask;
    attr.xrcd = id.at->device->xrcd;
    return error;
}

// An id has one queue for each direction, if it has any.
bool contradicts(const ibv_cq* of_the_id, const ibv_cq* wanted) {
    return of_the_id != nullptr && wanted != nullptr && of_the_id != wanted;
}

int create_qp(cm_id& id, ibv_qp_init_attr_ex& attr) {
    if (id.verbs == nullptr || id.qp != nullptr) return EINVAL;
    if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || attr.pd == nullptr) {
        attr.comp_mask |= IBV_QP_INIT_ATTR_PD;
        attr.pd = id.pd;
    }
    if (attr.pd->context != id.verbs || contradicts(id.recv_cq, attr.recv_cq) ||
        contradicts(id.send_cq, attr.send_cq))
        return EINVAL;
    const bool is_xrc = attr.qp_type == IBV_QPT_XRC_SEND || attr.qp_type == IBV_QPT_XRC_RECV;
    if (attr.srq == nullptr && !is_xrc) attr.srq = id.srq;
    int error = choose_xrc_domain(id, attr);
    if (error == 0) error = make_cqs(id, attr);
    if (error == 0) {
        id.qp = verbs_get_ctx(id.verbs)->create_qp_ex(id.verbs, &attr);
        error = id.qp == nullptr ? errno : to_init(id);
    }
    if (error == 0) {
        id.pd = attr.pd;
        id.qp_type = attr.qp_type;
        return id.is_datagram() ? datagram_to_rts(id) : 0;
    }
    if (id.qp != nullptr) irpverbs_ibv_destroy_qp(std::exchange(id.qp, nullptr));
    destroy_cqs(id);
    return error;
}

ibv_qp_init_attr_ex extended(ibv_pd* pd, const ibv_qp_init_attr& attr) {
    ibv_qp_init_attr_ex made{};
    made.qp_context = attr.qp_context;
    made.send_cq = attr.send_cq;
    made.recv_cq = attr.recv_cq;
    made.srq = attr.srq;
    made.cap = attr.cap;
    made.qp_type = attr.qp_type;
    made.sq_sig_all = attr.sq_sig_all;
    made.comp_mask = IBV_QP_INIT_ATTR_PD;
    made.pd = pd;
    return made;
}

// The domain and the completion queue are the device's and the id's, if the program gives none.
int complete_xrc(cm_id& id, ibv_srq_init_attr_ex& attr) {
    if ((attr.comp_mask & IBV_SRQ_INIT_ATTR_XRCD) == 0 || attr.xrcd == nullptr) {
        if (const int error = open_xrc_domain(*id.at->device); error != 0) return error;
        attr.xrcd = id.at->device->xrcd;
    }
    if ((attr.comp_mask & IBV_SRQ_INIT_ATTR_CQ) == 0 || attr.cq == nullptr) {
        if (const int error = make_recv_cq(id, attr.attr.max_wr); error != 0) return error;
        attr.cq = id.recv_cq;
    }
    attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    return 0;
}

int create_srq(cm_id& id, ibv_srq_init_attr_ex& attr) {
    if (id.verbs == nullptr || id.srq != nullptr) return EINVAL;
    if ((attr.comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attr.pd == nullptr) {
        attr.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
        attr.pd = id.pd;
    }
    const bool has_type = (attr.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
    if (has_type && attr.srq_type != IBV_SRQT_BASIC) {
        if (attr.srq_type == IBV_SRQT_XRC)
            if (const int error = complete_xrc(id, attr); error != 0) return error;
        id.srq = verbs_get_ctx(id.verbs)->create_srq_ex(id.verbs, &attr);
    } else {
        ibv_srq_init_attr basic{attr.srq_context, attr.attr};
        id.srq = irpverbs_ibv_create_srq(attr.pd, &basic);
        attr.attr = basic.attr;
    }
    if (id.srq == nullptr) return errno;
    id.pd = attr.pd;
    return 0;
}

} // namespace

int to_init(cm_id& id) {
    ibv_qp_attr attr{};
    const int mask = init_attributes(id, attr);
    return modify(id, attr, mask);
}

int to_connected(cm_id& id, std::uint8_t responder_resources, std::uint8_t initiator_depth) {
    for (const ibv_qp_state state : {IBV_QPS_RTR, IBV_QPS_RTS}) {
        ibv_qp_attr attr;
        int mask = 0;
        if (const int error = connected_attributes(id, state, attr, mask); error != 0) return error;
        attr.max_dest_rd_atomic = responder_resources;
        attr.max_rd_atomic = initiator_depth;
        if (const int error = modify(id, attr, mask); error != 0) return error;
    }
    return 0;
}

int to_error(cm_id& id) {
    ibv_qp_attr attr{};
    attr.qp_state = IBV_QPS_ERR;
    return modify(id, attr, IBV_QP_STATE);
}

} // namespace irpverbs::rdmacm

using namespace irpverbs::rdmacm;

extern "C" {

int irpverbs_rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attr) {
    return guarded([&] { return create_qp(cm_id::of(id), *attr); });
}

int irpverbs_rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* attr) {
    return guarded([&] {
        ibv_qp_init_attr_ex wanted = extended(pd, *attr);
        const int error = create_qp(cm_id::of(id), wanted);
        if (error == 0) attr->cap = wanted.cap;
        return error;
    });
}

void irpverbs_rdma_destroy_qp(rdma_cm_id* shown) {
    cm_id& id = cm_id::of(shown);
    if (id.qp != nullptr) irpverbs_ibv_destroy_qp(std::exchange(id.qp, nullptr));
    destroy_cqs(id);
}

int irpverbs_rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attr) {
    return guarded([&] { return create_srq(cm_id::of(id), *attr); });
}

int irpverbs_rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attr) {
    return guarded([&] {
        ibv_srq_init_attr_ex wanted{};
        wanted.srq_context = attr->srq_context;
        wanted.attr = attr->attr;
        wanted.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
        wanted.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
        wanted.pd = pd;
        const int error = create_srq(cm_id::of(id), wanted);
        if (error == 0) attr->attr = wanted.attr;
        return error;
    });
}

void irpverbs_rdma_destroy_srq(rdma_cm_id* id) {
    if (id->srq != nullptr) irpverbs_ibv_destroy_srq(std::exchange(id->srq, nullptr));
}

int irpverbs_rdma_init_qp_attr(rdma_cm_id* shown, ibv_qp_attr* attr, int* mask) {
    return guarded([&] {
        const cm_id& id = cm_id::of(shown);
        const ibv_qp_state state = attr->qp_state;
        if (id.verbs == nullptr) return EINVAL;
        *attr = {};
        if (state == IBV_QPS_INIT) {
            *mask = init_attributes(id, *attr);
            return 0;
        }
        if (state != IBV_QPS_RTR && state != IBV_QPS_RTS) return EINVAL;
        return connected_attributes(id, state, *attr, *mask);
    });
}

} // extern "C"
