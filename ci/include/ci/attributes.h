/* Attributes of channel adapters, ports and completion queues.

   A query returns one block: the fixed part, then (for a CA) the attributes of its ports, then
   tables. Offsets locate the parts behind the fixed part. They count from the beginning of the
   structure that holds them, so that a block may be copied as it is. */
#ifndef IRPVERBS_CI_ATTRIBUTES_H
#define IRPVERBS_CI_ATTRIBUTES_H

#include <ci/ib_types.h>

/* Attributes of one port. Source: IBA 11.2.1.2 (Query HCA), 14.2.5.6 (PortInfo);
   ibv_query_port(3). */
typedef struct _IB_PORT_ATTR {
    ULONG Size; /* bytes of the whole block: this and its tables */
    UCHAR PortNumber;
    UCHAR State;         /* IB_PORT_STATE */
    UCHAR PhysicalState; /* IB_PORT_PHYSICAL_STATE */
    UCHAR Lmc;
    ib_guid_t PortGuid;
    ib_lid_t Lid;
    ib_lid_t SmLid;
    UCHAR SmSl;
    UCHAR SubnetTimeout;  /* 4.096 us * 2^n */
    UCHAR MaxMtu;         /* IB_MTU */
    UCHAR ActiveMtu;      /* IB_MTU */
    ULONG CapabilityMask; /* IB_PORT_CAP_* */
    ULONG CapabilityMask2;
    ULONG MaxMessageSize;   /* bytes */
    USHORT SupportedWidths; /* IB_LINK_WIDTH, like the next two */
    USHORT EnabledWidths;
    USHORT ActiveWidth;
    USHORT SupportedSpeeds; /* IB_LINK_SPEED, like the next two */
    USHORT EnabledSpeeds;
    USHORT ActiveSpeed;
    USHORT PKeyViolations;
    USHORT QKeyViolations;
    USHORT MKeyViolations;
    UCHAR MaxVls;
    UCHAR OperationalVls;
    UCHAR InitTypeReply;
    UCHAR LinkLayer;  /* IB_LINK_LAYER */
    USHORT GidCount;  /* entries of the GID table */
    USHORT PKeyCount; /* entries of the P_Key table */
    USHORT Flags;     /* IB_PORT_GRH_REQUIRED, IB_PORT_MAD_QPS */
    ULONG GidOffset;  /* bytes from here to the GID table */
    ULONG PKeyOffset; /* bytes from here to the P_Key table */
} IB_PORT_ATTR, *PIB_PORT_ATTR;

/* IB_PORT_ATTR.Flags: packets need a GRH. Source: IBV_QPF_GRH_REQUIRED of ibv_query_port(3). */
#define IB_PORT_GRH_REQUIRED 0x0001u
/* IB_PORT_ATTR.Flags: agents of the MAD service may have queue pairs of their own. Ours. */
#define IB_PORT_MAD_QPS 0x0002u

/* The scope of an atomic operation. */
typedef enum _IB_ATOMIC {
    IB_ATOMIC_NONE = 0,
    IB_ATOMIC_HCA = 1,   /* among the queue pairs of the adapter */
    IB_ATOMIC_GLOBAL = 2 /* also with processors and other devices */
} IB_ATOMIC;

/* The transport of an adapter's messages. A transport that is not listed has its own number.
   Source: IBV_TRANSPORT_* of ibv_get_device_list(3). */
typedef enum _IB_TRANSPORT {
    IB_TRANSPORT_INFINIBAND = 0, /* also over Ethernet */
    IB_TRANSPORT_IWARP = 1       /* no LIDs, P_Keys, datagrams */
} IB_TRANSPORT;

