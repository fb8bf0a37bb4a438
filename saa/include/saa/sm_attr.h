/* Subnet management attributes: host byte order, one member per field; a comment states the width
   in bits where it is not the member's. Source: IBA 14.2.5; sys/ib/mgt/sm_attr.h names. */
#ifndef IRPVERBS_SAA_SM_ATTR_H
#define IRPVERBS_SAA_SM_ATTR_H

#include <ibmf/ib_mad.h>

#define SM_GID_IN_SERVICE_TRAP 64
#define SM_GID_OUT_OF_SERVICE_TRAP 65
#define SM_MGID_CREATED_TRAP 66
#define SM_MGID_DESTROYED_TRAP 67
#define SM_LINK_STATE_CHANGED_TRAP 128
#define SM_CAP_MASK_CHANGED_TRAP 144
#define SM_SYS_IMG_GUID_CHANGED_TRAP 145
#define SM_BAD_MKEY_TRAP 256
#define SM_BAD_PKEY_TRAP 257
#define SM_BAD_QKEY_TRAP 258
#define SM_BAD_SWITCH_PKEY_TRAP 259

#define SM_NODE_TYPE_CA 0x01
#define SM_NODE_TYPE_SWITCH 0x02
#define SM_NODE_TYPE_ROUTER 0x03

typedef struct sm_nodedesc_s {
    uint8_t NodeString[64]; /* not ended by NUL when all are used */
} sm_nodedesc_t;

typedef struct sm_nodeinfo_s {
    uint8_t BaseVersion;
    uint8_t ClassVersion;
    uint8_t NodeType;
    uint8_t NumPorts;
    ib_guid_t SystemImageGUID;
    ib_guid_t NodeGUID;
    ib_guid_t PortGUID;
    uint16_t PartitionCap;
    uint16_t DeviceID;
    uint32_t Revision;
    uint8_t LocalPortNum;
    uint32_t VendorID; /* 24 */
} sm_nodeinfo_t;

typedef struct sm_switchinfo_s {
    uint16_t LinearFDBCap;
    uint16_t RandomFDBCap;
    uint16_t MulticastFDBCap;
    uint16_t LinearFDBTop;
    uint8_t DefaultPort;
    uint8_t DefaultMulticastPrimaryPort;
    uint8_t DefaultMulticastNotPrimaryPort;
    uint8_t LifeTimeValue;   /* 5 */
    uint8_t PortStateChange; /* 1 */
    uint8_t OptimizedSLtoVL; /* 2 */
    uint16_t LIDsPerPort;
    uint16_t PartitionEnforcementCap;
    uint8_t PartitionChecks; /* 4: inbound, outbound, raw inbound, raw outbound */
    uint8_t EnhancedPort0;   /* 1 */
    uint8_t Reserved2;       /* 3 */
    uint8_t Reserved3;       /* this and the next member: since IBA 1.2 */
    uint16_t MulticastFDBTop;
} sm_switchinfo_t;

typedef struct sm_guidinfo_s {
    ib_guid_t GUIDBlocks[8];
} sm_guidinfo_t;

typedef struct sm_portinfo_s {
    uint64_t M_Key;
    ib_sn_prefix_t GidPrefix;
    ib_lid_t LID;
    ib_lid_t MasterSMLID;
    uint32_t CapabilityMask;
    uint16_t DiagCode;
    uint16_t M_KeyLeasePeriod;
    uint8_t LocalPortNum;
    uint8_t LinkWidthEnabled;
    uint8_t LinkWidthSupported;
    uint8_t LinkWidthActive;
    uint8_t LinkSpeedSupported;   /* 4 */
    uint8_t PortState;            /* 4 */
    uint8_t PortPhysicalState;    /* 4 */
    uint8_t LinkDownDefaultState; /* 4 */
    uint8_t M_KeyProtectBits;     /* 2 */
    uint8_t Reserved;             /* 3 */
    uint8_t LMC;                  /* 3 */
    uint8_t LinkSpeedActive;      /* 4 */
    uint8_t LinkSpeedEnabled;     /* 4 */
    uint8_t NeighborMTU;          /* 4 */
    uint8_t MasterSMSL;           /* 4 */
    uint8_t VLCap;                /* 4 */
    uint8_t InitType;             /* 4 */
    uint8_t VLHighLimit;
    uint8_t VLArbitrationHighCap;
    uint8_t VLArbitrationLowCap;
    uint8_t InitTypeReply;   /* 4 */
    uint8_t MTUCap;          /* 4 */
    uint8_t VLStallCount;    /* 3 */
    uint8_t HOQLife;         /* 5 */
    uint8_t OperationalVLs;  /* 4 */
    uint8_t PartitionChecks; /* 4: inbound, outbound, raw inbound, raw outbound */
    uint16_t M_KeyViolations;
    uint16_t P_KeyViolations;
    uint16_t Q_KeyViolations;
    uint8_t GUIDCap;
    uint8_t ClientReregister;             /* 1 */
    uint8_t MulticastPKeyTrapSuppression; /* 2 */
    uint8_t SubnetTimeOut;                /* 5; 4.096 us x 2^n */
    uint8_t Reserved3;                    /* 3 */
    uint8_t RespTimeValue;                /* 5; 4.096 us x 2^n */
    uint8_t LocalPhyErrors;               /* 4 */
    uint8_t OverrunErrors;                /* 4 */
    uint16_t MaxCreditHint;               /* this and the remaining members: since IBA 1.2 */
    uint8_t Reserved4;
    uint32_t LinkRoundTripLatency; /* 24 */
    uint16_t CapabilityMask2;
    uint8_t LinkSpeedExtActive;    /* 4 */
    uint8_t LinkSpeedExtSupported; /* 4 */
    uint8_t Reserved5;             /* 3 */
    uint8_t LinkSpeedExtEnabled;   /* 5 */
} sm_portinfo_t;

typedef struct sm_pkey_table_s {
    ib_pkey_t P_KeyTableBlock[32];
} sm_pkey_table_t;

typedef struct sm_SLtoVL_mapping_table_s {
    uint8_t SLtoVL[16]; /* 4 each */
} sm_SLtoVL_mapping_table_t;

typedef struct sm_VLarb_table_s {
    struct {
        uint8_t VL; /* 4 in the low half */
        uint8_t Weight;
    } VLArb[32];
} sm_VLarb_table_t;

typedef struct sm_linear_forwarding_table_s {
    uint8_t PortBlock[64];
} sm_linear_forwarding_table_t;

typedef struct sm_random_forwarding_table_s {
    struct {
        ib_lid_t LID;
        uint8_t Valid; /* 1 */
        uint8_t LMC;   /* 3 */
        uint8_t Port;
    } LIDPortBlock[16];
} sm_random_forwarding_table_t;

typedef struct sm_multicast_forwarding_table_s {
    uint16_t PortMaskBlock[32];
} sm_multicast_forwarding_table_t;

#define SM_STATE_NOTACTIVE 0
#define SM_STATE_DISCOVERING 1
#define SM_STATE_STANDBY 2
#define SM_STATE_MASTER 3

typedef struct sm_sminfo_s {
    ib_guid_t GUID;
    uint64_t SM_Key;
    uint32_t ActCount;
    uint8_t Priority; /* 4 */
    uint8_t SMState;  /* 4 */
} sm_sminfo_t;

#endif
