/* rpoll and rselect: stream sockets, and other descriptors as they are. */
#include "datagram.h"

#include <errno.h>
#include <time.h>

/* A thread that waits in another call of a socket may take the event that this one waits for:
   the descriptors are looked at again at the latest then. rsocket(7): wake_up_interval. */
enum { WAKE_UP_MS = 500 };

/* ---- a socket */

static short readiness_of(const struct stream* stream) {
    const bool has_ended = stream->state == STREAM_ENDED || stream->state == STREAM_NEW;
    short ready = 0;
    if (stream->state == STREAM_LISTENING)
        return stream_is_readable(stream->channel->fd) ? POLLIN : 0;
    if (stream->state == STREAM_OPENING) return 0;
    if (stream->in.available != 0 || stream->has_all || has_ended) ready |= POLLIN;
    if (has_ended || stream_can_send(stream)) ready |= POLLOUT;
    if (has_ended && stream->in.available == 0) ready |= POLLHUP;
    if (stream->error != 0) ready |= POLLERR;
    return ready;
}

/* Asks what is ready. If that is nothing wanted, the next completion causes an event. */
static short look_at(struct stream* stream, short wanted) {
    short ready;
    int before = irpverbs_enter();
    pthread_mutex_lock(&stream->lock);
    if (!stream->is_waited) stream_take_notification_of(stream->completions);
    stream_take_completions(stream);
    wanted = (short)(wanted | POLLERR | POLLHUP);
    ready = readiness_of(stream) & wanted;
    if (ready == 0) {
        stream_advance(stream);
        ready = readiness_of(stream) & wanted;
    }
    pthread_mutex_unlock(&stream->lock);
    irpverbs_leave(before);
    return ready;
}

static short look_at_datagrams(struct datagram_call* call, short wanted) {
    struct datagram* const socket = call->on;
    short ready;
    stream_take_notification_of(socket->completions);
    datagram_advance(socket);
    ready = datagram_readiness(socket) & wanted;
    if (ready != 0) return ready;
    datagram_await_event(socket);
    return datagram_readiness(socket) & wanted;
}

/* ---- all */

/* The descriptors that poll(2) waits for: two of a socket, or the program's. */
static void set_waits(struct pollfd* waits, const struct pollfd* asked) {
    const struct stream* stream = stream_find(asked->fd);
    const struct datagram* datagrams = datagram_find(asked->fd);
    const struct ibv_comp_channel* completions = NULL;
    waits[0] = *asked;
    waits[1].fd = -1;
    if (stream == NULL && datagrams == NULL) return;
    waits[0].events = waits[1].events = POLLIN;
    completions = stream != NULL ? stream->completions : datagrams->completions;
    if (completions != NULL) waits[1].fd = completions->fd;
}

static int count_ready(struct pollfd* fds, nfds_t nfds, const struct pollfd* waits) {
    int count = 0;
    nfds_t i;
    for (i = 0; i < nfds; ++i) {
        struct stream* stream = stream_find(fds[i].fd);
        struct datagram_call datagrams;
        fds[i].revents = stream != NULL ? look_at(stream, fds[i].events) : waits[2 * i].revents;
        if (datagram_begin(&datagrams, fds[i].fd)) {
            fds[i].revents = look_at_datagrams(&datagrams, fds[i].events);
            datagram_end(&datagrams, 0);
        }
        if (fds[i].revents != 0) ++count;
    }
    return count;
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The next wait; 0: the time is over. */
static int next_wait(int timeout, int64_t since) {
    const int64_t left = timeout < 0 ? WAKE_UP_MS : timeout - (now_ms() - since);
    if (left <= 0) return 0;
    return left < WAKE_UP_MS ? (int)left : WAKE_UP_MS;
}

static int poll_all(struct pollfd* fds, nfds_t nfds, int timeout, struct pollfd* waits) {
    const int64_t since = timeout > 0 ? now_ms() : 0;
    int wait = 0;
    for (;;) {
        nfds_t i;
        int count;
        for (i = 0; i < nfds; ++i)
            set_waits(&waits[2 * i], &fds[i]);
        if (poll(waits, 2 * nfds, wait) < 0) return -1;
        count = count_ready(fds, nfds, waits);
        if (count != 0 || timeout == 0) return count;
        wait = next_wait(timeout, since);
        if (wait == 0) return 0;
    }
}

int rpoll(struct pollfd* fds, nfds_t nfds, int timeout) {
    struct pollfd* const waits = calloc(nfds != 0 ? nfds : 1, 2 * sizeof *waits);
    int count;
    int error;
    if (waits == NULL) return stream_result(ENOMEM);
    count = poll_all(fds, nfds, timeout, waits);
    error = errno;
    free(waits);
    errno = error;
    return count;
}

/* ---- rselect */

static bool is_in(int descriptor, const fd_set* set) {
    return set != NULL && FD_ISSET(descriptor, set);
}

static nfds_t from_sets(struct pollfd* fds, int nfds, const fd_set* readfds, const fd_set* writefds,
                        const fd_set* exceptfds) {
    nfds_t count = 0;
    int each;
    for (each = 0; each < nfds; ++each) {
        short events = 0;
        if (is_in(each, readfds)) events |= POLLIN;
        if (is_in(each, writefds)) events |= POLLOUT;
        if (is_in(each, exceptfds)) events |= POLLPRI;
        if (events == 0) continue;
        fds[count].fd = each;
        fds[count++].events = events;
    }
    return count;
}

/* Leaves the descriptor in the set if it is ready. Returns how many bits that are. */
static int keep_ready(const struct pollfd* asked, short events, fd_set* set) {
    if (!is_in(asked->fd, set)) return 0;
    if ((asked->revents & events) != 0) return 1;
    FD_CLR(asked->fd, set);
    return 0;
}

static int to_sets(const struct pollfd* fds, nfds_t nfds, fd_set* readfds, fd_set* writefds,
                   fd_set* exceptfds) {
    int bits = 0;
    nfds_t i;
    for (i = 0; i < nfds; ++i) {
        bits += keep_ready(&fds[i], POLLIN | POLLHUP | POLLERR, readfds);
        bits += keep_ready(&fds[i], POLLOUT | POLLERR, writefds);
        bits += keep_ready(&fds[i], POLLPRI, exceptfds);
    }
    return bits;
}

int rselect(int nfds, fd_set* readfds, fd_set* writefds, fd_set* exceptfds,
            struct timeval* timeout) {
    struct pollfd fds[FD_SETSIZE];
    nfds_t count;
    int result;
    if (nfds < 0 || nfds > FD_SETSIZE) return stream_result(EINVAL);
    count = from_sets(fds, nfds, readfds, writefds, exceptfds);
    result = rpoll(fds, count,
                   timeout == NULL ? -1 : (int)(timeout->tv_sec * 1000 + timeout->tv_usec / 1000));
    return result < 0 ? -1 : to_sets(fds, count, readfds, writefds, exceptfds);
}
