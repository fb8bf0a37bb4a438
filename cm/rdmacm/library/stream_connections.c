/* How connections of stream sockets begin and end. */
#include "datagram.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { resolution_ms = 2000 };

void stream_fail(struct stream* stream, int error) {
    if (stream->state == STREAM_ENDED) return;
    stream->state = STREAM_ENDED;
    stream->error = error;
}

static int outcome(int result) { return result == 0 ? 0 : errno; }

/* ---- events */

static struct rdma_conn_param parameters_with(const struct stream_greeting* greeting) {
    struct rdma_conn_param made;
    memset(&made, 0, sizeof made);
    made.private_data = greeting;
    made.private_data_len = sizeof *greeting;
    made.flow_control = 1;
    made.retry_count = 7;
    made.rnr_retry_count = 7;
    return made;
}

static int request_connection(struct stream* stream) {
    struct stream_greeting greeting;
    struct rdma_conn_param parameters;
    const int error = stream_make_endpoint(stream);
    if (error != 0) return error;
    greeting = stream_greet(stream);
    parameters = parameters_with(&greeting);
    return outcome(rdma_connect(stream->id, &parameters));
}

static int establish(struct stream* stream, const struct rdma_conn_param* reply) {
    if (!stream->is_passive &&
        !stream_take_greeting(stream, reply->private_data, reply->private_data_len))
        return EPROTO;
    stream->state = STREAM_CONNECTED;
    return 0;
}

static int error_of(const struct rdma_cm_event* event) {
    if (event->event == RDMA_CM_EVENT_REJECTED) return ECONNREFUSED;
    if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) return ENODEV;
    return event->status < 0 ? -event->status : EHOSTUNREACH;
}

static int take_event(struct stream* stream, const struct rdma_cm_event* event) {
    switch (event->event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
        return outcome(rdma_resolve_route(stream->id, resolution_ms));
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
        return request_connection(stream);
    case RDMA_CM_EVENT_ESTABLISHED:
        return establish(stream, &event->param.conn);
    case RDMA_CM_EVENT_DISCONNECTED:
        stream_take_completions(stream); /* the peer's last messages came before */
        return ECONNRESET;
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
        return 0;
    default:
        return error_of(event);
    }
}

void stream_take_events(struct stream* stream) {
    while (stream->state != STREAM_LISTENING && stream_is_readable(stream->channel->fd)) {
        struct rdma_cm_event* event;
        int error;
        if (rdma_get_cm_event(stream->channel, &event) != 0) {
            stream_fail(stream, errno);
            return;
        }
        error = take_event(stream, event);
        rdma_ack_cm_event(event);
        if (error != 0) stream_fail(stream, error);
    }
}

/* ---- the active end */

int rbind(int socket, const struct sockaddr* addr, socklen_t addrlen) {
    struct stream_call call;
    union {
        struct sockaddr any;
        struct sockaddr_storage room;
    } address;
    int error;
    if (addrlen > sizeof address) return stream_result(EINVAL);
    if (datagram_find(socket) != NULL) return bind(socket, addr, addrlen);
    if (!stream_begin(&call, socket)) return -1;
    memcpy(&address, addr, addrlen);
    error = outcome(rdma_bind_addr(call.on->id, &address.any));
    stream_end(&call);
    return stream_result(error);
}

static bool is_open(const struct stream* stream) { return stream->state != STREAM_OPENING; }

static int begin_connection(struct stream* stream, const struct sockaddr* to, socklen_t size) {
    union {
        struct sockaddr any;
        struct sockaddr_storage room;
    } address;
    if (stream->state == STREAM_CONNECTED) return EISCONN;
    if (stream->state != STREAM_NEW) return EINVAL;
    if (size > sizeof address) return EINVAL;
    memcpy(&address, to, size);
    if (rdma_resolve_addr(stream->id, NULL, &address.any, resolution_ms) != 0) return errno;
    stream->state = STREAM_OPENING;
    return 0;
}

static int connect_to(struct stream_call* call, const struct sockaddr* to, socklen_t size) {
    struct stream* stream = call->on;
    int error;
    if (stream->state == STREAM_OPENING) return EALREADY;
    error = begin_connection(stream, to, size);
    if (error != 0) return error;
    if (stream_await(call, is_open) != 0) return EINPROGRESS;
    error = stream->error;
    stream->error = 0;
    return error;
}

int rconnect(int socket, const struct sockaddr* addr, socklen_t addrlen) {
    struct stream_call call;
    struct datagram_call datagrams;
    int error;
    if (datagram_begin(&datagrams, socket)) {
        error = datagram_connect(&datagrams, addr, addrlen);
        return stream_result(datagram_end(&datagrams, error));
    }
    if (!stream_begin(&call, socket)) return -1;
    error = connect_to(&call, addr, addrlen);
    stream_end(&call);
    return stream_result(error);
}

/* ---- the passive end */

int rlisten(int socket, int backlog) {
    struct stream_call call;
    int error = EINVAL;
    if (!stream_begin(&call, socket)) return -1;
    if (call.on->state == STREAM_NEW) error = outcome(rdma_listen(call.on->id, backlog));
    if (error == 0) call.on->state = STREAM_LISTENING;
    stream_end(&call);
    return stream_result(error);
}

