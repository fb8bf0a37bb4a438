/* The scalar types of Solaris that the IBMF and SA interfaces use. Source: seed 000; Solaris
   types.h. */
#ifndef IRPVERBS_IBMF_IB_SCALARS_H
#define IRPVERBS_IBMF_IB_SCALARS_H

#include <ci/ib_types.h>

typedef unsigned int uint_t;
typedef unsigned char uchar_t;
typedef enum { B_FALSE, B_TRUE } boolean_t;

#endif
