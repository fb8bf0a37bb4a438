/* How stream sockets are made, and the functions of any socket: flags and addresses. */
#include "datagram.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

static const struct stream_options initial_options = {
    .send_size = 1 << 17,
    .receive_size = 1 << 17,
    .send_requests = 384,
    .receive_requests = 384,
    .inline_size = 64,
};

int stream_result(int error) {
    if (error == 0) return 0;
    errno = error;
    return -1;
}

int stream_publish(struct stream* stream) {
    if (socket_publish(stream->channel->fd, stream, NULL)) return stream->channel->fd;
    stream_free(stream);
    return stream_result(ENOMEM);
}

struct stream* stream_make(void) {
    struct stream* made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->channel = rdma_create_event_channel();
    if (made->channel == NULL) {
        free(made);
        return NULL;
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->progress, NULL);
    made->options = initial_options;
    return made;
}

void stream_free(struct stream* stream) {
    stream_free_mappings(stream);
    stream_free_endpoint(stream);
    if (stream->id != NULL) rdma_destroy_id(stream->id);
    rdma_destroy_event_channel(stream->channel);
    pthread_cond_destroy(&stream->progress);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

bool stream_begin(struct stream_call* call, int socket) {
    call->on = stream_find(socket);
    if (call->on == NULL) return false;
    call->cancelability = irpverbs_enter();
    pthread_mutex_lock(&call->on->lock);
    call->may_wait = !call->on->is_nonblocking;
    return true;
}

void stream_end(struct stream_call* call) {
    pthread_mutex_unlock(&call->on->lock);
    irpverbs_leave(call->cancelability);
}

int rsocket(int domain, int type, int protocol) {
    struct stream* made;
    if (domain != PF_INET && domain != PF_INET6) return stream_result(EAFNOSUPPORT);
    if (type == SOCK_DGRAM) return datagram_make(domain, protocol);
    if (type != SOCK_STREAM) return stream_result(ESOCKTNOSUPPORT);
    if (protocol != 0 && protocol != IPPROTO_TCP) return stream_result(EPROTONOSUPPORT);
    made = stream_make();
    if (made == NULL) return -1;
    if (rdma_create_id(made->channel, &made->id, made, RDMA_PS_TCP) == 0)
        return stream_publish(made);
    stream_free(made);
    return -1;
}

/* ---- flags and addresses */

static int control(bool* is_nonblocking, int cmd, va_list arguments) {
    if (cmd == F_GETFL) return O_RDWR | (*is_nonblocking ? O_NONBLOCK : 0);
    if (cmd != F_SETFL) return stream_result(EINVAL);
    *is_nonblocking = (va_arg(arguments, int) & O_NONBLOCK) != 0;
    return 0;
}

int rfcntl(int socket, int cmd, ...) {
    struct stream_call call;
    struct datagram_call datagrams;
    int result = -1;
    va_list arguments;
    va_start(arguments, cmd);
    if (datagram_begin(&datagrams, socket)) {
        result = datagram_end(&datagrams, control(&datagrams.on->is_nonblocking, cmd, arguments));
    } else if (stream_begin(&call, socket)) {
        result = control(&call.on->is_nonblocking, cmd, arguments);
        stream_end(&call);
    }
    va_end(arguments);
    return result;
}

static socklen_t size_of(const struct sockaddr* address) {
    return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

/* Cuts the address to the program's size, and returns its own. */
static void copy_address(const struct sockaddr* from, struct sockaddr* to, socklen_t* size) {
    const socklen_t own = size_of(from);
    memcpy(to, from, *size < own ? *size : own);
    *size = own;
}

static int peer_of_datagrams(const struct datagram* from, struct sockaddr* addr,
                             socklen_t* addrlen) {
    if (from->connected == NULL) return stream_result(ENOTCONN);
    copy_address(&from->connected->address.any, addr, addrlen);
    return 0;
}

int rgetpeername(int socket, struct sockaddr* addr, socklen_t* addrlen) {
    struct datagram_call datagrams;
    struct stream* stream;
    if (datagram_begin(&datagrams, socket))
        return datagram_end(&datagrams, peer_of_datagrams(datagrams.on, addr, addrlen));
    stream = stream_find(socket);
    if (stream == NULL) return -1;
    if (stream->state != STREAM_CONNECTED && !stream->is_passive) return stream_result(ENOTCONN);
    copy_address(rdma_get_peer_addr(stream->id), addr, addrlen);
    return 0;
}

int rgetsockname(int socket, struct sockaddr* addr, socklen_t* addrlen) {
    struct stream* stream;
    if (datagram_find(socket) != NULL) return getsockname(socket, addr, addrlen);
    stream = stream_find(socket);
    if (stream == NULL) return -1;
    copy_address(rdma_get_local_addr(stream->id), addr, addrlen);
    return 0;
}
