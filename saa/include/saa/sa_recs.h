/* SA records in the client's view: host byte order, one member per field; a comment states the
   width in bits where it is not the member's. Wire layout: saa/records.hpp. Component masks:
   saa/sa_compmask.h. Source: IBA 15.2.5; sys/ib/mgt/sa_recs.h names. */
#ifndef IRPVERBS_SAA_SA_RECS_H
#define IRPVERBS_SAA_SA_RECS_H

#include <ibmf/ib_mad.h>
#include <saa/sa_compmask.h>
#include <saa/sm_attr.h>

#define SA_SUBN_ADM_GET 0x01
#define SA_SUBN_ADM_GET_RESP 0x81
#define SA_SUBN_ADM_SET 0x02
#define SA_SUBN_ADM_REPORT 0x06
#define SA_SUBN_ADM_REPORT_RESP 0x86
#define SA_SUBN_ADM_GET_TABLE 0x12
#define SA_SUBN_ADM_GET_TABLE_RESP 0x92
#define SA_SUBN_ADM_GET_TRACE_TABLE 0x13
#define SA_SUBN_ADM_GET_MULTI 0x14
#define SA_SUBN_ADM_GET_MULTI_RESP 0x94
#define SA_SUBN_ADM_DELETE 0x15
#define SA_SUBN_ADM_DELETE_RESP 0x95

#define SA_STATUS_NO_ERROR 0x0000
#define SA_STATUS_ERR_NO_RESOURCES 0x0100
#define SA_STATUS_ERR_REQ_INVALID 0x0200
#define SA_STATUS_ERR_NO_RECORDS 0x0300
#define SA_STATUS_ERR_TOO_MANY_RECORDS 0x0400
#define SA_STATUS_ERR_REQ_INVALID_GID 0x0500
#define SA_STATUS_ERR_REQ_INSUFFICIENT_COMPONENTS 0x0600
#define SA_STATUS_ERR_REQ_DENIED 0x0700
#define SA_STATUS_ERROR_MASK 0xFF00

#define SA_CLASSPORTINFO_ATTRID 0x01
#define SA_NOTICE_ATTRID 0x02
#define SA_INFORMINFO_ATTRID 0x03
#define SA_NODERECORD_ATTRID 0x11
#define SA_PORTINFORECORD_ATTRID 0x12
#define SA_SLTOVLRECORD_ATTRID 0x13
#define SA_SWITCHINFORECORD_ATTRID 0x14
#define SA_LINEARFDBRECORD_ATTRID 0x15
#define SA_RANDOMFDBRECORD_ATTRID 0x16
#define SA_MULTICASTFDBRECORD_ATTRID 0x17
#define SA_SMINFORECORD_ATTRID 0x18
#define SA_LINKRECORD_ATTRID 0x20
#define SA_GUIDINFORECORD_ATTRID 0x30
#define SA_SERVICERECORD_ATTRID 0x31
#define SA_PARTITIONRECORD_ATTRID 0x33
#define SA_PATHRECORD_ATTRID 0x35
#define SA_VLARBRECORD_ATTRID 0x36
#define SA_MCMEMBERRECORD_ATTRID 0x38
#define SA_TRACERECORD_ATTRID 0x39
#define SA_MULTIPATHRECORD_ATTRID 0x3A
#define SA_SERVICEASSNRECORD_ATTRID 0x3B
#define SA_INFORMINFORECORD_ATTRID 0xF3

typedef struct sa_node_record_s {
    ib_lid_t LID;
    uint16_t Reserved;
    sm_nodeinfo_t NodeInfo;
    sm_nodedesc_t NodeDescription;
} sa_node_record_t;

typedef struct sa_portinfo_record_s {
    ib_lid_t EndportLID;
    uint8_t PortNum;
    uint8_t Options; /* reserved before IBA 1.2 */
    sm_portinfo_t PortInfo;
} sa_portinfo_record_t;

typedef struct sa_SLtoVLmapping_record_s {
    ib_lid_t LID;
    uint8_t InputPortNum;
    uint8_t OutputPortNum;
    uint32_t Reserved;
    sm_SLtoVL_mapping_table_t SLtoVLMappingTable;
} sa_SLtoVLmapping_record_t;

typedef struct sa_switchinfo_record_s {
    ib_lid_t LID;
    uint16_t Reserved;
    sm_switchinfo_t SwitchInfo;
} sa_switchinfo_record_t;

