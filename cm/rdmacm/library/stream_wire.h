/* The protocol of rsockets, version 1, as the ends of a connection see it.
   Source: rsocket(7), and rdma-core's "rsocket Protocol and Design Guide"; the index of a message
   and the place of the mappings are those that rdma-core 44 sends. */
#ifndef IRPVERBS_RDMACM_STREAM_WIRE_H
#define IRPVERBS_RDMACM_STREAM_WIRE_H

#include <stdint.h>

/* Memory of the one end that the other one writes to. */
struct stream_segment {
    uint64_t address;
    uint32_t key;
    uint32_t length;
};

/* A buffer of riomap. */
struct stream_mapping {
    uint64_t offset;
    struct stream_segment segment;
};

enum {
    STREAM_VERSION = 1,
    STREAM_BIG_ENDIAN = 1,   /* a flag: the order of bytes in what is written to this end */
    STREAM_HAS_MAPPINGS = 2, /* a flag */
    STREAM_SEGMENTS = 2,     /* of the table of an end; its mappings follow them */
    STREAM_MOST_MAPPINGS = 128
};

/* The private data of the request and the reply of a connection, big-endian. */
struct stream_greeting {
    uint8_t version;
    uint8_t flags;
    uint16_t credits;
    uint8_t reserved[3];
    uint8_t mappings; /* to 128; above, bits 0 to 6 are bits 8 to 14 of the number */
    struct stream_segment table;
    struct stream_segment first; /* the first segment of the table, which is not written */
};

/* A message is the immediate data of a write: a kind in 3 bits, a number in 29 bits. */
enum stream_message {
    STREAM_DATA = 0,    /* bytes that were written into the current segment */
    STREAM_CREDITS = 4, /* messages that may be sent, modulo 65536, since the connection exists; the
                           next segment may have been written */
    STREAM_MAPPED = 6,  /* the index of a mapping that was written */
    STREAM_CONTROL = 7
};
enum stream_control { STREAM_DISCONNECT = 0, STREAM_KEEPALIVE = 1, STREAM_SHUTDOWN = 2 };

enum { STREAM_NUMBER_BITS = 29 };
static inline uint32_t stream_message_of(enum stream_message kind, uint32_t number) {
    return (uint32_t)kind << STREAM_NUMBER_BITS | number;
}
static inline enum stream_message stream_kind_of(uint32_t message) {
    return (enum stream_message)(message >> STREAM_NUMBER_BITS);
}
static inline uint32_t stream_number_of(uint32_t message) {
    return message & ((1u << STREAM_NUMBER_BITS) - 1);
}

#endif
