/* The queue pairs of a datagram socket, with their memory. All share one completion queue, so they
   are those of one device. */
#include "datagram.h"

#include <errno.h>
#include <string.h>

enum { ROUTE_SIZE = sizeof(struct ibv_grh), RECEIVE_SIZE = ROUTE_SIZE + DATAGRAM_SIZE };

uint8_t* datagram_receive_slot(const struct datagram_port* port, uint32_t slot) {
    return port->receives + (size_t)slot * RECEIVE_SIZE;
}

int datagram_post_receive(const struct datagram_port* port, uint32_t slot) {
    struct ibv_sge into = {(uintptr_t)datagram_receive_slot(port, slot), RECEIVE_SIZE,
                           port->receive_mr->lkey};
    struct ibv_recv_wr what;
    struct ibv_recv_wr* bad;
    memset(&what, 0, sizeof what);
    what.wr_id = slot;
    what.sg_list = &into;
    what.num_sge = 1;
    return ibv_post_recv(port->id->qp, &what, &bad);
}

static uint32_t bytes_of_mtu(enum ibv_mtu mtu) { return 128u << mtu; }

/* The queue for the ports that follow, too. */
static int make_queue(struct datagram* socket, struct ibv_context* device) {
    const uint32_t size = 4 * (socket->options.send_requests + socket->options.receive_requests);
    if (socket->cq != NULL) return socket->cq->context == device ? 0 : EHOSTUNREACH;
    socket->completions = irpverbs_ibv_create_comp_channel(device);
    if (socket->completions == NULL) return errno;
    socket->cq = irpverbs_ibv_create_cq(device, (int)size, socket, socket->completions, 0);
    return socket->cq != NULL ? 0 : errno;
}

static int make_queue_pair(const struct datagram* socket, struct datagram_port* port) {
    struct ibv_qp_init_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.qp_context = port;
    attr.qp_type = IBV_QPT_UD;
    attr.send_cq = attr.recv_cq = socket->cq;
    attr.sq_sig_all = 1;
    attr.cap.max_send_wr = socket->options.send_requests;
    attr.cap.max_recv_wr = socket->options.receive_requests;
    attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
    return rdma_create_qp(port->id, NULL, &attr) == 0 ? 0 : errno;
}

static int make_memory(const struct datagram* socket, struct datagram_port* port) {
    const size_t sends = (size_t)socket->options.send_requests * DATAGRAM_SIZE;
    const size_t receives = (size_t)socket->options.receive_requests * RECEIVE_SIZE;
    uint32_t i;
    port->sends = malloc(sends);
    port->receives = malloc(receives);
    port->free_sends = calloc(socket->options.send_requests, sizeof *port->free_sends);
    if (port->sends == NULL || port->receives == NULL || port->free_sends == NULL) return ENOMEM;
    port->send_mr = irpverbs_ibv_reg_mr(port->id->pd, port->sends, sends, IBV_ACCESS_LOCAL_WRITE);
    port->receive_mr =
        irpverbs_ibv_reg_mr(port->id->pd, port->receives, receives, IBV_ACCESS_LOCAL_WRITE);
    if (port->send_mr == NULL || port->receive_mr == NULL) return ENOMEM;
    for (i = 0; i < socket->options.send_requests; ++i)
        port->free_sends[port->free_count++] = i;
    return 0;
}

static int post_receives(const struct datagram* socket, const struct datagram_port* port) {
    uint32_t i;
    int error = 0;
    for (i = 0; error == 0 && i < socket->options.receive_requests; ++i)
        error = datagram_post_receive(port, i);
    return error;
}

static int query_most(struct datagram_port* port) {
    struct ibv_port_attr attr;
    const int error = irpverbs_ibv_query_port(port->id->verbs, port->id->port_num,
                                              (struct _compat_ibv_port_attr*)&attr);
    if (error != 0) return error;
    port->most = bytes_of_mtu(attr.active_mtu);
    if (port->most > DATAGRAM_SIZE) port->most = DATAGRAM_SIZE;
    return 0;
}

static int open_port(struct datagram* socket, struct datagram_port* port) {
    int error;
    if (rdma_create_id(NULL, &port->id, port, RDMA_PS_UDP) != 0) return errno;
    if (rdma_bind_addr(port->id, &port->own.any) != 0) return errno;
    error = make_queue(socket, port->id->verbs);
    if (error == 0) error = make_queue_pair(socket, port);
    if (error == 0) error = make_memory(socket, port);
    if (error == 0) error = query_most(port);
    return error == 0 ? post_receives(socket, port) : error;
}

struct datagram_port* datagram_port_at(struct datagram* socket, const union datagram_address* own) {
    struct datagram_port* port;
    int error;
    for (port = socket->ports; port != NULL; port = port->next)
        if (datagram_is_same(&port->own, own)) return port;
    port = calloc(1, sizeof *port);
    if (port == NULL) return NULL;
    port->own = *own;
    error = open_port(socket, port);
    if (error == 0) {
        port->next = socket->ports;
        socket->ports = port;
        return port;
    }
    datagram_free_port(port);
    errno = error;
    return NULL;
}

void datagram_free_port(struct datagram_port* port) {
    if (port->id != NULL && port->id->qp != NULL) rdma_destroy_qp(port->id);
    if (port->send_mr != NULL) irpverbs_ibv_dereg_mr(port->send_mr);
    if (port->receive_mr != NULL) irpverbs_ibv_dereg_mr(port->receive_mr);
    if (port->id != NULL) rdma_destroy_id(port->id);
    free(port->sends);
    free(port->receives);
    free(port->free_sends);
    free(port);
}
