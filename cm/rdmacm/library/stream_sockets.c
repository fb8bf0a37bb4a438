/* Stream sockets by their numbers. */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream** streams; /* by number; guarded by the lock, as the next */
static size_t stream_count;

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

struct stream* stream_find(int socket) {
    struct stream* found = NULL;
    pthread_mutex_lock(&table_lock);
    if (socket >= 0 && (size_t)socket < stream_count) found = streams[socket];
    pthread_mutex_unlock(&table_lock);
    if (found == NULL) errno = EBADF;
    return found;
}

static bool make_room(size_t wanted) {
    struct stream** more;
    if (wanted <= stream_count) return true;
    more = realloc(streams, wanted * sizeof *streams);
    if (more == NULL) return false;
    memset(more + stream_count, 0, (wanted - stream_count) * sizeof *streams);
    streams = more;
    stream_count = wanted;
    return true;
}

int stream_publish(struct stream* stream) {
    const int number = stream->channel->fd;
    bool has_room;
    pthread_mutex_lock(&table_lock);
    has_room = make_room((size_t)number + 1);
    if (has_room) streams[number] = stream;
    pthread_mutex_unlock(&table_lock);
    if (has_room) return number;
    stream_free(stream);
    return stream_result(ENOMEM);
}

void stream_forget(int socket) {
    pthread_mutex_lock(&table_lock);
    streams[socket] = NULL;
    pthread_mutex_unlock(&table_lock);
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

static int set_flags(struct stream* stream, int flags) {
    stream->is_nonblocking = (flags & O_NONBLOCK) != 0;
    return 0;
}

int rfcntl(int socket, int cmd, ...) {
    struct stream_call call;
    int result = -1;
    va_list arguments;
    if (!stream_begin(&call, socket)) return -1;
    va_start(arguments, cmd);
    if (cmd == F_GETFL)
        result = O_RDWR | (call.on->is_nonblocking ? O_NONBLOCK : 0);
    else if (cmd == F_SETFL)
        result = set_flags(call.on, va_arg(arguments, int));
    else
        errno = EINVAL;
    va_end(arguments);
    stream_end(&call);
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

int rgetpeername(int socket, struct sockaddr* addr, socklen_t* addrlen) {
    struct stream* stream = stream_find(socket);
    if (stream == NULL) return -1;
    if (stream->state != STREAM_CONNECTED && !stream->is_passive) return stream_result(ENOTCONN);
    copy_address(rdma_get_peer_addr(stream->id), addr, addrlen);
    return 0;
}

int rgetsockname(int socket, struct sockaddr* addr, socklen_t* addrlen) {
    struct stream* stream = stream_find(socket);
    if (stream == NULL) return -1;
    copy_address(rdma_get_local_addr(stream->id), addr, addrlen);
    return 0;
}
