/* Attributes common to all management classes: host byte order, one member a field, widths in bits
   where they are not the member's. Source: IBA 13.4.8; sys/ib/mgt/ib_mad.h names. */
#ifndef IRPVERBS_SAA_MAD_ATTR_H
#define IRPVERBS_SAA_MAD_ATTR_H

#include <saa/detail/ib_scalars.h>

typedef struct ib_mad_classportinfo_s {
    uint8_t BaseVersion;
    uint8_t ClassVersion;
    uint16_t CapabilityMask;
    uint32_t CapabilityMask2; /* 27 */
    uint8_t RespTimeValue;    /* 5; 4.096 us x 2^n */
    uint64_t RedirectGID_hi;
    uint64_t RedirectGID_lo;
    uint8_t RedirectTC;
    uint8_t RedirectSL;  /* 4 */
    uint32_t RedirectFL; /* 20 */
    ib_lid_t RedirectLID;
    ib_pkey_t RedirectP_Key;
    uint8_t Reserved2;
    ib_qpn_t RedirectQP;
    ib_qkey_t RedirectQ_Key;
    uint64_t TrapGID_hi;
    uint64_t TrapGID_lo;
    uint8_t TrapTC;
    uint8_t TrapSL;  /* 4 */
    uint32_t TrapFL; /* 20 */
    ib_lid_t TrapLID;
    ib_pkey_t TrapP_Key;
    uint8_t TrapHL;
    ib_qpn_t TrapQP;
    ib_qkey_t TrapQ_Key;
} ib_mad_classportinfo_t;

typedef struct ib_mad_notice_s {
    uint8_t IsGeneric;              /* 1 */
    uint8_t Type;                   /* 7 */
    uint32_t ProducerType_VendorID; /* 24 */
    uint16_t TrapNumber_DeviceID;
    ib_lid_t IssuerLID;
    uint8_t NoticeToggle; /* 1 */
    uint16_t NoticeCount; /* 15 */
    uint8_t DataDetails[54];
    ib_gid_t IssuerGID;
} ib_mad_notice_t;

#define MAD_NOTICE_TYPE_FATAL 0x0
#define MAD_NOTICE_TYPE_URGENT 0x1
#define MAD_NOTICE_TYPE_SECURITY 0x2
#define MAD_NOTICE_TYPE_SUBNET_MGMT 0x3
#define MAD_NOTICE_TYPE_INFO 0x4

#define MAD_NOTICE_NODETYPE_CA 0x1
#define MAD_NOTICE_NODETYPE_SWITCH 0x2
#define MAD_NOTICE_NODETYPE_ROUTER 0x3
#define MAD_NOTICE_NODETYPE_SUBNET_MANAGEMENT 0x4

typedef struct ib_mad_informinfo_s {
    ib_gid_t GID; /* zero: by LID range */
    ib_lid_t LIDRangeBegin;
    ib_lid_t LIDRangeEnd;
    uint16_t Reserved;
    uint8_t IsGeneric;
    uint8_t Subscribe;
    uint16_t Type;
    uint16_t TrapNumber_DeviceID;
    ib_qpn_t QPN;
    uint8_t Reserved2;     /* 3 */
    uint8_t RespTimeValue; /* 5 */
    uint8_t Reserved3;
    uint32_t ProducerType_VendorID; /* 24 */
} ib_mad_informinfo_t;

#define MAD_INFORMINFO_ALL_ENDPORTS_RANGE 0xFFFF
#define MAD_INFORMINFO_SUBSCRIBE 0x1
#define MAD_INFORMINFO_UNSUBSCRIBE 0x0
#define MAD_INFORMINFO_TRAP_NUMBER_FORWARD_ALL 0xFFFF
#define MAD_INFORMINFO_TRAP_TYPE_FORWARD_ALL 0xFFFF
#define MAD_INFORMINFO_PRODUCER_ALL 0xFFFFFF

#endif
