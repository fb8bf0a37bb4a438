/* InfiniBand scalars and constants. Values in memory are in host byte order; only ib_netNN_t is in
   network order. Source: IBA volume 1, chapters 4, 9, 13 and 14. */
#ifndef IRPVERBS_CI_IB_TYPES_H
#define IRPVERBS_CI_IB_TYPES_H

#include <dispatch/ntdef.h>

/* Big-endian, as on the wire. */
typedef uint16_t ib_net16_t;
typedef uint32_t ib_net32_t;
typedef uint64_t ib_net64_t;

typedef uint64_t ib_guid_t;
typedef uint64_t ib_sn_prefix_t;
typedef uint64_t ib_svc_id_t;
typedef uint64_t ib_smkey_t;
typedef uint16_t ib_lid_t;
typedef uint16_t ib_pkey_t;
typedef uint32_t ib_qkey_t;
typedef uint32_t ib_qpn_t; /* 24 bits */

typedef struct _ib_gid {
    ib_sn_prefix_t gid_prefix;
    ib_guid_t gid_guid;
} ib_gid_t;

/* Whether both are the same GID. In C++ also `==` and `!=`. IRQL: any. */
static inline BOOLEAN IbSameGid(ib_gid_t Left, ib_gid_t Right) NT_NOEXCEPT {
    return Left.gid_prefix == Right.gid_prefix && Left.gid_guid == Right.gid_guid;
}
#ifdef __cplusplus
inline bool operator==(const ib_gid_t& left, const ib_gid_t& right) noexcept {
    return IbSameGid(left, right);
}
#endif

#define IB_DEFAULT_GID_PREFIX 0xFE80000000000000ull
#define IB_LID_PERMISSIVE ((ib_lid_t)0xFFFF)
#define IB_LID_UNICAST_LAST ((ib_lid_t)0xBFFF)
#define IB_LID_MULTICAST_FIRST ((ib_lid_t)0xC000)
#define IB_PKEY_DEFAULT_FULL ((ib_pkey_t)0xFFFF)
#define IB_PKEY_DEFAULT_LIMITED ((ib_pkey_t)0x7FFF)
#define IB_NODE_DESCRIPTION_SIZE 64 /* bytes; no NUL at the end when all are used */

/* Source: IBA 14.2.5.3 (NodeInfo). */
typedef enum _IB_NODE_TYPE { IB_NODE_CA = 1, IB_NODE_SWITCH = 2, IB_NODE_ROUTER = 3 } IB_NODE_TYPE;

/* Source: ibv_query_port(3). */
typedef enum _IB_LINK_LAYER {
    IB_LINK_LAYER_INFINIBAND = 1,
    IB_LINK_LAYER_ETHERNET = 2
} IB_LINK_LAYER;

/* Source: IBA 14.2.5.6 (PortInfo). */
typedef enum _IB_PORT_STATE {
    IB_PORT_NO_STATE_CHANGE = 0,
    IB_PORT_DOWN = 1,
    IB_PORT_INIT = 2,
    IB_PORT_ARMED = 3,
    IB_PORT_ACTIVE = 4,
    IB_PORT_ACTIVE_DEFER = 5 /* ibv_query_port(3): the link retrains, data are held back */
} IB_PORT_STATE;

typedef enum _IB_PORT_PHYSICAL_STATE {
    IB_PORT_PHYS_SLEEP = 1,
    IB_PORT_PHYS_POLLING = 2,
    IB_PORT_PHYS_DISABLED = 3,
    IB_PORT_PHYS_TRAINING = 4,
    IB_PORT_PHYS_LINK_UP = 5,
    IB_PORT_PHYS_ERROR_RECOVERY = 6,
    IB_PORT_PHYS_TEST = 7
} IB_PORT_PHYSICAL_STATE;

typedef enum _IB_MTU {
    IB_MTU_256 = 1,
    IB_MTU_512 = 2,
    IB_MTU_1024 = 3,
    IB_MTU_2048 = 4,
    IB_MTU_4096 = 5
} IB_MTU;

