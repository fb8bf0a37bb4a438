/* Datagram sockets by their numbers, and how they begin and end. */
#include "datagram.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* As many requests as fit into buffers of 128 KB. */
static const struct stream_options initial_options = {
    .send_size = 1 << 17,
    .receive_size = 1 << 17,
    .send_requests = (1 << 17) / DATAGRAM_SIZE,
    .receive_requests = (1 << 17) / DATAGRAM_SIZE,
};

int datagram_make(int domain, int protocol) {
    struct datagram* made;
    if (protocol != 0 && protocol != IPPROTO_UDP) return stream_result(EPROTONOSUPPORT);
    made = calloc(1, sizeof *made);
    if (made == NULL) return -1;
    made->last = &made->first;
    made->options = initial_options;
    made->udp = socket(domain, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (made->udp >= 0) {
        pthread_mutex_init(&made->lock, NULL);
        if (socket_publish(made->udp, NULL, made)) return made->udp;
        close(made->udp);
        errno = ENOMEM;
    }
    free(made);
    return -1;
}

bool datagram_begin(struct datagram_call* call, int socket) {
    call->on = datagram_find(socket);
    if (call->on == NULL) return false;
    call->cancelability = irpverbs_enter();
    pthread_mutex_lock(&call->on->lock);
    call->may_wait = !call->on->is_nonblocking;
    return true;
}

int datagram_end(struct datagram_call* call, int result) {
    pthread_mutex_unlock(&call->on->lock);
    irpverbs_leave(call->cancelability);
    return result;
}

static void free_all(struct datagram* socket) {
    while (socket->peers != NULL) {
        struct datagram_peer* const each = socket->peers;
        socket->peers = each->next;
        datagram_free_peer(each);
    }
    while (socket->ports != NULL) {
        struct datagram_port* const each = socket->ports;
        socket->ports = each->next;
        datagram_free_port(each);
    }
    while (socket->first != NULL) {
        struct datagram_message* const each = socket->first;
        socket->first = each->next;
        free(each);
    }
    if (socket->cq != NULL) irpverbs_ibv_destroy_cq(socket->cq);
    if (socket->completions != NULL) irpverbs_ibv_destroy_comp_channel(socket->completions);
    close(socket->udp);
    pthread_mutex_destroy(&socket->lock);
    free(socket);
}

/* No other call of this socket is in progress. */
int datagram_close(struct datagram_call* call) {
    struct datagram* const closed = call->on;
    datagram_drain(call);
    socket_forget(closed->udp);
    datagram_end(call, 0);
    free_all(closed);
    return 0;
}
