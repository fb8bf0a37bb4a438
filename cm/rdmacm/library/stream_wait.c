/* Waits of stream sockets. One thread of a socket waits for its descriptors and takes what they
   announce; others wait for that thread. */
#include "stream.h"

#include <errno.h>
#include <unistd.h>

bool stream_is_readable(int descriptor) {
    struct pollfd asked = {descriptor, POLLIN, 0};
    return poll(&asked, 1, 0) == 1;
}

/* The queue asks for no event until the next request for one. */
void stream_take_notification_of(struct ibv_comp_channel* completions) {
    uint64_t counter;
    struct ibv_cq* cq;
    if (completions == NULL || !stream_is_readable(completions->fd)) return;
    if (read(completions->fd, &counter, sizeof counter) < 0) return;
    if (irpverbs_ibv_take_cq_event(completions, &cq) != 1) return;
    pthread_mutex_lock(&cq->mutex);
    ++cq->comp_events_completed;
    pthread_cond_signal(&cq->cond);
    pthread_mutex_unlock(&cq->mutex);
}

/* Completions that came before the request for an event cause none. */
void stream_advance(struct stream* stream) {
    stream_take_events(stream);
    if (stream->cq == NULL) return;
    ibv_req_notify_cq(stream->cq, 0);
    stream_take_completions(stream);
}

static void come_back(void* context) {
    struct stream* stream = context;
    pthread_mutex_lock(&stream->lock);
    stream->is_waited = false;
    pthread_cond_broadcast(&stream->progress);
}

static void leave_lock(void* context) {
    come_back(context);
    pthread_mutex_unlock(&((struct stream*)context)->lock);
}

static void unlock(void* context) { pthread_mutex_unlock(context); }

static void wait_for_descriptors(struct stream_call* call) {
    struct stream* stream = call->on;
    const int queue = stream->completions != NULL ? stream->completions->fd : -1;
    struct pollfd asked[] = {{stream->channel->fd, POLLIN, 0}, {queue, POLLIN, 0}};
    stream->is_waited = true;
    pthread_mutex_unlock(&stream->lock);
    pthread_cleanup_push(leave_lock, stream);
    irpverbs_leave(call->cancelability);
    poll(asked, 2, -1);
    call->cancelability = irpverbs_enter();
    pthread_cleanup_pop(0);
    come_back(stream);
    stream_take_notification_of(stream->completions);
}

static void wait_for_progress(struct stream_call* call) {
    struct stream* stream = call->on;
    pthread_cleanup_push(unlock, &stream->lock);
    irpverbs_leave(call->cancelability);
    pthread_cond_wait(&stream->progress, &stream->lock);
    call->cancelability = irpverbs_enter();
    pthread_cleanup_pop(0);
}

int stream_await(struct stream_call* call, stream_condition* holds) {
    struct stream* stream = call->on;
    stream_take_completions(stream);
    while (!holds(stream)) {
        stream_advance(stream);
        if (holds(stream)) break;
        if (!call->may_wait) return EAGAIN;
        if (stream->is_waited)
            wait_for_progress(call);
        else
            wait_for_descriptors(call);
    }
    return 0;
}