static bool has_request(const struct stream* stream) {
    return stream->state != STREAM_LISTENING || stream_is_readable(stream->channel->fd);
}

/* A copy of a request, whose event is acknowledged before its id moves to another channel. */
struct request {
    struct rdma_cm_id* id;
    uint8_t data[sizeof(struct stream_greeting)];
    size_t size;
};

static int next_request(struct stream_call* call, struct request* next) {
    struct rdma_cm_event* event;
    if (call->on->state != STREAM_LISTENING) return EINVAL;
    if (stream_await(call, has_request) != 0) return EAGAIN;
    if (rdma_get_cm_event(call->on->channel, &event) != 0) return errno;
    if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
        const int error = error_of(event);
        rdma_ack_cm_event(event);
        stream_fail(call->on, error);
        return error;
    }
    next->id = event->id;
    next->size = event->param.conn.private_data_len;
    if (next->size > sizeof next->data) next->size = sizeof next->data;
    memcpy(next->data, event->param.conn.private_data, next->size);
    rdma_ack_cm_event(event);
    return 0;
}

static int accept_request(struct stream* fresh, const struct request* from) {
    struct stream_greeting greeting;
    struct rdma_conn_param parameters;
    int error;
    if (!stream_take_greeting(fresh, from->data, from->size)) return EPROTO;
    error = stream_make_endpoint(fresh);
    if (error != 0) return error;
    greeting = stream_greet(fresh);
    parameters = parameters_with(&greeting);
    return outcome(rdma_accept(fresh->id, &parameters));
}

/* The new socket has the options of the listener, and is connected when the peer says so. */
static struct stream* make_accepted(const struct stream* listener, const struct request* from) {
    struct stream* fresh = stream_make();
    int error;
    if (fresh == NULL) return NULL;
    fresh->options = listener->options;
    fresh->state = STREAM_OPENING;
    fresh->is_passive = true;
    fresh->id = from->id;
    error = outcome(rdma_migrate_id(fresh->id, fresh->channel));
    if (error == 0) error = accept_request(fresh, from);
    if (error == 0) return fresh;
    rdma_reject(fresh->id, NULL, 0);
    stream_free(fresh);
    errno = error;
    return NULL;
}

static int accept_next(struct stream_call* call, struct stream** accepted) {
    struct request next;
    const int error = next_request(call, &next);
    if (error != 0) return error;
    *accepted = make_accepted(call->on, &next);
    if (*accepted != NULL) return 0;
    return errno == EPROTO ? ECONNABORTED : errno;
}

int raccept(int socket, struct sockaddr* addr, socklen_t* addrlen) {
    struct stream_call call;
    struct stream* accepted = NULL;
    int error;
    int number;
    if (!stream_begin(&call, socket)) return -1;
    error = accept_next(&call, &accepted);
    stream_end(&call);
    if (error != 0) return stream_result(error);
    number = stream_publish(accepted);
    if (number >= 0 && addr != NULL) rgetpeername(number, addr, addrlen);
    return number;
}

/* ---- the end */

static bool has_sent(const struct stream* stream) {
    const struct stream_sender* out = &stream->out;
    return stream->state != STREAM_CONNECTED ||
           (out->requests == stream->options.send_requests && out->controls == 0);
}

static bool can_send_control(const struct stream* stream) {
    return stream->state != STREAM_CONNECTED || stream->out.controls < STREAM_CONTROLS;
}

/* Sends what says that this end has ended, and waits until all before it has arrived. */
static int say(struct stream_call* call, enum stream_control what) {
    struct stream* stream = call->on;
    int error = 0;
    stream_await(call, can_send_control);
    if (stream->state == STREAM_CONNECTED) error = stream_send_control(stream, what);
    if (error != 0) return error;
    stream_await(call, has_sent);
    return 0;
}

static int shut_down(struct stream_call* call, int how) {
    struct stream* stream = call->on;
    const bool stops_sending = how != SHUT_RD && !stream->is_shut;
    int error = 0;
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return EINVAL;
    if (stream->id->qp == NULL) return ENOTCONN;
    call->may_wait = true;
    if (how != SHUT_WR) stream->has_all = true;
    if (how != SHUT_RD) stream->is_shut = true;
    if (stops_sending || (stream->has_all && stream->is_shut))
        error = say(call, stream->has_all ? STREAM_DISCONNECT : STREAM_SHUTDOWN);
    if (stream->has_all && stream->is_shut) {
        stream->state = STREAM_ENDED;
        rdma_disconnect(stream->id);
    }
    return error;
}

int rshutdown(int socket, int how) {
    struct stream_call call;
    int error;
    if (!stream_begin(&call, socket)) return -1;
    error = shut_down(&call, how);
    stream_end(&call);
    return stream_result(error);
}

/* No other call of this socket is in progress. */
int rclose(int socket) {
    struct stream_call call;
    struct datagram_call datagrams;
    if (datagram_begin(&datagrams, socket)) return datagram_close(&datagrams);
    if (!stream_begin(&call, socket)) return -1;
    if (call.on->state == STREAM_CONNECTED) shut_down(&call, SHUT_RDWR);
    socket_forget(socket);
    stream_end(&call);
    stream_free(call.on);
    return 0;
}
