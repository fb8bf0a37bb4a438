/* The record layouts of OpenSM's ib_types.h in types of our own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opensm_member {
    const char* record; /* our names */
    const char* field;
    unsigned byte; /* where OpenSM's member begins */
    unsigned size; /* its bytes; several of our fields may share it */
    uint64_t mask; /* its component bits in host order; 0: OpenSM has none */
} opensm_member;

typedef struct opensm_record {
    const char* record;
    unsigned size; /* padding in tables included */
    unsigned attribute_id;
} opensm_record;

extern const opensm_member opensm_members[];
extern const size_t opensm_member_count;
extern const opensm_record opensm_records[];
extern const size_t opensm_record_count;

/* The source of field values: each value has `bits` bits. */
typedef struct opensm_values {
    uint64_t (*of)(struct opensm_values* self, const char* field, unsigned index, unsigned bits);
} opensm_values;

/* Writes such a record by OpenSM's structures and functions, and returns its wire size. */
typedef struct opensm_writer {
    const char* record;
    size_t (*write)(opensm_values* from, uint8_t* wire);
} opensm_writer;

extern const opensm_writer opensm_writers[]; /* of all records that ib_types.h has structures for */
extern const size_t opensm_writer_count;

/* Records that OpenSM's own functions filled in; the values stand in opensm_vectors.c. Each returns
   the wire size. */
size_t opensm_path_record(uint8_t* wire);
size_t opensm_port_info(uint8_t* wire);
size_t opensm_mcmember_record(uint8_t* wire);
size_t opensm_inform_info(uint8_t* wire);

#ifdef __cplusplus
}
#endif
