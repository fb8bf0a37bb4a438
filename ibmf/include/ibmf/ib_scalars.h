/* Scalars of the IBMF and SA interfaces: InfiniBand's, in host byte order, and those of Solaris.
   Source: seed 000; IBA volume 1, chapters 4 and 9; Solaris types.h. */
#ifndef IRPVERBS_IBMF_IB_SCALARS_H
#define IRPVERBS_IBMF_IB_SCALARS_H

#include <dispatch/ntdef.h>

typedef unsigned int uint_t;
typedef unsigned char uchar_t;
typedef enum { B_FALSE, B_TRUE } boolean_t;

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

#endif