/* IB_CA_ATTR.Capabilities. Source: IBA 11.2.1.2; IBV_DEVICE_* of ibv_query_device(3). */
#define IB_CA_CAP_RESIZE_MAX_WR 0x00000001u
#define IB_CA_CAP_BAD_PKEY_COUNTER 0x00000002u
#define IB_CA_CAP_BAD_QKEY_COUNTER 0x00000004u
#define IB_CA_CAP_RAW_MULTICAST 0x00000008u
#define IB_CA_CAP_AUTO_PATH_MIGRATION 0x00000010u
#define IB_CA_CAP_CHANGE_PHYSICAL_PORT 0x00000020u
#define IB_CA_CAP_UD_AV_PORT_ENFORCED 0x00000040u
#define IB_CA_CAP_CURRENT_QP_STATE_MODIFIER 0x00000080u
#define IB_CA_CAP_SHUTDOWN_PORT 0x00000100u
#define IB_CA_CAP_INIT_TYPE 0x00000200u
#define IB_CA_CAP_PORT_ACTIVE_EVENT 0x00000400u
#define IB_CA_CAP_SYSTEM_IMAGE_GUID 0x00000800u
#define IB_CA_CAP_RC_RNR_NAK 0x00001000u
#define IB_CA_CAP_SRQ_RESIZE 0x00002000u
#define IB_CA_CAP_N_NOTIFY_CQ 0x00004000u
#define IB_CA_CAP_RAW_IPV6 0x00008000u
#define IB_CA_CAP_RAW_ETHERTYPE 0x00010000u
#define IB_CA_CAP_MEMORY_WINDOWS 0x00020000u
#define IB_CA_CAP_MEMORY_WINDOWS_2A 0x00040000u
#define IB_CA_CAP_MEMORY_WINDOWS_2B 0x00080000u
#define IB_CA_CAP_LOCAL_DMA_LKEY 0x00100000u
#define IB_CA_CAP_FAST_REGISTER 0x00200000u
#define IB_CA_CAP_BLOCK_LIST_PHYSICAL 0x00400000u
#define IB_CA_CAP_ZERO_BASED_ADDRESS 0x00800000u
#define IB_CA_CAP_RELIABLE_DATAGRAM 0x01000000u
#define IB_CA_CAP_XRC 0x02000000u
#define IB_CA_CAP_UD_MULTICAST_LOOPBACK_BLOCK 0x04000000u
#define IB_CA_CAP_CQ_RESIZE 0x08000000u
#define IB_CA_CAP_UD_MULTICAST 0x10000000u
#define IB_CA_CAP_MULTIPLE_PAGE_SIZES 0x20000000u /* in one memory region */
#define IB_CA_CAP_LOCAL_INVALIDATE_FENCE 0x40000000u
#define IB_CA_CAP_BASE_QUEUE_MANAGEMENT 0x80000000u

/* IB_CA_EXTENDED_ATTR.Flags, of which only those have names here that a caller of verbs needs. */
#define IB_CA_FLAG_ATOMIC_WRITE 0x10000000000ull /* WR_ATOMIC_WRITE */

/* Attributes beyond the IBA. In QpTypes members bit n stands for type n of IBV_QPT_*; the other
   masks hold the bits of libibverbs that the comments name. 0: the HCA does not report the
   attribute. Source: ibv_query_device_ex(3). */
typedef struct _IB_CA_EXTENDED_ATTR {
    ULONGLONG Flags;              /* IBV_DEVICE_*, also flags without a bit in Capabilities */
    ULONGLONG TimestampMask;      /* significant bits of a completion's timestamp */
    ULONGLONG TimestampFrequency; /* kHz */
    ULONGLONG MaxDeviceMemory;    /* bytes */
    ULONGLONG OnDemandPaging;     /* IBV_ODP_SUPPORT* */
    ULONG OnDemandRc;             /* IBV_ODP_SUPPORT_*, like the next three */
    ULONG OnDemandUc;
    ULONG OnDemandUd;
    ULONG OnDemandXrc;
    ULONG MaxSegmentation; /* bytes of a send that the HCA segments (TSO) */
    ULONG SegmentationQpTypes;
    ULONGLONG HashFields; /* IBV_RX_HASH_*; receive side scaling, up to MaxReceiveWqs */
    ULONG HashFunctions;  /* IBV_RX_HASH_FUNC_* */
    ULONG HashQpTypes;
    ULONG MaxIndirectionTables;
    ULONG MaxIndirectionTableSize;
    ULONG MaxReceiveWqs;
    ULONG MinPacingRate; /* kb/s */
    ULONG MaxPacingRate;
    ULONG PacingQpTypes;
    ULONG RawPackets;          /* IBV_RAW_PACKET_CAP_* */
    ULONG MaxRendezvousHeader; /* bytes; tag matching, up to MaxTagSges */
    ULONG MaxTags;
    ULONG TagFlags; /* IBV_TM_CAP_* */
    ULONG MaxTagOperations;
    ULONG MaxTagSges;
    USHORT MaxModerationCount;  /* completions per event */
    USHORT MaxModerationPeriod; /* us */
    USHORT PciFetchAndAdd;      /* IBV_PCI_ATOMIC_OPERATION_*, like the next two */
    USHORT PciSwap;
    USHORT PciCompareAndSwap;
} IB_CA_EXTENDED_ATTR;

/* Attributes of a channel adapter. Limits count objects, work requests or entries; 0: the HCA does
   not report the limit. Source: IBA 11.2.1.2 (Query HCA); ibv_query_device(3). */
