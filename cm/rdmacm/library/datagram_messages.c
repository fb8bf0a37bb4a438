/* The messages of datagram sockets: over UDP, with the sender's queue pair, and between queue
   pairs. */
#define _GNU_SOURCE /* struct in6_pktinfo */
#include "datagram.h"

#include <errno.h>
#include <string.h>

enum { SEND_FLAG = 1 << 30 }; /* in a wr_id, whose other bits are the slot */

/* ---- received */

/* A datagram for which there is no room is lost. */
static void keep(struct datagram* socket, const union datagram_address* from, const uint8_t* data,
                 size_t length) {
    struct datagram_message* made;
    if (socket->waiting == socket->options.receive_requests) return;
    made = malloc(sizeof *made + length);
    if (made == NULL) return;
    made->next = NULL;
    made->from = *from;
    made->length = (uint32_t)length;
    memcpy(made->data, data, length);
    *socket->last = made;
    socket->last = &made->next;
    ++socket->waiting;
}

/* The sender's address. False: the header is wrong. */
static bool read_header(const uint8_t* bytes, size_t size, union datagram_address* from) {
    struct datagram_header header;
    memset(from, 0, sizeof *from);
    memset(&header, 0, sizeof header);
    memcpy(&header, bytes, size < sizeof header ? size : sizeof header);
    if (size < header.length) return false;
    if (header.version == 4 && header.length == DATAGRAM_HEADER_4) {
        from->version_4.sin_family = AF_INET;
        from->version_4.sin_port = header.port;
        memcpy(&from->version_4.sin_addr, header.from.version_4, sizeof header.from.version_4);
        return true;
    }
    from->version_6.sin6_family = AF_INET6;
    from->version_6.sin6_port = header.port;
    from->version_6.sin6_flowinfo = header.from.version_6.flow;
    memcpy(&from->version_6.sin6_addr, header.from.version_6.address,
           sizeof header.from.version_6.address);
    return header.version == 6 && header.length == DATAGRAM_HEADER_6;
}

static void take_received(struct datagram* socket, const struct datagram_port* at, uint32_t slot,
                          const struct ibv_wc* completion) {
    const uint8_t* const bytes = datagram_receive_slot(at, slot) + sizeof(struct ibv_grh);
    union datagram_address from;
    if (completion->status != IBV_WC_SUCCESS) return; /* the queue pair has ended */
    if (completion->byte_len >= sizeof(struct ibv_grh) + DATAGRAM_HEADER_4) {
        const size_t size = completion->byte_len - sizeof(struct ibv_grh);
        if (read_header(bytes, size, &from)) keep(socket, &from, bytes + bytes[1], size - bytes[1]);
    }
    datagram_post_receive(at, slot);
}

static struct datagram_port* port_of(const struct datagram* socket, uint32_t qpn) {
    struct datagram_port* port = socket->ports;
    while (port != NULL && port->id->qp->qp_num != qpn)
        port = port->next;
    return port;
}

static void take_completions(struct datagram* socket) {
    struct ibv_wc completion;
    while (socket->cq != NULL && ibv_poll_cq(socket->cq, 1, &completion) == 1) {
        struct datagram_port* const at = port_of(socket, completion.qp_num);
        const uint32_t slot = (uint32_t)completion.wr_id & ~(uint32_t)SEND_FLAG;
        if (at == NULL) continue;
        if ((completion.wr_id & SEND_FLAG) != 0)
            at->free_sends[at->free_count++] = slot;
        else
            take_received(socket, at, slot, &completion);
    }
}

/* ---- over UDP */

