/* IP addressing of connections, as rdma_cm's: service ids from ports, and the addresses in front of
   the private data of REQ and SIDR_REQ. Numbers are in host byte order. Source: IBA annex A11. */
#ifndef IRPVERBS_CM_IP_ADDRESS_H
#define IRPVERBS_CM_IP_ADDRESS_H

#include <ci/ib_types.h>

/* Port spaces. */
#define IB_CM_PS_TCP 0x0106
#define IB_CM_PS_UDP 0x0111
#define IB_CM_PS_IB 0x013F

/* The Q_Key of unreliable datagrams with IP addressing. */
#define IB_CM_UDP_QKEY ((ib_qkey_t)0x01234567)

/* The service id of a port. IRQL: any. */
static inline ib_svc_id_t IbCmServiceId(USHORT PortSpace, USHORT Port) NT_NOEXCEPT {
    return (ib_svc_id_t)PortSpace << 16 | Port;
}

/* The addresses of both ends. */
typedef struct _ib_cm_ip {
    UCHAR ip_version; /* 4 or 6; 0: no IP addressing */
    USHORT src_port;  /* of the active end; the passive end's is in the service id */
    UCHAR src[16];    /* as on the wire; an IPv4 address is in the last 4 bytes */
    UCHAR dst[16];
} ib_cm_ip_t;

#endif
