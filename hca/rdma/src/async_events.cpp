#include "async_events.hpp"

namespace irpverbs::hca_rdma {

IB_ASYNC_EVENT event_of(ibv_event_type type) {
    switch (type) {
    case IBV_EVENT_CQ_ERR:
        return IB_AE_CQ_ERROR;
    case IBV_EVENT_QP_FATAL:
        return IB_AE_WQ_FATAL;
    case IBV_EVENT_WQ_FATAL:
        return IB_AE_RECEIVE_WQ_FATAL;
    case IBV_EVENT_QP_REQ_ERR:
        return IB_AE_WQ_REQUEST_ERROR;
    case IBV_EVENT_QP_ACCESS_ERR:
        return IB_AE_WQ_ACCESS_ERROR;
    case IBV_EVENT_COMM_EST:
        return IB_AE_COMMUNICATION_ESTABLISHED;
    case IBV_EVENT_SQ_DRAINED:
        return IB_AE_SQ_DRAINED;
    case IBV_EVENT_PATH_MIG:
        return IB_AE_PATH_MIGRATED;
    case IBV_EVENT_PATH_MIG_ERR:
        return IB_AE_PATH_MIGRATION_ERROR;
    case IBV_EVENT_DEVICE_FATAL:
        return IB_AE_LOCAL_FATAL;
    case IBV_EVENT_PORT_ACTIVE:
        return IB_AE_PORT_ACTIVE;
    case IBV_EVENT_PORT_ERR:
        return IB_AE_PORT_ERROR;
    case IBV_EVENT_LID_CHANGE:
        return IB_AE_LID_CHANGE;
    case IBV_EVENT_PKEY_CHANGE:
        return IB_AE_PKEY_CHANGE;
    case IBV_EVENT_SM_CHANGE:
        return IB_AE_SM_CHANGE;
    case IBV_EVENT_SRQ_ERR:
        return IB_AE_SRQ_FATAL;
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return IB_AE_SRQ_LIMIT_REACHED;
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return IB_AE_LAST_WQE_REACHED;
    case IBV_EVENT_CLIENT_REREGISTER:
        return IB_AE_CLIENT_REREGISTER;
    case IBV_EVENT_GID_CHANGE:
        return IB_AE_GID_CHANGE;
    }
    return IB_AE_NONE;
}

bool is_of_shared_receives(ibv_event_type type) {
    return type == IBV_EVENT_SRQ_ERR || type == IBV_EVENT_SRQ_LIMIT_REACHED;
}

bool is_of_queue_pair(ibv_event_type type) {
    switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return true;
    default:
        return false;
    }
}

} // namespace irpverbs::hca_rdma
