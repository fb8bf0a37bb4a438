/* Datagrams that a program sends and receives. */
#include "datagram.h"

#include <errno.h>
#include <string.h>

/* Another thread may take the event that this one waits for: the socket is looked at again then. */
enum { WAKE_UP_MS = 500 };

short datagram_readiness(const struct datagram* socket) {
    short ready = 0;
    if (socket->first != NULL) ready |= POLLIN;
    if (datagram_can_send(socket)) ready |= POLLOUT;
    return ready;
}

static void wait_for_descriptors(struct datagram_call* call) {
    struct datagram* const socket = call->on;
    const int queue = socket->completions != NULL ? socket->completions->fd : -1;
    struct pollfd asked[] = {{socket->udp, POLLIN, 0}, {queue, POLLIN, 0}};
    pthread_mutex_unlock(&socket->lock);
    irpverbs_leave(call->cancelability);
    poll(asked, 2, WAKE_UP_MS); /* the thread may be cancelled here, and holds nothing */
    call->cancelability = irpverbs_enter();
    pthread_mutex_lock(&socket->lock);
    stream_take_notification_of(socket->completions);
}

/* Returns 0 when the socket is ready in that way, or EAGAIN if the call may not wait. */
static int await(struct datagram_call* call, short events) {
    datagram_advance(call->on);
    while ((datagram_readiness(call->on) & events) == 0) {
        datagram_await_event(call->on);
        if ((datagram_readiness(call->on) & events) != 0) break;
        if (!call->may_wait) return EAGAIN;
        wait_for_descriptors(call);
    }
    return 0;
}

/* ---- addresses */

static int take_address(const struct sockaddr* from, socklen_t size,
                        union datagram_address* address) {
    memset(address, 0, sizeof *address);
    if (from == NULL || size > sizeof *address) return EINVAL;
    memcpy(address, from, size);
    if (size < sizeof address->version_4) return EINVAL;
    if (address->any.sa_family != AF_INET && address->any.sa_family != AF_INET6)
        return EAFNOSUPPORT;
    return size < datagram_size_of(address) ? EINVAL : 0;
}

static void give_address(const union datagram_address* from, struct sockaddr* to, socklen_t* size) {
    const socklen_t own = datagram_size_of(from);
    memcpy(to, from, *size < own ? *size : own);
    *size = own;
}

static int find_peer(struct datagram_call* call, const struct sockaddr* to, socklen_t size,
                     struct datagram_peer** peer) {
    union datagram_address address;
    int error;
    *peer = call->on->connected;
    if (to == NULL) return *peer != NULL ? 0 : EDESTADDRREQ;
    error = take_address(to, size, &address);
    if (error != 0) return error;
    *peer = datagram_peer_at(call->on, &address);
    return *peer != NULL ? 0 : errno;
}

int datagram_connect(struct datagram_call* call, const struct sockaddr* to, socklen_t size) {
    struct datagram_peer* peer;
    const int error = find_peer(call, to, size, &peer);
    if (error == 0) call->on->connected = peer;
    return error;
}

/* ---- transfers */

ssize_t datagram_send_call(struct datagram_call* call, const void* from, size_t size, int flags,
                           const struct sockaddr* to, socklen_t to_size) {
    struct datagram_peer* peer;
    int error = find_peer(call, to, to_size, &peer);
    if ((flags & MSG_DONTWAIT) != 0) call->may_wait = false;
    if (error == 0) error = await(call, POLLOUT);
    if (error == 0) error = datagram_send(call->on, peer, from, size);
    return error == 0 ? (ssize_t)size : stream_result(error);
}

static void drop_first(struct datagram* socket) {
    struct datagram_message* const first = socket->first;
    socket->first = first->next;
    if (socket->first == NULL) socket->last = &socket->first;
    --socket->waiting;
    free(first);
}

/* The rest of a datagram that is longer is lost. */
ssize_t datagram_receive_call(struct datagram_call* call, void* to, size_t size, int flags,
                              struct sockaddr* from, socklen_t* from_size) {
    const struct datagram_message* first;
    int error;
    if ((flags & MSG_DONTWAIT) != 0) call->may_wait = false;
    error = await(call, POLLIN);
    if (error != 0) return stream_result(error);
    first = call->on->first;
    if (size > first->length) size = first->length;
    memcpy(to, first->data, size);
    if (from != NULL && from_size != NULL) give_address(&first->from, from, from_size);
    if ((flags & MSG_PEEK) == 0) drop_first(call->on);
    return (ssize_t)size;
}

static bool has_sent(const struct datagram* socket) {
    const struct datagram_port* port;
    for (port = socket->ports; port != NULL; port = port->next)
        if (port->free_count != socket->options.send_requests) return false;
    return true;
}

/* A device that has failed completes nothing. */
void datagram_drain(struct datagram_call* call) {
    enum { MOST_WAITS = 4 };
    int waits;
    for (waits = 0; waits < MOST_WAITS; ++waits) {
        datagram_await_event(call->on);
        if (has_sent(call->on)) return;
        wait_for_descriptors(call);
    }
}