static size_t write_udp_header(const struct datagram_port* by, enum datagram_operation operation,
                               struct datagram_udp_header* made) {
    const bool is_version_4 = by->own.any.sa_family == AF_INET;
    memset(made, 0, sizeof *made);
    made->tag = htobe32(DATAGRAM_TAG);
    made->version = is_version_4 ? 4 : 6;
    made->operation = (uint8_t)operation;
    made->length = is_version_4 ? DATAGRAM_UDP_HEADER_4 : DATAGRAM_UDP_HEADER_6;
    made->qpn = htobe32(by->id->qp->qp_num);
    if (is_version_4)
        memcpy(made->address, &by->own.version_4.sin_addr, sizeof by->own.version_4.sin_addr);
    else
        memcpy(made->address, &by->own.version_6.sin6_addr, sizeof by->own.version_6.sin6_addr);
    return made->length;
}

/* The source is the port's address, also of a socket that is bound to any. */
union source {
    struct cmsghdr header;
    uint8_t room[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

static void set_option(struct msghdr* of, union source* made, int level, int type,
                       const void* value, size_t size) {
    memset(made, 0, sizeof *made);
    made->header.cmsg_level = level;
    made->header.cmsg_type = type;
    made->header.cmsg_len = CMSG_LEN(size);
    memcpy(CMSG_DATA(&made->header), value, size);
    of->msg_control = made;
    of->msg_controllen = CMSG_SPACE(size);
}

static void set_source(struct msghdr* of, const struct datagram_port* by, union source* made) {
    const struct in_pktinfo version_4 = {.ipi_spec_dst = by->own.version_4.sin_addr};
    const struct in6_pktinfo version_6 = {.ipi6_addr = by->own.version_6.sin6_addr};
    if (by->own.any.sa_family == AF_INET)
        set_option(of, made, IPPROTO_IP, IP_PKTINFO, &version_4, sizeof version_4);
    else
        set_option(of, made, IPPROTO_IPV6, IPV6_PKTINFO, &version_6, sizeof version_6);
}

static int send_by_udp(const struct datagram* socket, const struct datagram_peer* to,
                       enum datagram_operation operation, const void* data, size_t size) {
    struct datagram_udp_header header;
    union datagram_address name = to->address;
    struct iovec parts[2] = {{&header, write_udp_header(to->by, operation, &header)},
                             {(void*)(uintptr_t)data, size}};
    struct msghdr message;
    union source source;
    memset(&message, 0, sizeof message);
    message.msg_name = &name;
    message.msg_namelen = datagram_size_of(&name);
    message.msg_iov = parts;
    message.msg_iovlen = size != 0 ? 2 : 1;
    set_source(&message, to->by, &source);
    return sendmsg(socket->udp, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 0 : errno;
}

static bool is_udp_header(const struct datagram_udp_header* header, size_t size,
                          const union datagram_address* from) {
    const bool is_version_4 = from->any.sa_family == AF_INET;
    return size >= header->length && header->tag == htobe32(DATAGRAM_TAG) &&
           header->version == (is_version_4 ? 4 : 6) &&
           header->length == (is_version_4 ? DATAGRAM_UDP_HEADER_4 : DATAGRAM_UDP_HEADER_6);
}

/* The peer learns this end's queue pair from the response, whether or not this end sends. */
static void take_udp_message(struct datagram* socket, const uint8_t* bytes, size_t size,
                             const union datagram_address* from) {
    struct datagram_udp_header header;
    struct datagram_peer* peer;
    memset(&header, 0, sizeof header);
    memcpy(&header, bytes, size < sizeof header ? size : sizeof header);
    if (!is_udp_header(&header, size, from)) return;
    peer = datagram_peer_at(socket, from);
    if (peer == NULL) return;
    if (header.operation == DATAGRAM_DATA) {
        send_by_udp(socket, peer, DATAGRAM_CONTROL, NULL, 0);
        keep(socket, from, bytes + header.length, size - header.length);
    }
    datagram_resolve(peer, be32toh(header.qpn) & 0xFFFFFF);
}

/* One that is longer than any of a datagram socket is lost, not shortened. */
static void take_udp_messages(struct datagram* socket) {
    enum { MOST_AT_ONCE = 64 };
    uint8_t bytes[DATAGRAM_SIZE + DATAGRAM_UDP_HEADER_6];
    int i;
    for (i = 0; i < MOST_AT_ONCE; ++i) {
        union datagram_address from;
        socklen_t size = sizeof from;
        ssize_t length;
        memset(&from, 0, sizeof from);
        length =
            recvfrom(socket->udp, bytes, sizeof bytes, MSG_DONTWAIT | MSG_TRUNC, &from.any, &size);
        if (length < 0) return;
        if ((size_t)length <= sizeof bytes) take_udp_message(socket, bytes, (size_t)length, &from);
    }
}

/* ---- both */

void datagram_advance(struct datagram* socket) {
    take_udp_messages(socket);
    take_completions(socket);
}

void datagram_await_event(struct datagram* socket) {
    if (socket->cq != NULL) ibv_req_notify_cq(socket->cq, 0);
    datagram_advance(socket);
}

bool datagram_can_send(const struct datagram* socket) {
    const struct datagram_port* port;
    for (port = socket->ports; port != NULL; port = port->next)
        if (port->free_count == 0) return false;
    return true;
}

static size_t write_header(const struct datagram_port* by, uint8_t* to) {
    const bool is_version_4 = by->own.any.sa_family == AF_INET;
    struct datagram_header header;
    memset(&header, 0, sizeof header);
    header.version = is_version_4 ? 4 : 6;
    header.length = is_version_4 ? DATAGRAM_HEADER_4 : DATAGRAM_HEADER_6;
    if (is_version_4) {
        header.port = by->own.version_4.sin_port;
        memcpy(header.from.version_4, &by->own.version_4.sin_addr, sizeof header.from.version_4);
    } else {
        header.port = by->own.version_6.sin6_port;
        header.from.version_6.flow = by->own.version_6.sin6_flowinfo;
        memcpy(header.from.version_6.address, &by->own.version_6.sin6_addr,
               sizeof header.from.version_6.address);
    }
    memcpy(to, &header, header.length);
    return header.length;
}

static size_t header_size(const struct datagram_port* by) {
    return by->own.any.sa_family == AF_INET ? DATAGRAM_HEADER_4 : DATAGRAM_HEADER_6;
}

static int send_by_queue_pair(struct datagram_port* by, const struct datagram_peer* to,
                              const void* data, size_t size) {
    struct ibv_send_wr what;
    struct ibv_send_wr* bad;
    struct ibv_sge from;
    uint32_t slot;
    int error;
    if (by->free_count == 0) return EAGAIN;
    slot = by->free_sends[by->free_count - 1];
    from.addr = (uintptr_t)by->sends + (uintptr_t)slot * DATAGRAM_SIZE;
    from.length = (uint32_t)(write_header(by, (uint8_t*)from.addr) + size);
    from.lkey = by->send_mr->lkey;
    memcpy((uint8_t*)from.addr + header_size(by), data, size);
    memset(&what, 0, sizeof what);
    what.wr_id = SEND_FLAG | slot;
    what.sg_list = &from;
    what.num_sge = 1;
    what.opcode = IBV_WR_SEND;
    what.wr.ud.ah = to->ah;
    what.wr.ud.remote_qpn = to->qpn;
    what.wr.ud.remote_qkey = RDMA_UDP_QKEY;
    error = ibv_post_send(by->id->qp, &what, &bad);
    if (error == 0) --by->free_count;
    return error;
}

int datagram_send(struct datagram* socket, const struct datagram_peer* to, const void* data,
                  size_t size) {
    if (size > DATAGRAM_SIZE - DATAGRAM_HEADER_6) return EMSGSIZE;
    if (to->ah == NULL || size + header_size(to->by) > to->by->most)
        return send_by_udp(socket, to, DATAGRAM_DATA, data, size);
    return send_by_queue_pair(to->by, to, data, size);
}
