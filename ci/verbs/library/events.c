/* Events: a thread waits for them here, where it may be cancelled. */
#include <verbs/library.h>

#include <unistd.h>

/* Waits as read(2) of the descriptor does. */
static int await_event(int descriptor) {
    uint64_t counter;
    return read(descriptor, &counter, sizeof counter) < 0 ? -1 : 0;
}

int ibv_get_cq_event(struct ibv_comp_channel* channel, struct ibv_cq** cq, void** cq_context) {
    int taken = 0;
    while (taken == 0) {
        int before;
        if (await_event(channel->fd) != 0) return -1;
        before = irpverbs_enter();
        taken = irpverbs_ibv_take_cq_event(channel, cq);
        irpverbs_leave(before);
    }
    if (taken < 0) return -1;
    *cq_context = (*cq)->cq_context;
    return 0;
}

int ibv_get_async_event(struct ibv_context* context, struct ibv_async_event* event) {
    int taken = 0;
    while (taken == 0) {
        int before;
        if (await_event(context->async_fd) != 0) return -1;
        before = irpverbs_enter();
        taken = irpverbs_ibv_take_async_event(context, event);
        irpverbs_leave(before);
    }
    return taken < 0 ? -1 : 0;
}

static void acknowledge(pthread_mutex_t* mutex, pthread_cond_t* cond, uint32_t* counter,
                        unsigned int count) {
    pthread_mutex_lock(mutex);
    *counter += count;
    pthread_cond_signal(cond);
    pthread_mutex_unlock(mutex);
}

void ibv_ack_cq_events(struct ibv_cq* cq, unsigned int count) {
    acknowledge(&cq->mutex, &cq->cond, &cq->comp_events_completed, count);
}

void ibv_ack_async_event(struct ibv_async_event* event) {
    struct ibv_cq* cq = event->element.cq;
    struct ibv_qp* qp = event->element.qp;
    struct ibv_srq* srq = event->element.srq;
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        acknowledge(&srq->mutex, &srq->cond, &srq->events_completed, 1);
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        acknowledge(&qp->mutex, &qp->cond, &qp->events_completed, 1);
        break;
    default: /* events of ports and devices are not counted */
        break;
    }
}
