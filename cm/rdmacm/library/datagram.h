/* Datagram sockets: rsocket(7) with SOCK_DGRAM. A socket is a UDP socket, over which peers announce
   their queue pairs, and a queue pair for each of its addresses. Its number is the descriptor of
   the UDP socket. docs/decisions/rsockets.md. */
#ifndef IRPVERBS_RDMACM_DATAGRAM_H
#define IRPVERBS_RDMACM_DATAGRAM_H

#include "datagram_wire.h"
#include "stream.h"

#pragma GCC visibility push(hidden)

union datagram_address {
    struct sockaddr any;
    struct sockaddr_in version_4;
    struct sockaddr_in6 version_6;
};

/* A queue pair at one of the socket's addresses. */
struct datagram_port {
    struct datagram_port* next;
    union datagram_address own;
    struct rdma_cm_id* id;
    uint32_t most;  /* bytes of a datagram, with its header */
    uint8_t* sends; /* slots of DATAGRAM_SIZE */
    struct ibv_mr* send_mr;
    uint32_t* free_sends; /* numbers of slots */
    uint32_t free_count;
    uint8_t* receives; /* slots of a route header and DATAGRAM_SIZE */
    struct ibv_mr* receive_mr;
};

/* An address that datagrams are sent to or come from. */
struct datagram_peer {
    struct datagram_peer* next;
    union datagram_address address;
    struct datagram_port* by; /* that reaches it */
    struct ibv_ah* ah;        /* NULL: it has not announced its queue pair */
    uint32_t qpn;
};

/* A datagram that waits to be received. */
struct datagram_message {
    struct datagram_message* next;
    union datagram_address from;
    uint32_t length;
    uint8_t data[];
};

struct datagram {
    pthread_mutex_t lock; /* guards all below */
    int udp;
    bool is_nonblocking;
    struct stream_options options;
    struct datagram_port* ports;
    struct ibv_comp_channel* completions; /* of all ports; NULL: there is none */
    struct ibv_cq* cq;
    struct datagram_peer* peers;
    struct datagram_peer* connected; /* of rconnect */
    struct datagram_message* first;
    struct datagram_message** last;
    uint32_t waiting; /* messages */
};

/* A call of the program, as stream_call. */
struct datagram_call {
    struct datagram* on;
    int cancelability;
    bool may_wait;
};

/* datagram_sockets.c */
int datagram_make(int domain, int protocol);
/* Begins a call, with the lock. False: not a datagram socket; errno is as it was. */
bool datagram_begin(struct datagram_call* call, int socket);
int datagram_end(struct datagram_call* call, int result);
/* Ends the call, and the socket. */
int datagram_close(struct datagram_call* call);

/* datagram_ports.c */
/* The port of an address, which is made if there is none. NULL: errno has the reason. */
struct datagram_port* datagram_port_at(struct datagram* socket, const union datagram_address* own);
void datagram_free_port(struct datagram_port* port);
int datagram_post_receive(const struct datagram_port* port, uint32_t slot);
uint8_t* datagram_receive_slot(const struct datagram_port* port, uint32_t slot);

/* datagram_peers.c */
socklen_t datagram_size_of(const union datagram_address* address);
bool datagram_is_same(const union datagram_address* one, const union datagram_address* other);
/* The peer of an address, which is made if there is none. NULL: errno has the reason. */
struct datagram_peer* datagram_peer_at(struct datagram* socket,
                                       const union datagram_address* address);
/* Takes the queue pair that a peer has announced. */
void datagram_resolve(struct datagram_peer* peer, uint32_t qpn);
void datagram_free_peer(struct datagram_peer* peer);

/* datagram_messages.c */
/* Takes what has come: datagrams, announcements and completions. */
void datagram_advance(struct datagram* socket);
/* The same, and the next completion causes an event. */
void datagram_await_event(struct datagram* socket);
bool datagram_can_send(const struct datagram* socket);
/* Sends by the queue pair of the peer, or by UDP until that is known. Returns an errno value;
   EAGAIN: all slots are in use. */
int datagram_send(struct datagram* socket, const struct datagram_peer* to, const void* data,
                  size_t size);

/* datagram_transfers.c, for the functions of any socket */
ssize_t datagram_receive_call(struct datagram_call* call, void* to, size_t size, int flags,
                              struct sockaddr* from, socklen_t* from_size);
ssize_t datagram_send_call(struct datagram_call* call, const void* from, size_t size, int flags,
                           const struct sockaddr* to, socklen_t to_size);
int datagram_connect(struct datagram_call* call, const struct sockaddr* to, socklen_t size);
/* Waits until all that was sent has left. */
void datagram_drain(struct datagram_call* call);
short datagram_readiness(const struct datagram* socket);

#pragma GCC visibility pop

#endif