typedef struct _IB_CA_ATTR {
    ULONG Size; /* bytes of the whole block: this, port attributes, tables */
    ULONG VendorId;
    ULONG VendorPartId;
    ULONG HardwareVersion;
    ib_guid_t NodeGuid;
    ib_guid_t SystemImageGuid;
    ULONGLONG FirmwareVersion;
    UCHAR NodeDescription[IB_NODE_DESCRIPTION_SIZE];
    ULONG Capabilities; /* IB_CA_CAP_* */
    ULONG MaxQps;
    ULONG MaxQpWrs;
    ULONG MaxSges;
    ULONG MaxSgesOfRd;
    ULONG MaxSgesOfRead;
    ULONG MaxCqs;
    ULONG MaxCqes;
    ULONG MaxPds;
    ULONG MaxMrs;
    ULONGLONG MaxMrSize; /* bytes */
    ULONGLONG PageSizes; /* bit n: pages of 2^n bytes */
    ULONG MaxMws;
    ULONG MaxFastRegistrationPages;
    ULONG MaxFmrs;
    ULONG MaxMapsOfFmr;
    ULONG MaxReadsAsResponderOfQp;
    ULONG MaxReadsAsResponder;
    ULONG MaxReadsAsInitiatorOfQp;
    ULONG MaxEecs;
    ULONG MaxRdds;
    ULONG MaxReadsAsResponderOfEec;
    ULONG MaxReadsAsInitiatorOfEec;
    ULONG MaxRawIpv6Qps;
    ULONG MaxRawEthertypeQps;
    ULONG MaxMulticastGroups;
    ULONG MaxQpsOfMulticastGroup;
    ULONG MaxMulticastAttachments;
    ULONG MaxAvs;
    ULONG MaxSrqs;
    ULONG MaxSrqWrs;
    ULONG MaxSrqSges;
    ULONG MaxXrcDomains;
    ULONG MaxInlineData; /* bytes */
    USHORT MaxPKeys;     /* of a port */
    UCHAR Atomicity;     /* IB_ATOMIC */
    UCHAR LocalAckDelay; /* 4.096 us * 2^n */
    ULONG PortCount;
    ULONG PortOffset; /* bytes from here to PortCount IB_PORT_ATTR */
    IB_CA_EXTENDED_ATTR Extended;
    ULONGLONG MinBlockSize; /* bytes; lists of physical blocks, like the next */
    ULONGLONG MaxBlockSize;
    ULONG MaxCompletionHandlers; /* that completion queues can be assigned to */
    ULONG MaxXrcSrqs;
    ULONG ReservedLKey; /* valid with IB_CA_CAP_LOCAL_DMA_LKEY; 0: for the kernel only */
    ULONG Transport;    /* IB_TRANSPORT */
} IB_CA_ATTR, *PIB_CA_ATTR;

/* Attributes of a completion queue. */
typedef struct _IB_CQ_ATTR {
    ULONG Size;    /* bytes of the whole block: this */
    ULONG NumCqes; /* entries it can hold */
    ULONG Filled;  /* entries that wait to be polled */
} IB_CQ_ATTR, *PIB_CQ_ATTR;

/* Flags of CiModifyCa: the fields of IB_MODIFY_CA that it writes. Source: IBA 11.2.1.3. */
typedef enum _IB_MODIFY_CA_FLAGS {
    IB_MODIFY_CA_SYSTEM_IMAGE_GUID = 1,
    IB_MODIFY_CA_NODE_DESCRIPTION = 2
} IB_MODIFY_CA_FLAGS;

typedef struct _IB_MODIFY_CA {
    ib_guid_t SystemImageGuid;
    UCHAR NodeDescription[IB_NODE_DESCRIPTION_SIZE];
} IB_MODIFY_CA, *PIB_MODIFY_CA;

/* Flags of CiModifyPort. Source: IBA 11.2.1.3. */
typedef enum _IB_MODIFY_PORT_FLAGS {
    IB_MODIFY_PORT_CAPABILITIES = 1,
    IB_MODIFY_PORT_INIT_TYPE = 2,
    IB_MODIFY_PORT_RESET_QKEY_VIOLATIONS = 4,
    IB_MODIFY_PORT_SHUTDOWN = 8
} IB_MODIFY_PORT_FLAGS;

typedef struct _IB_MODIFY_PORT {
    ULONG SetCapabilities;   /* of IB_PORT_CAP_MODIFIABLE */
    ULONG ClearCapabilities; /* of IB_PORT_CAP_MODIFIABLE */
    UCHAR InitType;          /* requested of the subnet manager, which replies by InitTypeReply */
} IB_MODIFY_PORT, *PIB_MODIFY_PORT;

/* Access to the tables of a port and to the ports of a CA. Index is below the count, PortNumber
   starts at 1. The block must be whole (STATUS_SUCCESS). IRQL: any. */
static inline const ib_gid_t* IbPortGid(const IB_PORT_ATTR* Attr, ULONG Index) NT_NOEXCEPT {
    return (const ib_gid_t*)(const void*)((const UCHAR*)(const void*)Attr + Attr->GidOffset) +
           Index;
}
static inline ib_pkey_t IbPortPKey(const IB_PORT_ATTR* Attr, ULONG Index) NT_NOEXCEPT {
    return (
        (const ib_pkey_t*)(const void*)((const UCHAR*)(const void*)Attr + Attr->PKeyOffset))[Index];
}
static inline const IB_PORT_ATTR* IbCaPort(const IB_CA_ATTR* Attr, ULONG PortNumber) NT_NOEXCEPT {
    return (const IB_PORT_ATTR*)(const void*)((const UCHAR*)(const void*)Attr + Attr->PortOffset) +
           (PortNumber - 1);
}

#endif
