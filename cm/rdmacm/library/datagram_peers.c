/* The peers of a datagram socket, and the ways to their queue pairs. */
#include "datagram.h"

#include <errno.h>
#include <string.h>

enum { resolution_ms = 2000 };

socklen_t datagram_size_of(const union datagram_address* address) {
    return address->any.sa_family == AF_INET6 ? sizeof address->version_6
                                              : sizeof address->version_4;
}

bool datagram_is_same(const union datagram_address* one, const union datagram_address* other) {
    if (one->any.sa_family != other->any.sa_family) return false;
    if (one->any.sa_family == AF_INET)
        return one->version_4.sin_port == other->version_4.sin_port &&
               one->version_4.sin_addr.s_addr == other->version_4.sin_addr.s_addr;
    return one->version_6.sin6_port == other->version_6.sin6_port &&
           memcmp(&one->version_6.sin6_addr, &other->version_6.sin6_addr,
                  sizeof one->version_6.sin6_addr) == 0;
}

static bool is_any(const union datagram_address* address) {
    return address->any.sa_family == AF_INET
               ? address->version_4.sin_addr.s_addr == INADDR_ANY
               : IN6_IS_ADDR_UNSPECIFIED(&address->version_6.sin6_addr);
}

/* The address of the port that reaches the peer, which need not be the one that the system would
   send from. */
static int find_source(const union datagram_address* to, union datagram_address* from) {
    union datagram_address address = *to;
    struct rdma_cm_id* id;
    int error = 0;
    if (rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP) != 0) return errno;
    if (rdma_resolve_addr(id, NULL, &address.any, resolution_ms) == 0)
        memcpy(from, rdma_get_local_addr(id), datagram_size_of(&address));
    else
        error = errno;
    rdma_destroy_id(id);
    return error;
}

/* The socket's own address for a peer. The ports of both families are in one place. */
static int own_address(const struct datagram* socket, const union datagram_address* to,
                       union datagram_address* own) {
    socklen_t size = sizeof *own;
    in_port_t number;
    int error;
    if (getsockname(socket->udp, &own->any, &size) != 0) return errno;
    if (!is_any(own)) return 0;
    number = own->version_4.sin_port;
    error = find_source(to, own);
    own->version_4.sin_port = number;
    return error;
}

/* A number of its own, so that it can be a part of the ports' address. */
static int bind_unbound(const struct datagram* socket, const union datagram_address* to) {
    union datagram_address own;
    socklen_t size = sizeof own;
    if (getsockname(socket->udp, &own.any, &size) != 0) return errno;
    if (own.version_4.sin_port != 0) return 0;
    memset(&own, 0, sizeof own);
    own.any.sa_family = to->any.sa_family;
    return bind(socket->udp, &own.any, datagram_size_of(&own)) == 0 ? 0 : errno;
}

static struct datagram_port* port_to(struct datagram* socket, const union datagram_address* to) {
    union datagram_address own;
    int error = bind_unbound(socket, to);
    memset(&own, 0, sizeof own);
    if (error == 0) error = own_address(socket, to, &own);
    if (error == 0) return datagram_port_at(socket, &own);
    errno = error;
    return NULL;
}

struct datagram_peer* datagram_peer_at(struct datagram* socket,
                                       const union datagram_address* address) {
    struct datagram_peer* peer;
    struct datagram_port* port;
    for (peer = socket->peers; peer != NULL; peer = peer->next)
        if (datagram_is_same(&peer->address, address)) return peer;
    port = port_to(socket, address);
    if (port == NULL) return NULL;
    peer = calloc(1, sizeof *peer);
    if (peer == NULL) return NULL;
    peer->address = *address;
    peer->by = port;
    peer->next = socket->peers;
    socket->peers = peer;
    return peer;
}

/* ---- ways */

static uint8_t index_of_gid(const struct rdma_cm_id* id, const union ibv_gid* wanted) {
    enum { MOST = 32 };
    int i;
    for (i = 0; i < MOST; ++i) {
        union ibv_gid each;
        if (irpverbs_ibv_query_gid(id->verbs, id->port_num, i, &each) != 0) break;
        if (memcmp(&each, wanted, sizeof each) == 0) return (uint8_t)i;
    }
    return 0;
}

static struct ibv_ah* make_way(const struct datagram_port* by, const struct rdma_cm_id* resolved) {
    const struct ibv_sa_path_rec* path = resolved->route.path_rec;
    struct ibv_ah_attr attr;
    memset(&attr, 0, sizeof attr);
    if (path->hop_limit > 1) {
        attr.is_global = 1;
        attr.grh.dgid = path->dgid;
        attr.grh.flow_label = be32toh(path->flow_label);
        attr.grh.sgid_index = index_of_gid(by->id, &path->sgid);
        attr.grh.hop_limit = path->hop_limit;
        attr.grh.traffic_class = path->traffic_class;
    }
    attr.dlid = be16toh(path->dlid);
    attr.sl = path->sl;
    attr.static_rate = path->rate;
    attr.port_num = by->id->port_num;
    return irpverbs_ibv_create_ah(by->id->pd, &attr);
}

/* Without a way datagrams go by UDP. */
void datagram_resolve(struct datagram_peer* peer, uint32_t qpn) {
    union datagram_address from = peer->by->own;
    struct rdma_cm_id* id;
    if (peer->ah != NULL && peer->qpn == qpn) return;
    if (peer->ah != NULL) irpverbs_ibv_destroy_ah(peer->ah);
    peer->ah = NULL;
    peer->qpn = qpn;
    from.version_4.sin_port = 0; /* of both families */
    if (rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP) != 0) return;
    if (rdma_resolve_addr(id, &from.any, &peer->address.any, resolution_ms) == 0 &&
        rdma_resolve_route(id, resolution_ms) == 0)
        peer->ah = make_way(peer->by, id);
    rdma_destroy_id(id);
}

void datagram_free_peer(struct datagram_peer* peer) {
    if (peer->ah != NULL) irpverbs_ibv_destroy_ah(peer->ah);
    free(peer);
}
