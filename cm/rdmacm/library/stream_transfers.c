/* Bytes that stream sockets send and receive, and the functions of any socket for them. */
#include "datagram.h"

#include <errno.h>
#include <string.h>

/* The bytes, or -1 and errno if there are none. */
static ssize_t transferred(size_t bytes, int error) {
    return bytes != 0 || error == 0 ? (ssize_t)bytes : stream_result(error);
}

/* ---- sending */

/* The cause for which nothing can be sent any more, or 0. */
static int send_error(const struct stream* stream) {
    if (stream->is_shut) return EPIPE;
    if (stream->state == STREAM_CONNECTED) return 0;
    if (stream->state != STREAM_ENDED) return ENOTCONN;
    return stream->error != 0 ? stream->error : EPIPE;
}

/* How a call sends: when it can, and a part of its bytes. */
struct way {
    stream_condition* is_open;
    int (*send)(struct stream* stream, const uint8_t* from, size_t size, uint64_t offset,
                uint32_t* sent);
};

static bool may_stream(const struct stream* stream) {
    if (stream->state == STREAM_OPENING) return false;
    return send_error(stream) != 0 || stream_can_send(stream);
}

static bool may_write(const struct stream* stream) {
    if (stream->state == STREAM_OPENING) return false;
    return send_error(stream) != 0 ||
           (stream_has_request(stream) && stream_room(stream) != 0 && !stream_has_mapping(stream));
}

/* The peer learns of mappings before the data that follow. */
static int send_data(struct stream* stream, const uint8_t* from, size_t size, uint64_t offset,
                     uint32_t* sent) {
    const struct stream_segment* target = &stream->out.targets[stream->out.target];
    (void)offset;
    if (stream_has_mapping(stream)) return stream_send_mapping(stream);
    *sent = stream_stage(stream, from, size < target->length ? size : target->length);
    return stream_write_data(stream, *sent);
}

static const struct way as_stream = {may_stream, send_data};
static const struct way directly = {may_write, stream_write_mapped};

static ssize_t send_bytes(struct stream_call* call, const struct way* by, const uint8_t* from,
                          size_t size, uint64_t offset) {
    size_t done = 0;
    int error = size == 0 ? send_error(call->on) : 0;
    while (error == 0 && done != size) {
        uint32_t part = 0;
        error = stream_await(call, by->is_open);
        if (error == 0) error = send_error(call->on);
        if (error == 0) error = by->send(call->on, from + done, size - done, offset + done, &part);
        done += part;
    }
    return transferred(done, error);
}

static ssize_t send_call(int socket, const struct way* by, const void* from, size_t size,
                         uint64_t offset, int flags) {
    struct stream_call call;
    ssize_t result;
    if (!stream_begin(&call, socket)) return -1;
    if ((flags & MSG_DONTWAIT) != 0) call.may_wait = false;
    result = send_bytes(&call, by, from, size, offset);
    stream_end(&call);
    return result;
}

static ssize_t send_datagram(struct datagram_call* call, const void* from, size_t size, int flags,
                             const struct sockaddr* to, socklen_t to_size) {
    const ssize_t sent = datagram_send_call(call, from, size, flags, to, to_size);
    datagram_end(call, 0);
    return sent;
}

ssize_t rsend(int socket, const void* buf, size_t len, int flags) {
    struct datagram_call datagrams;
    if (datagram_begin(&datagrams, socket))
        return send_datagram(&datagrams, buf, len, flags, NULL, 0);
    return send_call(socket, &as_stream, buf, len, 0, flags);
}

size_t riowrite(int socket, const void* buf, size_t count, off_t offset, int flags) {
    return (size_t)send_call(socket, &directly, buf, count, (uint64_t)offset, flags);
}

/* ---- receiving */

static bool may_receive(const struct stream* stream) {
    if (stream->state == STREAM_OPENING) return false;
    return stream->state != STREAM_CONNECTED || stream->has_all || stream->in.available != 0;
}

static uint32_t copy_received(const struct stream* stream, uint8_t* to, size_t size) {
    const struct stream_receiver* in = &stream->in;
    const uint32_t part = size < in->available ? (uint32_t)size : in->available;
    const uint32_t behind = stream->options.receive_size - in->at;
    const uint32_t to_end = part < behind ? part : behind;
    memcpy(to, in->ring + in->at, to_end);
    memcpy(to + to_end, in->ring, part - to_end);
    return part;
}

static void drop_received(struct stream* stream, uint32_t bytes) {
    struct stream_receiver* in = &stream->in;
    in->at = (in->at + bytes) % stream->options.receive_size;
    in->available -= bytes;
    in->read += bytes;
    stream_give_credits(stream);
}

/* At the end of the stream: 0, or the error by which it ended, once. */
static int end_error(struct stream* stream) {
    const int error =
        stream->state == STREAM_NEW || stream->state == STREAM_LISTENING ? ENOTCONN : stream->error;
    if (stream->state == STREAM_ENDED) stream->error = 0;
    return error;
}

