/* Constants of communication management that its messages carry. Source: IBA 12.6.7.2 (reasons of
   REJ), 12.6.8 (failover), 12.8.2 (status of APR), 12.11.2 (status of SIDR_REP). */
#ifndef IRPVERBS_CM_CM_VALUES_H
#define IRPVERBS_CM_CM_VALUES_H

/* Reasons of a REJ. The comment names the additional information, if there is any. */
#define IB_CM_REJ_NO_QP 1
#define IB_CM_REJ_NO_EEC 2
#define IB_CM_REJ_NO_RESOURCES 3
#define IB_CM_REJ_TIMEOUT 4 /* GUID of the CA that rejects */
#define IB_CM_REJ_UNSUPPORTED 5
#define IB_CM_REJ_INVALID_COMM_ID 6
#define IB_CM_REJ_INVALID_COMM_INSTANCE 7
#define IB_CM_REJ_INVALID_SERVICE_ID 8
#define IB_CM_REJ_INVALID_TRANSPORT_TYPE 9
#define IB_CM_REJ_STALE_CONN 10
#define IB_CM_REJ_RDC_NOT_EXIST 11
#define IB_CM_REJ_INVALID_GID 12           /* a valid GID */
#define IB_CM_REJ_INVALID_LID 13           /* a valid LID */
#define IB_CM_REJ_INVALID_SL 14            /* a valid SL; and so on */
#define IB_CM_REJ_INVALID_TRAFFIC_CLASS 15
#define IB_CM_REJ_INVALID_HOP_LIMIT 16
#define IB_CM_REJ_INVALID_PACKET_RATE 17
#define IB_CM_REJ_INVALID_ALT_GID 18
#define IB_CM_REJ_INVALID_ALT_LID 19
#define IB_CM_REJ_INVALID_ALT_SL 20
#define IB_CM_REJ_INVALID_ALT_TRAFFIC_CLASS 21
#define IB_CM_REJ_INVALID_ALT_HOP_LIMIT 22
#define IB_CM_REJ_INVALID_ALT_PACKET_RATE 23
#define IB_CM_REJ_PORT_CM_REDIRECT 24 /* a ClassPortInfo's redirection */
#define IB_CM_REJ_PORT_REDIRECT 25    /* GID of the other port */
#define IB_CM_REJ_INVALID_MTU 26      /* the largest MTU, as IB_MTU */
#define IB_CM_REJ_INSUFFICIENT_RESP_RESOURCES 27
#define IB_CM_REJ_CONSUMER_DEFINED 28 /* the client's */
#define IB_CM_REJ_INVALID_RNR_RETRY 29
#define IB_CM_REJ_DUPLICATE_LOCAL_COMM_ID 30
#define IB_CM_REJ_INVALID_CLASS_VERSION 31
#define IB_CM_REJ_INVALID_FLOW_LABEL 32
#define IB_CM_REJ_INVALID_ALT_FLOW_LABEL 33
#define IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED 35

/* Failover of a REP: the alternate path of the REQ. */
#define IB_CM_FAILOVER_ACCEPTED 0
#define IB_CM_FAILOVER_NOT_SUPPORTED 1
#define IB_CM_FAILOVER_REJECTED 2

/* Status of an APR. */
#define IB_CM_AP_LOADED 0
#define IB_CM_AP_INVALID_COMM_ID 1
#define IB_CM_AP_UNSUPPORTED 2
#define IB_CM_AP_REJECTED 3
#define IB_CM_AP_REDIRECT 4
#define IB_CM_AP_IS_PRIMARY 5
#define IB_CM_AP_INVALID_QPN 6
#define IB_CM_AP_INVALID_LID 7
#define IB_CM_AP_INVALID_GID 8
#define IB_CM_AP_INVALID_FLOW_LABEL 9
#define IB_CM_AP_INVALID_TRAFFIC_CLASS 10
#define IB_CM_AP_INVALID_HOP_LIMIT 11
#define IB_CM_AP_INVALID_PACKET_RATE 12
#define IB_CM_AP_INVALID_SL 13

/* Status of a SIDR_REP. */
#define IB_CM_SIDR_VALID 0
#define IB_CM_SIDR_INVALID_SERVICE_ID 1
#define IB_CM_SIDR_REJECTED 2
#define IB_CM_SIDR_NO_QP 3
#define IB_CM_SIDR_REDIRECT 4
#define IB_CM_SIDR_UNSUPPORTED_VERSION 5

/* Bytes of private data. */
#define IB_CM_REQ_PDATA_SIZE 92
#define IB_CM_REQ_IP_PDATA_SIZE 56 /* with IP addresses */
#define IB_CM_REP_PDATA_SIZE 196
#define IB_CM_RTU_PDATA_SIZE 224
#define IB_CM_REJ_PDATA_SIZE 148
#define IB_CM_REJ_INFO_SIZE 72
#define IB_CM_DREQ_PDATA_SIZE 220
#define IB_CM_LAP_PDATA_SIZE 168
#define IB_CM_APR_PDATA_SIZE 148
#define IB_CM_SIDR_REQ_PDATA_SIZE 216
#define IB_CM_SIDR_REQ_IP_PDATA_SIZE 180
#define IB_CM_SIDR_REP_PDATA_SIZE 136

#endif
