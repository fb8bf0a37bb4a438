/* What OpenSM's ib_types.h says of records, in types of our own. */
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
    uint64_t mask; /* its component bits, host order; 0: OpenSM names none */
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

/* Records that OpenSM's own functions filled in; the values stand in opensm_vectors.c. Each returns
   the wire size. */
size_t opensm_path_record(uint8_t* wire);
size_t opensm_port_info(uint8_t* wire);
size_t opensm_mcmember_record(uint8_t* wire);
size_t opensm_inform_info(uint8_t* wire);

#ifdef __cplusplus
}
#endif