static ssize_t receive_bytes(struct stream_call* call, uint8_t* to, size_t size, int flags) {
    struct stream* stream = call->on;
    size_t done = 0;
    while (done != size) {
        uint32_t part;
        const int error = stream_await(call, may_receive);
        if (error != 0) return transferred(done, error);
        if (stream->in.available == 0) return transferred(done, end_error(stream));
        part = copy_received(stream, to + done, size - done);
        done += part;
        if ((flags & MSG_PEEK) != 0) break;
        drop_received(stream, part);
        if ((flags & MSG_WAITALL) == 0) break;
    }
    return (ssize_t)done;
}

static ssize_t receive_datagram(struct datagram_call* call, void* to, size_t size, int flags,
                                struct sockaddr* from, socklen_t* from_size) {
    const ssize_t received = datagram_receive_call(call, to, size, flags, from, from_size);
    datagram_end(call, 0);
    return received;
}

ssize_t rrecv(int socket, void* buf, size_t len, int flags) {
    struct stream_call call;
    struct datagram_call datagrams;
    ssize_t result;
    if (datagram_begin(&datagrams, socket))
        return receive_datagram(&datagrams, buf, len, flags, NULL, NULL);
    if (!stream_begin(&call, socket)) return -1;
    if ((flags & MSG_DONTWAIT) != 0) call.may_wait = false;
    result = receive_bytes(&call, buf, len, flags);
    stream_end(&call);
    return result;
}

/* ---- other forms of both */

/* Calls `transfer` for each part, until one transfers less. */
#define FOR_EACH_PART(parts, count, transfer)                                                      \
    ssize_t done = 0;                                                                              \
    size_t i;                                                                                      \
    for (i = 0; i < (size_t)(count); ++i) {                                                        \
        const struct iovec* part = &(parts)[i];                                                    \
        const ssize_t moved = transfer;                                                            \
        if (moved < 0) return done != 0 ? done : -1;                                               \
        done += moved;                                                                             \
        if ((size_t)moved != part->iov_len) break;                                                 \
    }                                                                                              \
    return done

/* A datagram has one part. */
static bool has_too_many(int socket, size_t count) {
    return count != 1 && datagram_find(socket) != NULL;
}

static ssize_t send_parts(int socket, const struct iovec* parts, size_t count, int flags) {
    if (has_too_many(socket, count)) return stream_result(EOPNOTSUPP);
    FOR_EACH_PART(parts, count, rsend(socket, part->iov_base, part->iov_len, flags));
}

/* Only the first part is waited for. */
static ssize_t receive_parts(int socket, const struct iovec* parts, size_t count, int flags) {
    if (has_too_many(socket, count)) return stream_result(EOPNOTSUPP);
    FOR_EACH_PART(parts, count,
                  rrecv(socket, part->iov_base, part->iov_len,
                        i == 0 || (flags & MSG_WAITALL) != 0 ? flags : flags | MSG_DONTWAIT));
}

ssize_t rread(int socket, void* buf, size_t count) { return rrecv(socket, buf, count, 0); }
ssize_t rwrite(int socket, const void* buf, size_t count) { return rsend(socket, buf, count, 0); }

ssize_t rreadv(int socket, const struct iovec* iov, int iovcnt) {
    return receive_parts(socket, iov, (size_t)iovcnt, 0);
}
ssize_t rwritev(int socket, const struct iovec* iov, int iovcnt) {
    return send_parts(socket, iov, (size_t)iovcnt, 0);
}

ssize_t rrecvmsg(int socket, struct msghdr* msg, int flags) {
    if (msg->msg_controllen != 0) return stream_result(EOPNOTSUPP);
    return receive_parts(socket, msg->msg_iov, msg->msg_iovlen, flags);
}
ssize_t rsendmsg(int socket, const struct msghdr* msg, int flags) {
    if (msg->msg_controllen != 0) return stream_result(EOPNOTSUPP);
    return send_parts(socket, msg->msg_iov, msg->msg_iovlen, flags);
}

ssize_t rrecvfrom(int socket, void* buf, size_t len, int flags, struct sockaddr* src_addr,
                  socklen_t* addrlen) {
    struct datagram_call datagrams;
    ssize_t received;
    if (datagram_begin(&datagrams, socket))
        return receive_datagram(&datagrams, buf, len, flags, src_addr, addrlen);
    received = rrecv(socket, buf, len, flags);
    if (received >= 0 && src_addr != NULL) rgetpeername(socket, src_addr, addrlen);
    return received;
}
ssize_t rsendto(int socket, const void* buf, size_t len, int flags,
                const struct sockaddr* dest_addr, socklen_t addrlen) {
    struct datagram_call datagrams;
    if (datagram_begin(&datagrams, socket))
        return send_datagram(&datagrams, buf, len, flags, dest_addr, addrlen);
    if (dest_addr != NULL || addrlen != 0) return stream_result(EISCONN);
    return rsend(socket, buf, len, flags);
}
