/* The protocol of datagram rsockets. Source: rdma-core's "rsocket Protocol and Design Guide"; the
   numbers of the operations, and whose address the first header has, are those of rdma-core 44. */
#ifndef IRPVERBS_RDMACM_DATAGRAM_WIRE_H
#define IRPVERBS_RDMACM_DATAGRAM_WIRE_H

#include <stdint.h>

enum {
    DATAGRAM_TAG = 0x55555555,
    DATAGRAM_SIZE = 2048 /* of a datagram between queue pairs, with its header */
};

enum datagram_operation { DATAGRAM_DATA = 0, DATAGRAM_CONTROL = 7 };

/* In front of the data of a message over UDP, big-endian. An IPv4 address has 4 bytes. */
struct datagram_udp_header {
    uint32_t tag;
    uint8_t version; /* of IP: 4 or 6 */
    uint8_t operation;
    uint8_t length; /* of the header */
    uint8_t reserved;
    uint32_t qpn;        /* the sender's queue pair */
    uint8_t address[16]; /* of the sender */
};
enum { DATAGRAM_UDP_HEADER_4 = 16, DATAGRAM_UDP_HEADER_6 = 28 };

/* In front of the data between queue pairs: the sender's UDP address. Big-endian. */
struct datagram_header {
    uint8_t version;
    uint8_t length; /* of the header */
    uint16_t port;
    union {
        uint8_t version_4[4];
        struct {
            uint32_t flow;
            uint8_t address[16];
        } version_6;
    } from;
};
enum { DATAGRAM_HEADER_4 = 8, DATAGRAM_HEADER_6 = 24 };

#endif