/* Bits; the active width is one bit. */
typedef enum _IB_LINK_WIDTH {
    IB_LINK_WIDTH_1X = 1,
    IB_LINK_WIDTH_4X = 2,
    IB_LINK_WIDTH_8X = 4,
    IB_LINK_WIDTH_12X = 8,
    IB_LINK_WIDTH_2X = 16
} IB_LINK_WIDTH;

/* Bits; PortInfo's LinkSpeed in the low byte, its LinkSpeedExt in the next. Gb/s a lane. */
typedef enum _IB_LINK_SPEED {
    IB_LINK_SPEED_SDR = 0x0001,   /* 2.5 */
    IB_LINK_SPEED_DDR = 0x0002,   /* 5 */
    IB_LINK_SPEED_QDR = 0x0004,   /* 10 */
    IB_LINK_SPEED_FDR10 = 0x0008, /* 10.3 */
    IB_LINK_SPEED_FDR = 0x0100,   /* 14 */
    IB_LINK_SPEED_EDR = 0x0200,   /* 25 */
    IB_LINK_SPEED_HDR = 0x0400,   /* 50 */
    IB_LINK_SPEED_NDR = 0x0800    /* 100 */
} IB_LINK_SPEED;

/* PortInfo's CapabilityMask. */
#define IB_PORT_CAP_IS_SM 0x00000002u
#define IB_PORT_CAP_NOTICE_SUP 0x00000004u
#define IB_PORT_CAP_TRAP_SUP 0x00000008u
#define IB_PORT_CAP_IPD_SUP 0x00000010u
#define IB_PORT_CAP_APM_SUP 0x00000020u
#define IB_PORT_CAP_SL_MAP_SUP 0x00000040u
#define IB_PORT_CAP_MKEY_NVRAM 0x00000080u
#define IB_PORT_CAP_PKEY_NVRAM 0x00000100u
#define IB_PORT_CAP_LED_INFO_SUP 0x00000200u
#define IB_PORT_CAP_SM_DISABLED 0x00000400u
#define IB_PORT_CAP_SYS_IMAGE_GUID_SUP 0x00000800u
#define IB_PORT_CAP_PKEY_SW_EXT_TRAP_SUP 0x00001000u
#define IB_PORT_CAP_CABLE_INFO_SUP 0x00002000u
#define IB_PORT_CAP_EXTENDED_SPEEDS_SUP 0x00004000u
#define IB_PORT_CAP_CAP_MASK2_SUP 0x00008000u
#define IB_PORT_CAP_CM_SUP 0x00010000u
#define IB_PORT_CAP_SNMP_SUP 0x00020000u
#define IB_PORT_CAP_REINIT_SUP 0x00040000u
#define IB_PORT_CAP_DEV_MGMT_SUP 0x00080000u
#define IB_PORT_CAP_VENDOR_SUP 0x00100000u
#define IB_PORT_CAP_DR_NOTICE_SUP 0x00200000u
#define IB_PORT_CAP_CAP_MASK_NOTICE_SUP 0x00400000u
#define IB_PORT_CAP_BOOT_MGMT_SUP 0x00800000u
#define IB_PORT_CAP_LINK_LATENCY_SUP 0x01000000u
#define IB_PORT_CAP_CLIENT_REREGISTER_SUP 0x02000000u
#define IB_PORT_CAP_OTHER_LOCAL_CHANGES_SUP 0x04000000u
#define IB_PORT_CAP_SPEED_WIDTH_PAIRS_SUP 0x08000000u
#define IB_PORT_CAP_VENDOR_MADS_SUP 0x10000000u
#define IB_PORT_CAP_MCAST_PKEY_TRAP_SUP 0x20000000u
#define IB_PORT_CAP_MCAST_FDB_TOP_SUP 0x40000000u
#define IB_PORT_CAP_HIERARCHY_INFO_SUP 0x80000000u

/* Capabilities that a client may set and clear (CiModifyPort). One IB_CA at a time holds each. */
#define IB_PORT_CAP_MODIFIABLE                                                                     \
    (IB_PORT_CAP_IS_SM | IB_PORT_CAP_CM_SUP | IB_PORT_CAP_SNMP_SUP | IB_PORT_CAP_DEV_MGMT_SUP |    \
     IB_PORT_CAP_VENDOR_SUP | IB_PORT_CAP_BOOT_MGMT_SUP)

#endif
