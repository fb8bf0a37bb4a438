#include "async_events.hpp"

#include "open_device.hpp"

#include <cerrno>

namespace irpverbs::verbs {

namespace {

ibv_event_type type_of(int code) {
    switch (code) {
    case IB_AE_PATH_MIGRATED:
        return IBV_EVENT_PATH_MIG;
    case IB_AE_COMMUNICATION_ESTABLISHED:
        return IBV_EVENT_COMM_EST;
    case IB_AE_SQ_DRAINED:
        return IBV_EVENT_SQ_DRAINED;
    case IB_AE_SRQ_LIMIT_REACHED:
        return IBV_EVENT_SRQ_LIMIT_REACHED;
    case IB_AE_LAST_WQE_REACHED:
        return IBV_EVENT_QP_LAST_WQE_REACHED;
    case IB_AE_WQ_REQUEST_ERROR:
        return IBV_EVENT_QP_REQ_ERR;
    case IB_AE_WQ_ACCESS_ERROR:
        return IBV_EVENT_QP_ACCESS_ERR;
    case IB_AE_PATH_MIGRATION_ERROR:
        return IBV_EVENT_PATH_MIG_ERR;
    case IB_AE_SRQ_FATAL:
        return IBV_EVENT_SRQ_ERR;
    case IB_AE_RECEIVE_WQ_FATAL:
        return IBV_EVENT_WQ_FATAL;
    case IB_AE_CQ_ERROR:
        return IBV_EVENT_CQ_ERR;
    case IB_AE_PORT_ACTIVE:
        return IBV_EVENT_PORT_ACTIVE;
    case IB_AE_PORT_ERROR:
        return IBV_EVENT_PORT_ERR;
    case IB_AE_LID_CHANGE:
        return IBV_EVENT_LID_CHANGE;
    case IB_AE_PKEY_CHANGE:
        return IBV_EVENT_PKEY_CHANGE;
    case IB_AE_GID_CHANGE:
        return IBV_EVENT_GID_CHANGE;
    case IB_AE_SM_CHANGE:
        return IBV_EVENT_SM_CHANGE;
    case IB_AE_CLIENT_REREGISTER:
        return IBV_EVENT_CLIENT_REREGISTER;
    case IB_AE_LOCAL_FATAL:
        return IBV_EVENT_DEVICE_FATAL;
    default: // IB_AE_WQ_FATAL, and the errors of XRC, for which libibverbs has no name
        return IBV_EVENT_QP_FATAL;
    }
}

bool is_of_port(int code) { return code >= IB_AE_PORT_ACTIVE && code <= IB_AE_CLIENT_REREGISTER; }
bool is_of_device(int code) { return code == IB_AE_LOCAL_FATAL; }

} // namespace

int take(event_queue& from, event_queue::event& into) {
    switch (from.take(into)) {
    case event_queue::outcome::taken:
        return 1;
    case event_queue::outcome::none:
        return 0;
    case event_queue::outcome::ended:
        break;
    }
    errno = EIO;
    return -1;
}

void await_acknowledgements(pthread_mutex_t& mutex, pthread_cond_t& cond,
                            const std::uint32_t& acknowledged, ULONG taken) {
    pthread_mutex_lock(&mutex);
    while (acknowledged != taken)
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
}

} // namespace irpverbs::verbs

using namespace irpverbs::verbs;

extern "C" {

int irpverbs_ibv_take_async_event(ibv_context* shown, ibv_async_event* event) {
    event_queue::event taken;
    const int result = take(open_device::of(shown).events, taken);
    if (result != 1) return result;
    event->event_type = type_of(taken.code);
    event->element = {};
    if (is_of_device(taken.code)) return 1;
    if (is_of_port(taken.code))
        event->element.port_num = static_cast<int>(reinterpret_cast<ULONG_PTR>(taken.owner));
    else
        event->element.qp = static_cast<ibv_qp*>(taken.owner);
    return 1;
}

} // extern "C"
