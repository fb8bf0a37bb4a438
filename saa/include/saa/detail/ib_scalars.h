/* The InfiniBand scalars that records are made of, in host byte order. */
#ifndef IRPVERBS_SAA_DETAIL_IB_SCALARS_H
#define IRPVERBS_SAA_DETAIL_IB_SCALARS_H

#include <dispatch/ntdef.h>

typedef uint64_t ib_guid_t;
typedef uint64_t ib_sn_prefix_t;
typedef uint16_t ib_lid_t;
typedef uint16_t ib_pkey_t;
typedef uint32_t ib_qkey_t;
typedef uint32_t ib_qpn_t; /* 24 bits */

typedef struct _ib_gid {
    ib_sn_prefix_t gid_prefix;
    ib_guid_t gid_guid;
} ib_gid_t;

#endif
