/* Options of stream sockets. Sizes can be set until the connection is made. */
#include "datagram.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

enum { LEAST_REQUESTS = 16, MOST_REQUESTS = 0x4000, LEAST_BUFFER = 4096, MOST_BUFFER = 1 << 30 };

static uint32_t within(int wanted, int least, int most) {
    if (wanted < least) return (uint32_t)least;
    return (uint32_t)(wanted > most ? most : wanted);
}

/* The number behind an option of this socket, or NULL. */
uint32_t* stream_size_option(struct stream_options* options, int level, int name) {
    if (level == SOL_SOCKET && name == SO_SNDBUF) return &options->send_size;
    if (level == SOL_SOCKET && name == SO_RCVBUF) return &options->receive_size;
    if (level != SOL_RDMA) return NULL;
    switch (name) {
    case RDMA_SQSIZE:
        return &options->send_requests;
    case RDMA_RQSIZE:
        return &options->receive_requests;
    case RDMA_INLINE:
        return &options->inline_size;
    case RDMA_IOMAPSIZE:
        return &options->mappings;
    default:
        return NULL;
    }
}

uint32_t stream_possible_size(int level, int name, int wanted) {
    if (level == SOL_SOCKET) return within(wanted, LEAST_BUFFER, MOST_BUFFER) & ~1u;
    switch (name) {
    case RDMA_INLINE:
        return within(wanted, 0, 256);
    case RDMA_IOMAPSIZE:
        return within(wanted, 0, STREAM_MOST_MAPPINGS);
    default:
        return within(wanted, LEAST_REQUESTS, MOST_REQUESTS);
    }
}

static int set_id_option(struct stream* stream, int name, int value) {
    return rdma_set_option(stream->id, RDMA_OPTION_ID, name, &value, sizeof value) == 0 ? 0 : errno;
}

/* Options that are taken and change nothing. */
static bool has_no_effect(int level, int name) {
    if (level == SOL_SOCKET)
        return name == SO_KEEPALIVE || name == SO_LINGER || name == SO_OOBINLINE;
    return level == IPPROTO_TCP && (name == TCP_NODELAY || name == TCP_KEEPIDLE ||
                                    name == TCP_KEEPINTVL || name == TCP_KEEPCNT);
}

static int set_option(struct stream* stream, int level, int name, const void* value,
                      socklen_t size) {
    uint32_t* const number = stream_size_option(&stream->options, level, name);
    int wanted;
    if (has_no_effect(level, name)) return 0;
    if (size < sizeof wanted) return EINVAL;
    memcpy(&wanted, value, sizeof wanted);
    if (number != NULL) {
        if (stream->cq == NULL) *number = stream_possible_size(level, name, wanted);
        return 0;
    }
    if (level == SOL_SOCKET && name == SO_REUSEADDR)
        return set_id_option(stream, RDMA_OPTION_ID_REUSEADDR, wanted);
    if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY)
        return set_id_option(stream, RDMA_OPTION_ID_AFONLY, wanted);
    return ENOPROTOOPT;
}

/* A buffer has room for a number of datagrams. The UDP socket has the other options. */
static int set_datagram_option(struct datagram* socket, int level, int name, const void* value,
                               socklen_t size) {
    uint32_t* const number = stream_size_option(&socket->options, level, name);
    int wanted;
    if (number == NULL) return setsockopt(socket->udp, level, name, value, size) == 0 ? 0 : errno;
    if (size < sizeof wanted) return EINVAL;
    memcpy(&wanted, value, sizeof wanted);
    if (socket->ports != NULL) return 0;
    *number = stream_possible_size(level, name, wanted);
    if (level == SOL_SOCKET && name == SO_SNDBUF)
        socket->options.send_requests = *number / DATAGRAM_SIZE;
    if (level == SOL_SOCKET && name == SO_RCVBUF)
        socket->options.receive_requests = *number / DATAGRAM_SIZE;
    return 0;
}

int rsetsockopt(int socket, int level, int optname, const void* optval, socklen_t optlen) {
    struct stream_call call;
    struct datagram_call datagrams;
    int error;
    if (datagram_begin(&datagrams, socket)) {
        error = set_datagram_option(datagrams.on, level, optname, optval, optlen);
        return stream_result(datagram_end(&datagrams, error));
    }
    if (!stream_begin(&call, socket)) return -1;
    error = set_option(call.on, level, optname, optval, optlen);
    stream_end(&call);
    return stream_result(error);
}

static int take_error(struct stream* stream) {
    const int error = stream->error;
    stream->error = 0;
    return error;
}

static int get_option(struct stream* stream, int level, int name, int* value) {
    const uint32_t* const number = stream_size_option(&stream->options, level, name);
    if (number != NULL)
        *value = (int)*number;
    else if (level == SOL_SOCKET && name == SO_ERROR)
        *value = take_error(stream);
    else if (level == IPPROTO_TCP && name == TCP_NODELAY)
        *value = 1;
    else if (has_no_effect(level, name))
        *value = 0;
    else
        return ENOPROTOOPT;
    return 0;
}

static int get_datagram_option(struct datagram* socket, int level, int name, void* value,
                               socklen_t* size) {
    const uint32_t* const number = stream_size_option(&socket->options, level, name);
    if (number == NULL) return getsockopt(socket->udp, level, name, value, size);
    if (*size < sizeof *number) return stream_result(EINVAL);
    memcpy(value, number, sizeof *number);
    *size = sizeof *number;
    return 0;
}

int rgetsockopt(int socket, int level, int optname, void* optval, socklen_t* optlen) {
    struct stream_call call;
    struct datagram_call datagrams;
    int value = 0;
    int error = EINVAL;
    if (datagram_begin(&datagrams, socket))
        return datagram_end(&datagrams,
                            get_datagram_option(datagrams.on, level, optname, optval, optlen));
    if (!stream_begin(&call, socket)) return -1;
    if (*optlen >= sizeof value) error = get_option(call.on, level, optname, &value);
    stream_end(&call);
    if (error != 0) return stream_result(error);
    memcpy(optval, &value, sizeof value);
    *optlen = sizeof value;
    return 0;
}
