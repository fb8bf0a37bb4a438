/* Events: a thread waits for them here, where it may be cancelled. */
#include "wait.h"

#include <errno.h>
#include <unistd.h>

static int fail(int error) {
    errno = error;
    return -1;
}

int rdma_get_cm_event(struct rdma_event_channel* channel, struct rdma_cm_event** event) {
    int taken = 0;
    if (event == NULL) return fail(EINVAL);
    while (taken == 0) {
        uint64_t counter;
        int before;
        if (read(channel->fd, &counter, sizeof counter) < 0) return -1;
        before = irpverbs_enter();
        taken = irpverbs_rdma_take_event(channel, event);
        irpverbs_leave(before);
    }
    return taken == 1 ? 0 : -1;
}

static int is_synchronous(struct rdma_cm_id* id) {
    const int before = irpverbs_enter();
    const BOOLEAN result = irpverbs_rdma_is_synchronous(id);
    irpverbs_leave(before);
    return result;
}

/* Receives the next event of a synchronous id. */
static int next_event(struct rdma_cm_id* id) {
    if (id->event != NULL) {
        struct rdma_cm_event* last = id->event;
        id->event = NULL;
        rdma_ack_cm_event(last);
    }
    if (rdma_get_cm_event(id->channel, &id->event) != 0) return -1;
    if (id->event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) return fail(ENODEV);
    if (id->event->status == 0) return 0;
    if (id->event->event == RDMA_CM_EVENT_REJECTED) return fail(ECONNREFUSED);
    return fail(id->event->status < 0 ? -id->event->status : EHOSTUNREACH);
}

int wait_when_synchronous(struct rdma_cm_id* id) {
    /* The peer of a datagram service gets no event of its response. */
    if (id->qp_type == IBV_QPT_UD && id->event != NULL &&
        id->event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
        return 0;
    return is_synchronous(id) ? next_event(id) : 0;
}

/* The event of the request is the new id's. */
int rdma_get_request(struct rdma_cm_id* listen, struct rdma_cm_id** id) {
    struct rdma_cm_id* fresh;
    int before;
    int result;
    if (!is_synchronous(listen)) return fail(EINVAL);
    if (next_event(listen) != 0) return -1;
    if (listen->event->event != RDMA_CM_EVENT_CONNECT_REQUEST) return fail(EINVAL);
    fresh = listen->event->id;
    before = irpverbs_enter();
    result = irpverbs_rdma_adopt_request(listen, fresh);
    irpverbs_leave(before);
    if (result != 0) return -1;
    fresh->event = listen->event;
    listen->event = NULL;
    *id = fresh;
    return 0;
}

const char* rdma_event_str(enum rdma_cm_event_type event) {
    static const char* const names[] = {
        "RDMA_CM_EVENT_ADDR_RESOLVED",   "RDMA_CM_EVENT_ADDR_ERROR",
        "RDMA_CM_EVENT_ROUTE_RESOLVED",  "RDMA_CM_EVENT_ROUTE_ERROR",
        "RDMA_CM_EVENT_CONNECT_REQUEST", "RDMA_CM_EVENT_CONNECT_RESPONSE",
        "RDMA_CM_EVENT_CONNECT_ERROR",   "RDMA_CM_EVENT_UNREACHABLE",
        "RDMA_CM_EVENT_REJECTED",        "RDMA_CM_EVENT_ESTABLISHED",
        "RDMA_CM_EVENT_DISCONNECTED",    "RDMA_CM_EVENT_DEVICE_REMOVAL",
        "RDMA_CM_EVENT_MULTICAST_JOIN",  "RDMA_CM_EVENT_MULTICAST_ERROR",
        "RDMA_CM_EVENT_ADDR_CHANGE",     "RDMA_CM_EVENT_TIMEWAIT_EXIT"};
    const unsigned number = event;
    return number < sizeof names / sizeof *names ? names[number] : "UNKNOWN EVENT";
}
