/* Asynchronous events of a channel adapter, its ports and its objects. */
#ifndef IRPVERBS_CI_EVENTS_H
#define IRPVERBS_CI_EVENTS_H

/* The comments give the names of ibv_get_async_event(3). Source: IBA 11.6.3 (asynchronous events
   and errors). */
typedef enum _IB_ASYNC_EVENT {
    IB_AE_NONE = 0,

    /* Events of a queue pair, EE context or shared receive queue. */
    IB_AE_PATH_MIGRATED = 1,         /* PATH_MIG */
    IB_AE_COMMUNICATION_ESTABLISHED, /* COMM_EST */
    IB_AE_SQ_DRAINED,                /* SQ_DRAINED */
    IB_AE_SRQ_LIMIT_REACHED,         /* SRQ_LIMIT_REACHED */
    IB_AE_LAST_WQE_REACHED,          /* QP_LAST_WQE_REACHED */
    IB_AE_WQ_FATAL,                  /* QP_FATAL: local work queue catastrophic error */
    IB_AE_WQ_REQUEST_ERROR,          /* QP_REQ_ERR: invalid request local work queue error */
    IB_AE_WQ_ACCESS_ERROR,           /* QP_ACCESS_ERR: local access violation */
    IB_AE_PATH_MIGRATION_ERROR,      /* PATH_MIG_ERR */
    IB_AE_SRQ_FATAL,                 /* SRQ_ERR */
    IB_AE_XRC_DOMAIN_FATAL,          /* XRC domain violation (IBA annex A14) */
    IB_AE_INVALID_XRCETH,            /* invalid XRCETH (IBA annex A14) */
    IB_AE_RECEIVE_WQ_FATAL,          /* WQ_FATAL: error of a receive queue that queue pairs share */

    /* Events of a completion queue. */
    IB_AE_CQ_ERROR = 32, /* CQ_ERR: overrun, or inaccessible */

    /* Events of a port. */
    IB_AE_PORT_ACTIVE = 64,  /* PORT_ACTIVE */
    IB_AE_PORT_ERROR,        /* PORT_ERR: the link is no longer active */
    IB_AE_LID_CHANGE,        /* LID_CHANGE */
    IB_AE_PKEY_CHANGE,       /* PKEY_CHANGE */
    IB_AE_GID_CHANGE,        /* GID_CHANGE */
    IB_AE_SM_CHANGE,         /* SM_CHANGE: the master SM's LID or SL */
    IB_AE_CLIENT_REREGISTER, /* CLIENT_REREGISTER */

    /* Events of the whole adapter. */
    IB_AE_LOCAL_FATAL = 96 /* DEVICE_FATAL: local catastrophic error */
} IB_ASYNC_EVENT;

#endif