typedef struct sa_linearft_record_s {
    ib_lid_t LID;
    uint16_t BlockNum;
    uint32_t Reserved;
    sm_linear_forwarding_table_t LinearFT;
} sa_linearft_record_t;

typedef struct sa_randomft_record_s {
    ib_lid_t LID;
    uint16_t BlockNum;
    uint32_t Reserved;
    sm_random_forwarding_table_t RandomFT;
} sa_randomft_record_t;

typedef struct sa_multicastft_record_s {
    ib_lid_t LID;
    uint8_t Position;  /* 4; 16 ports each */
    uint8_t Reserved;  /* 3 */
    uint16_t BlockNum; /* 9 */
    uint32_t Reserved2;
    sm_multicast_forwarding_table_t MulticastFT;
} sa_multicastft_record_t;

typedef struct sa_VLarb_table_record_s {
    ib_lid_t LID;
    uint8_t OutputPortNum;
    uint8_t BlockNum;
    uint32_t Reserved;
    sm_VLarb_table_t VLArbTable;
} sa_VLarb_table_record_t;

typedef struct _sminfo_record_s {
    ib_lid_t LID;
    uint16_t Reserved;
    sm_sminfo_t SMInfo;
} sa_sminfo_record_t;

typedef struct sa_pkey_table_record_s {
    ib_lid_t LID;
    uint16_t BlockNum;
    uint8_t PortNum;
    uint8_t Reserved[3];
    sm_pkey_table_t P_KeyTable;
} sa_pkey_table_record_t;

typedef struct sa_informinfo_record_s {
    ib_gid_t SubscriberGID;
    uint16_t Enum;
    uint8_t Reserved[6];
    ib_mad_informinfo_t InformInfo;
} sa_informinfo_record_t;

typedef struct sa_link_record_s {
    ib_lid_t FromLID;
    uint8_t FromPort;
    uint8_t ToPort;
    ib_lid_t ToLID;
} sa_link_record_t;

#define IB_SVC_NAME_LEN 64
#define IB_SVC_DATA_LEN 64
#define SA_SR_INDEFINITE_SERVICE_LEASE 0xFFFFFFFFu

/* ServiceData by its items, each in host byte order. */
typedef struct sa_service_data_s {
    uint8_t ServiceData8[16];
    uint16_t ServiceData16[8];
    uint32_t ServiceData32[4];
    uint64_t ServiceData64[2];
} sa_service_data_t;

typedef struct sa_service_record_s {
    uint64_t ServiceID;
    ib_gid_t ServiceGID;
    ib_pkey_t ServiceP_Key;
    uint16_t Reserved;
    uint32_t ServiceLease; /* seconds; SA_SR_INDEFINITE_SERVICE_LEASE */
    uint64_t ServiceKey_hi;
    uint64_t ServiceKey_lo;
    uint8_t ServiceName[IB_SVC_NAME_LEN]; /* UTF-8, ended by NUL */
    union {
        uint8_t ServiceData[IB_SVC_DATA_LEN];
        sa_service_data_t ServiceDataItems;
    };
} sa_service_record_t;

typedef struct sa_service_assn_record_s {
    uint64_t ServiceKey_hi;
    uint64_t ServiceKey_lo;
    uint8_t ServiceName[IB_SVC_NAME_LEN];
} sa_service_assn_record_t;

/* Values of every MtuSelector, RateSelector and PacketLifeTimeSelector. */
#define SA_PR_MTU_SEL_GREATER 0x0
#define SA_PR_MTU_SEL_LESS 0x1
#define SA_PR_MTU_SEL_EXACTLY 0x2
#define SA_PR_MTU_SEL_LARGEST_AVAIL 0x3
#define SA_PR_RATE_SEL_GREATER 0x0
#define SA_PR_RATE_SEL_LESS 0x1
#define SA_PR_RATE_SEL_EXACTLY 0x2
#define SA_PR_RATE_SEL_LARGEST_AVAIL 0x3
#define SA_PR_LT_SEL_GREATER 0x0
#define SA_PR_LT_SEL_LESS 0x1
#define SA_PR_LT_SEL_EXACTLY 0x2
#define SA_PR_LT_SEL_SMALLEST_AVAIL 0x3

typedef struct sa_path_record_s {
    uint64_t ServiceID; /* reserved before IBA 1.2 */
    ib_gid_t DGID;
    ib_gid_t SGID;
    ib_lid_t DLID;
    ib_lid_t SLID;
    uint8_t RawTraffic; /* 1 */
    uint8_t Reserved3;  /* 3 */
    uint32_t FlowLabel; /* 20 */
    uint8_t HopLimit;
    uint8_t TClass;
    uint8_t Reversible; /* 1 */
    uint8_t NumbPath;   /* 7 */
    ib_pkey_t P_Key;
    uint16_t QoSClass;              /* 12; reserved before IBA 1.2 */
    uint8_t SL;                     /* 4 */
    uint8_t MtuSelector;            /* 2 */
    uint8_t Mtu;                    /* 6; 1: 256 bytes .. 5: 4096 */
    uint8_t RateSelector;           /* 2 */
    uint8_t Rate;                   /* 6; codes are not in order of speed */
    uint8_t PacketLifeTimeSelector; /* 2 */
    uint8_t PacketLifeTime;         /* 6; 4.096 us x 2^n */
    uint8_t Preference;
} sa_path_record_t;

/* JoinState bits. */
#define SA_MC_JOIN_FULL 0x1
#define SA_MC_JOIN_NON 0x2
#define SA_MC_JOIN_SEND_ONLY_NON 0x4
#define SA_MC_JOIN_SEND_ONLY_FULL 0x8

typedef struct sa_mcmember_record_s {
    ib_gid_t MGID;
    ib_gid_t PortGID;
    ib_qkey_t Q_Key;
    ib_lid_t MLID;
    uint8_t MTUSelector; /* 2 */
    uint8_t MTU;         /* 6 */
    uint8_t TClass;
    ib_pkey_t P_Key;
    uint8_t RateSelector;           /* 2 */
    uint8_t Rate;                   /* 6 */
    uint8_t PacketLifeTimeSelector; /* 2 */
    uint8_t PacketLifeTime;         /* 6 */
    uint8_t SL;                     /* 4 */
    uint32_t FlowLabel;             /* 20 */
    uint8_t HopLimit;
    uint8_t Scope;     /* 4 */
    uint8_t JoinState; /* 4 */
    uint8_t ProxyJoin; /* 1 */
    uint32_t Reserved; /* 23 */
} sa_mcmember_record_t;

typedef struct sa_guidinfo_record_s {
    ib_lid_t LID;
    uint8_t BlockNum;
    uint8_t Reserved;
    uint32_t Reserved2;
    sm_guidinfo_t GUIDInfo;
} sa_guidinfo_record_t;

typedef struct sa_trace_record_s {
    ib_sn_prefix_t GIDPrefix;
    uint16_t IOCGeneration;
    uint8_t Reserved;
    uint8_t NodeType;
    uint64_t NodeID;
    uint64_t ChassisID;
    uint64_t EntryPortID;
    uint64_t ExitPortID;
    uint8_t EntryPort;
    uint8_t ExitPort;
} sa_trace_record_t;

/* The fixed part; SGIDCount source and DGIDCount destination GIDs follow it. */
typedef struct sa_multipath_record_s {
    uint8_t RawTraffic; /* 1 */
    uint8_t Reserved;   /* 3 */
    uint32_t FlowLabel; /* 20 */
    uint8_t HopLimit;
    uint8_t TClass;
    uint8_t Reversible; /* 1 */
    uint8_t NumbPath;   /* 7 */
    ib_pkey_t P_Key;
    uint16_t QoSClass;              /* 12; reserved before IBA 1.2 */
    uint8_t SL;                     /* 4 */
    uint8_t MtuSelector;            /* 2 */
    uint8_t Mtu;                    /* 6 */
    uint8_t RateSelector;           /* 2 */
    uint8_t Rate;                   /* 6 */
    uint8_t PacketLifeTimeSelector; /* 2 */
    uint8_t PacketLifeTime;         /* 6 */
    uint8_t ServiceID_hi;           /* reserved before IBA 1.2 */
    uint8_t IndependenceSelector;   /* 2 */
    uint8_t Reserved4;              /* 6 */
    uint8_t SGIDCount;
    uint8_t DGIDCount;
    uint64_t ServiceID_lo; /* 56; reserved before IBA 1.2 */
} sa_multipath_record_t;

#endif
